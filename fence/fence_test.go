package fence_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fencehold/fencehold/fence"
)

func TestSupersedes(t *testing.T) {
	a5 := fence.Fence{Name: "x", Token: 5, Holder: "a"}
	b5 := fence.Fence{Name: "x", Token: 5, Holder: "b"}
	b6 := fence.Fence{Name: "x", Token: 6, Holder: "b"}
	for _, c := range []struct {
		seen, write fence.Fence
		refused     bool
	}{
		{a5, a5, false}, {a5, b5, true}, {a5, b6, false}, {b6, a5, true}, {b6, b6, false}, {fence.Fence{}, a5, false},
	} {
		if got := c.seen.Supersedes(c.write); got != c.refused {
			t.Errorf("%v after %v: refused is %v, want %v", c.write, c.seen, got, c.refused)
		}
	}
}

func TestWireRoundTrip(t *testing.T) {
	for _, f := range []fence.Fence{
		{Token: 1},
		{Token: fence.MaxToken, Name: "invoices/42", Holder: "ABC"},
		{Token: 7, Name: `odd; name="x", 100% ☃ resource=`, Holder: "a;b=c"},
	} {
		got, err := fence.Parse(f.String())
		if err != nil || got != f {
			t.Errorf("%q read back as %+v, %v", f.String(), got, err)
		}
	}
	f := fence.Fence{Token: 42, Name: "invoices/42", Holder: "H"}
	if got, want := f.String(), "42;holder=H;resource=invoices%2F42"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{
		"", "0", "-1", "1.5", "0x1", "+1", "01", " 1", "9007199254740992", "99999999999999999999",
		"1;", "1;holder", "1;other=x", "1;holder=a;holder=b", "1;holder=%zz",
	} {
		if f, err := fence.Parse(s); err == nil {
			t.Errorf("%q read as %+v", s, f)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("42;holder=H;resource=invoices%2F42")
	f.Add("1;holder=a;holder=b")
	f.Fuzz(func(t *testing.T, s string) {
		parsed, err := fence.Parse(s)
		if err != nil {
			return
		}
		again, err := fence.Parse(parsed.String())
		if err != nil || again != parsed || !parsed.Token.Valid() {
			t.Errorf("%q read as %+v, and that as %+v, %v", s, parsed, again, err)
		}
	})
}

func ExampleFrom() {
	ctx := fence.NewContext(context.Background(), fence.Fence{Name: "invoices/42", Token: 7, Holder: "H"})
	f, ok := fence.From(ctx)
	fmt.Println(f.Name, f.Token, ok)
	// Output: invoices/42 7 true
}

func ExampleFence_Supersedes() {
	seen := fence.Fence{Name: "invoices/42", Token: 8, Holder: "new"}
	late := fence.Fence{Name: "invoices/42", Token: 7, Holder: "old"}
	fmt.Println(strings.ToUpper(fmt.Sprint(seen.Supersedes(late))))
	// Output: TRUE
}
