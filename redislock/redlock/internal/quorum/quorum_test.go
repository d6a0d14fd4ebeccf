package quorum_test

import (
	"testing"

	"github.com/fencehold/fencehold/redislock/redlock/internal/quorum"
)

// votesOf writes votes as letters: y yes, n no, a abstains, f failed, . none.
func votesOf(letters string) []quorum.Vote {
	kinds := map[rune]quorum.Kind{
		'y': quorum.Yes, 'n': quorum.No, 'a': quorum.Abstains, 'f': quorum.Failed, '.': quorum.None,
	}
	var votes []quorum.Vote
	for _, letter := range letters {
		votes = append(votes, quorum.Vote{Kind: kinds[letter]})
	}
	return votes
}

func TestMajority(t *testing.T) {
	for n, want := range map[int]int{1: 1, 3: 2, 5: 3, 7: 4, 9: 5} {
		if got := quorum.Majority(n); got != want {
			t.Errorf("the majority of %d is %d, want %d", n, got, want)
		}
	}
}

func TestDecide(t *testing.T) {
	for votes, want := range map[string]quorum.Outcome{
		"...":   quorum.Open,
		"y..":   quorum.Open,
		"n..":   quorum.Open,
		"yn.":   quorum.Open,
		"yf.":   quorum.Open,
		"yy.":   quorum.Won,
		"yyn":   quorum.Won,
		"yyf":   quorum.Won,
		"nn.":   quorum.Lost,
		"nny":   quorum.Lost,
		"ynf":   quorum.Unknown,
		"yna":   quorum.Unknown,
		"ff.":   quorum.Unknown,
		"aaa":   quorum.Unknown,
		"nf.":   quorum.Open, // the last one may still make it a loss
		"nff":   quorum.Unknown,
		"yyynn": quorum.Won,
		"yynn.": quorum.Open,
		"yynnf": quorum.Unknown,
		"nnn..": quorum.Lost,
		"fff..": quorum.Unknown,
		"nnf..": quorum.Open,
		"yff..": quorum.Open,
	} {
		if got := quorum.Decide(votesOf(votes)); got != want {
			t.Errorf("%s is decided as %d, want %d", votes, got, want)
		}
	}
}

// Whatever is decided stays decided, whatever the others say.
func TestDecisionsStand(t *testing.T) {
	letters := []rune("ynaf.")
	var all []string
	for _, a := range letters {
		for _, b := range letters {
			for _, c := range letters {
				all = append(all, string([]rune{a, b, c}))
			}
		}
	}
	for _, votes := range all {
		decided := quorum.Decide(votesOf(votes))
		for _, later := range all {
			if !follows(votes, later) || decided == quorum.Open {
				continue
			}
			if got := quorum.Decide(votesOf(later)); got != decided && decided != quorum.Unknown {
				t.Errorf("%s is decided as %d, and %s, which may follow, as %d", votes, decided, later, got)
			}
			if got := quorum.Decide(votesOf(later)); decided == quorum.Unknown && got == quorum.Won {
				t.Errorf("%s is given up, and %s, which may follow, is won", votes, later)
			}
		}
	}
}

// follows reports whether more answers can turn votes into later.
func follows(votes, later string) bool {
	for i := range votes {
		if votes[i] != '.' && votes[i] != later[i] {
			return false
		}
	}
	return true
}

func TestNumbers(t *testing.T) {
	yes := func(number, left int64) quorum.Vote {
		return quorum.Vote{Kind: quorum.Yes, Number: number, Left: left}
	}
	no := quorum.Vote{Kind: quorum.No, Number: 99, Left: 99_000}
	for _, c := range []struct {
		votes  []quorum.Vote
		agreed int64 // 0: none
		most   int64
		left   int64
	}{
		{[]quorum.Vote{yes(7, 100), yes(7, 90), yes(7, 80)}, 7, 7, 90},
		{[]quorum.Vote{yes(7, 100), yes(7, 90), no}, 7, 7, 90},
		{[]quorum.Vote{yes(7, 100), yes(8, 50), no}, 0, 8, 50},
		{[]quorum.Vote{yes(7, 100), yes(9, 50), yes(7, 10)}, 7, 9, 50},
		{[]quorum.Vote{yes(7, 100), no, no}, 0, 7, 0},
		{[]quorum.Vote{yes(1, 5), yes(2, 4), yes(3, 3), yes(3, 2), yes(3, 1)}, 3, 3, 3},
		{[]quorum.Vote{yes(1, 5), yes(2, 4), yes(2, 3), yes(3, 2), yes(3, 1)}, 0, 3, 3},
	} {
		agreed, ok := quorum.Agreed(c.votes)
		if ok != (c.agreed != 0) || agreed != c.agreed {
			t.Errorf("%v: agreed on %d, %v, want %d", c.votes, agreed, ok, c.agreed)
		}
		if most := quorum.Largest(c.votes); most != c.most {
			t.Errorf("%v: the largest is %d, want %d", c.votes, most, c.most)
		}
		if left := quorum.Left(c.votes); left != c.left {
			t.Errorf("%v: %d ms left, want %d", c.votes, left, c.left)
		}
	}
}
