package redisurl

import "strings"

// maxDistance is how many letters a name may be off to be taken for a slip.
const maxDistance = 2

// nearestOption returns the option with the name most like name, or "" if none
// is within maxDistance.
func nearestOption(name string) string {
	names := make([]string, len(options))
	for i, opt := range options {
		names[i] = opt.name
	}
	return nearest(name, names)
}

// nearestScheme is nearestOption for schemes, which may be in upper case.
func nearestScheme(name string) string { return nearest(strings.ToLower(name), allSchemes()) }

// nearest returns the one of some names that is most like name, the first of
// several, or "" if none is within maxDistance.
func nearest(name string, names []string) string {
	best, found := maxDistance+1, ""
	if len(name) > maxShown {
		return found
	}
	for _, candidate := range names {
		if d := distance(name, candidate); d < best {
			best, found = d, candidate
		}
	}
	return found
}

// distance is how many bytes must be put in, taken out or replaced to get from a
// to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // from the part of a so far to each beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
