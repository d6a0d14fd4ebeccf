//go:build unix

package keeper

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func sockets(t *testing.T) (a, b *socket) {
	t.Helper()
	ours, theirs, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	a, err = newSocket(ours)
	if err != nil {
		t.Fatal(err)
	}
	b, err = newSocket(theirs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.file.Close(); b.file.Close() })
	return a, b
}

// TestOfferDoesNotWait: nobody reads at the other end, and what the socket has
// room for arrives as a whole.
func TestOfferDoesNotWait(t *testing.T) {
	t.Parallel()
	a, b := sockets(t)
	const offers = 100000 // more than any socket holds
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := range offers {
			a.offer(number(msgDeadline, int64(i)))
		}
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("an offer waits for a reader")
	}
	a.shut(unix.SHUT_WR)
	n := int64(0)
	for m, err := b.receive(); err == nil; m, err = b.receive() {
		if m.kind != msgDeadline || m.int(0) != n {
			t.Fatalf("message %d is %+v", n, m)
		}
		n++
	}
	if n == 0 || n == offers {
		t.Errorf("%d of %d messages arrived, want some", n, offers)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	a, b := sockets(t)
	large := message{kind: msgStart, data: []byte(strings.Repeat("x", 3<<20)), file: -1}
	go func() {
		a.send(number(msgSignal, 15, -1))
		a.send(large)
		a.send(number(msgGone))
		a.shut(unix.SHUT_WR)
	}()
	m, err := b.receive()
	if err != nil || m.kind != msgSignal || m.int(0) != 15 || m.int(1) != -1 || m.int(2) != 0 {
		t.Errorf("first message %+v, %v", m, err)
	}
	m, err = b.receive()
	if err != nil || len(m.data) != len(large.data) {
		t.Errorf("second message has %d bytes, %v, want %d", len(m.data), err, len(large.data))
	}
	if m, err = b.receive(); err != nil || m.kind != msgGone || len(m.data) != 0 {
		t.Errorf("third message %+v, %v", m, err)
	}
	if _, err = b.receive(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v, want EOF", err)
	}
}

func TestMessageTooLarge(t *testing.T) {
	t.Parallel()
	a, b := sockets(t)
	a.file.Write([]byte{byte(msgStart), 0xff, 0xff, 0xff, 0xff})
	if _, err := b.receive(); err == nil || !strings.Contains(err.Error(), "are more than") {
		t.Errorf("error %v, want one about the size", err)
	}
}

func TestDescriptorTravels(t *testing.T) {
	t.Parallel()
	a, b := sockets(t)
	file, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	m := number(msgStart, 1)
	m.file = int(file.Fd())
	if err := a.send(m); err != nil {
		t.Fatal(err)
	}
	file.Close()
	got, err := b.receive()
	if err != nil || got.file < 0 {
		t.Fatalf("descriptor %d, %v", got.file, err)
	}
	defer unix.Close(got.file)
	if flags, err := unix.FcntlInt(uintptr(got.file), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("descriptor flags %d, %v, want close-on-exec", flags, err)
	}
	if _, err := unix.Write(got.file, []byte("x")); err != nil {
		t.Error(err)
	}
}

func TestCommandEncoding(t *testing.T) {
	t.Parallel()
	for _, c := range []Command{
		{Path: "/bin/true", Args: []string{"true"}, Env: []string{}},
		{
			Path: "./a b", Args: []string{"a", "", "\xff\xfe", "x\ny"}, Env: []string{"A=", "B=\xff", "=C"},
			Foreign: 17, NoStdin: true, Clock: 7, Deadline: 1 << 60, Notice: 3, Grace: 4, Signal: 15, Pinned: true,
		},
		{Path: "p", Args: []string{""}, Env: []string{"LAST="}},
	} {
		got, err := decode(c.encode())
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("got %+v, %v, want %+v", got, err, c)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Command{Path: "p", Args: []string{"a", "b"}, Env: []string{"C=d"}}.encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decode(data)
		if err != nil {
			return
		}
		again, err := decode(c.encode())
		if err != nil || c.Path != again.Path || !slices.Equal(c.Args, again.Args) || !slices.Equal(c.Env, again.Env) {
			t.Errorf("%+v is read back as %+v, %v", c, again, err)
		}
	})
}
