// Package figure computes the few figures that measurements are reduced to.
package figure

import (
	"cmp"
	"math"
	"slices"
)

// Quantile returns the smallest of values that at least the share q of them
// does not exceed, and zero if there are none.
func Quantile[T cmp.Ordered](values []T, q float64) T {
	if len(values) == 0 {
		var zero T
		return zero
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Jain returns how evenly shares are spread: 1 if all are equal, down to 1/n
// if one has everything.
func Jain(shares []int) float64 {
	var sum, squares float64
	for _, s := range shares {
		sum += float64(s)
		squares += float64(s) * float64(s)
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(shares)) * squares)
}
