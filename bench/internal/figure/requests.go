package figure

import (
	"slices"
	"strconv"
	"strings"
)

// Requests adds up the calls of some commands in what the server says to INFO
// commandstats. That counts calls inside scripts too, so commands must name
// what clients send and scripts do not.
func Requests(info string, commands ...string) int {
	sum := 0
	for line := range strings.Lines(info) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		if !ok || !slices.Contains(commands, name) {
			continue
		}
		calls, _, _ := strings.Cut(rest, ",")
		n, _ := strconv.Atoi(calls)
		sum += n
	}
	return sum
}
