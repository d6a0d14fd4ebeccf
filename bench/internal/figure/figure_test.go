package figure

import (
	"math"
	"testing"
)

func TestQuantile(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = 100 - i
	}
	for _, c := range []struct {
		values []int
		q      float64
		want   int
	}{
		{nil, 0.5, 0},
		{[]int{7}, 0.5, 7},
		{[]int{3, 1, 2}, 0.5, 2},
		{[]int{3, 1, 2}, 0, 1},
		{[]int{3, 1, 2}, 1, 3},
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
	} {
		if got := Quantile(c.values, c.q); got != c.want {
			t.Errorf("Quantile(%d values, %v) = %d; want %d", len(c.values), c.q, got, c.want)
		}
	}
}

func TestJain(t *testing.T) {
	for _, c := range []struct {
		shares []int
		want   float64
	}{
		{nil, 0},
		{[]int{5, 5, 5, 5}, 1},
		{[]int{8, 0, 0, 0}, 0.25},
		{[]int{1, 3}, 0.8},
	} {
		if got := Jain(c.shares); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("Jain(%v) = %v; want %v", c.shares, got, c.want)
		}
	}
}

func TestRequests(t *testing.T) {
	info := "# Commandstats\r\ncmdstat_set:calls=7,usec=9,usec_per_call=1.29\r\n" +
		"cmdstat_evalsha:calls=20,usec=99,usec_per_call=4.95\r\ncmdstat_config|get:calls=3,usec=1\r\n"
	if got := Requests(info, "evalsha", "set", "get"); got != 27 {
		t.Errorf("Requests = %d; want 27", got)
	}
}
