package fencehold_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/memlock"
)

// examined is a backend that can be examined.
type examined struct {
	driver.Backend
	findings []driver.Finding
	err      error
}

// Diagnose implements [driver.Diagnoser].
func (e examined) Diagnose(context.Context) ([]driver.Finding, error) { return e.findings, e.err }

func TestDiagnose(t *testing.T) {
	found := []driver.Finding{{Server: "a:1", Subject: "memory", Grade: driver.GradeWarning, Text: "full"}}
	own := errors.New("connection reset")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error // of the backend
		want error // nil for none
	}{
		{"works", t.Context(), nil, nil},
		{"service fails", t.Context(), own, fencehold.ErrUnavailable},
		{"service's own error", t.Context(), own, own},
		{"context ends", ended, own, context.Canceled},
	} {
		client := newClientOn(t, examined{memlock.New().Backend(), found, c.err})
		got, err := client.Diagnose(c.ctx)
		if len(got) != 1 || got[0] != found[0] {
			t.Errorf("%s: findings %v, want those of the backend, with an error too", c.name, got)
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
		if e, ok := errors.AsType[*fencehold.Error](err); err != nil && (!ok || e.Op != "diagnose") {
			t.Errorf("%s: error %#v, want an Error of diagnose", c.name, err)
		}
	}
}

func TestDiagnoseRefuses(t *testing.T) {
	client := newClient(t, memlock.New())
	if _, err := client.Diagnose(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a backend that cannot: error %v, want ErrUnsupported", err)
	}
	client = newClientOn(t, examined{Backend: memlock.New().Backend()})
	client.Close()
	if _, err := client.Diagnose(t.Context()); !errors.Is(err, fencehold.ErrClosed) {
		t.Errorf("a closed client: error %v, want ErrClosed", err)
	}
}

func TestGradesAreOrdered(t *testing.T) {
	want := []string{"good", "note", "warning", "failure"}
	for i, g := range []fencehold.Grade{
		fencehold.GradeGood, fencehold.GradeNote, fencehold.GradeWarning, fencehold.GradeFailure,
	} {
		if g.String() != want[i] || int(g) != i {
			t.Errorf("grade %d is %v, want %s", g, g, want[i])
		}
	}
}
