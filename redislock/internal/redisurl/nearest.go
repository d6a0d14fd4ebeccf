package redisurl

// maxDistance is how many letters a name may be off to be taken for a slip.
const maxDistance = 2

// nearestOption returns the option with the name most like name, or "" if none
// is within maxDistance.
func nearestOption(name string) string {
	best, nearest := maxDistance+1, ""
	if len(name) > maxShown {
		return nearest
	}
	for _, opt := range options {
		if d := distance(name, opt.name); d < best {
			best, nearest = d, opt.name
		}
	}
	return nearest
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
