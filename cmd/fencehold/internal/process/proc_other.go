//go:build unix && !linux

package process

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// All lists the processes that ps(1) shows.
func All() ([]Stat, error) { return list("-A") }

// ReadStat looks at one process.
func ReadStat(pid int) (Stat, error) {
	stats, err := list("-p", strconv.Itoa(pid))
	if err != nil {
		return Stat{}, err
	}
	if len(stats) != 1 {
		return Stat{}, os.ErrNotExist
	}
	return stats[0], nil
}

// list asks ps for some processes.
func list(which ...string) ([]Stat, error) {
	out, err := exec.Command("ps", append(which, "-o", "pid=,ppid=,pgid=,sess=,state=")...).Output()
	if err != nil {
		return nil, err
	}
	var stats []Stat
	for line := range strings.Lines(string(out)) {
		if s, err := parseLine(line); err == nil {
			stats = append(stats, s)
		}
	}
	return stats, nil
}

// parseLine reads one line of ps. Where a session is not a number it stays 0,
// which counts as any session.
func parseLine(line string) (Stat, error) {
	fields := strings.Fields(line)
	if len(fields) < 5 {
		return Stat{}, errors.New("too few fields")
	}
	s := Stat{State: fields[4][0]}
	for i, to := range []*int{&s.PID, &s.Parent, &s.Group} {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			return Stat{}, err
		}
		*to = n
	}
	return s, nil
}
