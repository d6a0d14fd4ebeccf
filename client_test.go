package fencehold_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/fence"
	"github.com/fencehold/fencehold/memlock"
)

func TestOpenNamesWhatIsWrong(t *testing.T) {
	for rawURL, want := range map[string]string{
		"":                          "no scheme",
		"nothing":                   "no scheme",
		"file://":                   "import github.com/fencehold/fencehold/filelock",
		"http://user:secret@x":      `scheme "http" is not known`,
		"mem://user:secret@x/y?z=1": "mem:// or mem://NAME",
	} {
		_, err := fencehold.Open(t.Context(), rawURL)
		if !errors.Is(err, fencehold.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", rawURL, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error shows the password: %v", rawURL, err)
		}
	}
}

func TestOpenSharesAServerByName(t *testing.T) {
	one, err := fencehold.Open(t.Context(), "mem://shared-by-name")
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	two, err := fencehold.Open(t.Context(), "mem://shared-by-name")
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	acquire(t, one, "job")
	if _, err := two.Mutex("job").TryAcquire(t.Context()); !errors.Is(err, fencehold.ErrHeld) {
		t.Errorf("error %v, want ErrHeld", err)
	}
}

func TestRegisterTwicePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	fencehold.Register("mem", nil)
}

func TestB88BadConstruction(t *testing.T) {
	if _, err := fencehold.New(nil); !errors.Is(err, fencehold.ErrInvalid) {
		t.Errorf("nil backend: %v", err)
	}
	for name, opt := range map[string]fencehold.Option{
		"TTL":         fencehold.WithTTL(time.Millisecond),
		"empty owner": fencehold.WithOwner(""),
		"long owner":  fencehold.WithOwner(strings.Repeat("x", 257)),
		"odd owner":   fencehold.WithOwner("a\nb"),
		"long labels": fencehold.WithLabels(map[string]string{"k": strings.Repeat("x", 1024)}),
		"empty label": fencehold.WithLabels(map[string]string{"": "x"}),
		"odd label":   fencehold.WithLabels(map[string]string{"k": "a\x00"}),
	} {
		if _, err := fencehold.New(memlock.New().Backend(), opt); !errors.Is(err, fencehold.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := fencehold.New(memlock.New().Backend(), fencehold.WithFeatures(fencehold.Fencing|fencehold.Durable))
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "does not promise: durable") {
		t.Errorf("missing feature: %v", err)
	}
}

func TestOptionsOfTheClientOnALock(t *testing.T) {
	client := newClient(t, memlock.New())
	for name, opt := range map[string]fencehold.Option{
		"WithFeatures": fencehold.WithFeatures(fencehold.Fencing),
		"WithLogger":   fencehold.WithLogger(slog.Default()),
		"WithHooks":    fencehold.WithHooks(fencehold.Hooks{}),
	} {
		_, err := client.Mutex("job", opt).Acquire(t.Context())
		if !errors.Is(err, fencehold.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s on a lock: %v", name, err)
		}
	}
	for name, opts := range map[string][]fencehold.Option{
		"min over max":             {fencehold.WithMinHold(time.Hour), fencehold.WithMaxHold(time.Minute)},
		"progress without renewal": {fencehold.WithProgress(time.Second), fencehold.WithoutRenewal()},
	} {
		if _, err := client.Mutex("job", opts...).Acquire(t.Context()); !errors.Is(err, fencehold.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnsupportedAbilities(t *testing.T) {
	client, err := fencehold.New(plain{memlock.New().Backend()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx := t.Context()
	lease := acquire(t, client, "job")
	_, inspect := client.Inspect(ctx, "job")
	_, resume := client.Resume(ctx, lease.Fence())
	_, file := lease.File()
	var list error
	for _, err := range client.Locks(ctx, "") {
		list = err
	}
	for name, err := range map[string]error{
		"inspect": inspect, "resume": resume, "file": file, "list": list,
		"unlock": client.Unlock(ctx, "job", lease.Fence().Holder, ""),
	} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// limited keeps fewer promises than memory does.
type limited struct{ driver.Backend }

func (l limited) Info() driver.Info {
	info := l.Backend.Info()
	info.Features = driver.Fencing
	return info
}

func TestUnsupportedOptions(t *testing.T) {
	client, err := fencehold.New(limited{memlock.New().Backend()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, opt := range []fencehold.Option{fencehold.WithMinHold(time.Second), fencehold.WithDetached()} {
		if _, err := client.Mutex("job", opt).Acquire(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("error %v", err)
		}
	}
}

func TestUnlockArguments(t *testing.T) {
	client := newClient(t, memlock.New())
	for name, err := range map[string]error{
		"empty name":   client.Unlock(t.Context(), "", "holder", ""),
		"empty holder": client.Unlock(t.Context(), "job", "", ""),
		"odd reason":   client.Unlock(t.Context(), "job", "holder", "a\nb"),
	} {
		if !errors.Is(err, fencehold.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := client.Resume(t.Context(), fencehold.Fence{Name: "job"})
	if !errors.Is(err, fencehold.ErrInvalid) {
		t.Errorf("resume without a holder: %v", err)
	}
}

func TestResumeChecksTheToken(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server)
		f := acquire(t, client, "job", fencehold.WithDetached()).Fence()
		f.Token++
		if _, err := client.Resume(t.Context(), f); !errors.Is(err, fencehold.ErrInvalid) {
			t.Errorf("wrong token: %v", err)
		}
	})
}

// recorder keeps the events in the order in which hooks were told.
type recorder struct {
	mu     sync.Mutex
	events []string
	last   map[string]fencehold.Event
}

func (r *recorder) hook(name string) func(fencehold.Event) {
	return func(e fencehold.Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, name)
		r.last[name] = e
	}
}

func (r *recorder) hooks() fencehold.Hooks {
	r.last = map[string]fencehold.Event{}
	return fencehold.Hooks{
		Acquired: r.hook("acquired"), Renewed: r.hook("renewed"), RenewalFailed: r.hook("failed"),
		Expiring: r.hook("expiring"), Lost: r.hook("lost"), Released: r.hook("released"),
	}
}

func TestHooksTellTheStory(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		var story recorder
		var text bytes.Buffer
		log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
		client := newClient(t, server, fencehold.WithTTL(3*time.Second), fencehold.WithOwner("me"),
			fencehold.WithHooks(story.hooks()), fencehold.WithLogger(log))
		lease := acquire(t, client, "job")
		time.Sleep(1500 * time.Millisecond)
		server.Script(on("renew", memlock.Fault{Err: errNetwork}))
		<-lease.Done()
		server.Script(nil)
		server.Expire("job")
		second := acquire(t, client, "job")
		time.Sleep(100 * time.Millisecond)
		_ = second.Release(t.Context())
		synctest.Wait()

		var short []string
		for i, e := range story.events {
			if i == 0 || e != story.events[i-1] {
				short = append(short, e)
			}
		}
		got := strings.Join(short, " ")
		if want := "acquired renewed failed expiring failed lost acquired released"; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
		if e := story.last["lost"]; !errors.Is(e.Err, fencehold.ErrLost) || e.Owner != "me" || e.Token != lease.Token() {
			t.Errorf("lost: %+v", e)
		}
		if e := story.last["released"]; e.Held != 100*time.Millisecond || e.Holder != second.Fence().Holder {
			t.Errorf("released: %+v", e)
		}
		for _, want := range []string{"lock acquired", "renewal failed", "lease lost", "lock=job", "backend=memory"} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("the log lacks %q:\n%s", want, text.String())
			}
		}
	})
}

// A hook that hangs delays hooks and nothing else.
func TestASlowHookHoldsNothingUp(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		hang := make(chan struct{})
		defer close(hang)
		client := newClient(t, server, fencehold.WithTTL(time.Second), fencehold.WithHooks(fencehold.Hooks{
			Acquired: func(fencehold.Event) { <-hang },
		}))
		lease := acquire(t, client, "job")
		time.Sleep(20 * time.Second)
		if !lease.Valid() {
			t.Errorf("lost: %v", lease.Err())
		}
	})
}

func TestSilentByDefault(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		var text bytes.Buffer
		before := slog.Default()
		slog.SetDefault(slog.New(slog.NewTextHandler(&text, nil)))
		defer slog.SetDefault(before)
		lease := acquire(t, newClient(t, server, fencehold.WithTTL(time.Second)), "job")
		server.Script(on("renew", memlock.Fault{Err: errNetwork}))
		<-lease.Done()
		if text.Len() > 0 {
			t.Errorf("logged %q", text.String())
		}
	})
}

func TestContextCarriesTheFence(t *testing.T) {
	client := newClient(t, memlock.New())
	lease := acquire(t, client, "job")
	type key struct{}
	parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	ctx := lease.Context(parent)
	f, ok := fence.From(ctx)
	if !ok || f != lease.Fence() || ctx.Value(key{}) != "value" {
		t.Errorf("context has fence %v and value %v", f, ctx.Value(key{}))
	}
	cancel()
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), context.Canceled) || !lease.Valid() {
		t.Errorf("parent cancelled: cause %v, lease %v", context.Cause(ctx), lease.Err())
	}
	ctx = lease.Context(t.Context())
	child, cancelChild := context.WithTimeout(ctx, time.Hour)
	defer cancelChild()
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-child.Done()
	if !errors.Is(context.Cause(child), fencehold.ErrReleased) || !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("released: cause %v, error %v", context.Cause(child), ctx.Err())
	}
	if late := lease.Context(t.Context()); !errors.Is(context.Cause(late), fencehold.ErrReleased) {
		t.Errorf("context of a released lease: %v", context.Cause(late))
	}
}

// A context that outlives thousands of leases remembers none of them.
func TestLeasesLeaveNothingWithTheirParent(t *testing.T) {
	client := newClient(t, memlock.New())
	parent := t.Context()
	spin := func(n int) {
		for range n {
			_ = client.Mutex("job").Do(parent, func(context.Context) error { return nil })
		}
	}
	spin(100)
	before := heapInUse()
	spin(5000)
	if grown := heapInUse() - before; grown > 256<<10 {
		t.Errorf("5,000 leases left %d bytes with their parent context", grown)
	}
}

// The client is closed while renewals are due: releasing such a lease does not
// wait for a renewal that nobody will send.
func TestReleaseAfterCloseIsQuick(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(time.Second))
		lease := acquire(t, client, "job")
		server.Script(on("renew", memlock.Fault{DropRequest: true}))
		time.Sleep(400 * time.Millisecond)
		start := time.Now()
		_ = client.Close()
		mustBeLost(t, lease.Release(t.Context()), fencehold.ReasonClosed)
		if d := time.Since(start); d > time.Second {
			t.Errorf("close and release took %v", d)
		}
	})
}

// The context of a lease below itself, or below that of another one, whose
// parent is over: nothing waits for a mutex that it holds.
func TestNestedContexts(t *testing.T) {
	client := newClient(t, memlock.New())
	a, b := acquire(t, client, "a"), acquire(t, client, "b")
	done := make(chan struct{})
	go func() {
		defer close(done)
		var work sync.WaitGroup
		for range 200 {
			ctx, cancel := context.WithCancel(context.Background())
			over := a.Context(ctx)
			cancel()
			_ = a.Context(over)
			work.Go(func() { _ = b.Context(a.Context(ctx)) })
			work.Go(func() { _ = a.Context(b.Context(ctx)) })
		}
		work.Wait()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("contexts of leases wait for each other")
	}
	if err := a.Context(t.Context()).Err(); err != nil || !a.Valid() || !b.Valid() {
		t.Errorf("leases suffered: %v, %v, %v", err, a.Err(), b.Err())
	}
}

// Release has begun when the client is closed: it is finished first.
func TestCloseWaitsForARelease(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server)
		lease := acquire(t, client, "job")
		attempts := 0
		server.Script(func(c memlock.Call) memlock.Fault {
			if c.Op == "release" {
				if attempts++; attempts == 1 {
					return memlock.Fault{Err: errNetwork}
				}
			}
			return memlock.Fault{}
		})
		released := make(chan error, 1)
		go func() { released <- lease.Release(context.Background()) }()
		time.Sleep(5 * time.Millisecond)
		_ = client.Close()
		if err := <-released; err != nil {
			t.Errorf("release: %v", err)
		}
		if holding, _ := newClient(t, server).Inspect(t.Context(), "job"); holding.Held {
			t.Error("the lock was left behind")
		}
	})
}

func TestCloseDoesNotWaitForACaller(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server)
		f := acquire(t, client, "job", fencehold.WithDetached()).Fence()
		server.Script(on("inspect", memlock.Fault{DropRequest: true}))
		resumed := make(chan error, 1)
		go func() {
			_, err := client.Resume(context.Background(), f)
			resumed <- err
		}()
		synctest.Wait()
		start := time.Now()
		_ = client.Close()
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("close took %v", d)
		}
		if err := <-resumed; !errors.Is(err, fencehold.ErrClosed) {
			t.Errorf("resume: %v", err)
		}
	})
}

func TestSecondCloseWaitsForTheFirst(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server)
		acquire(t, client, "job")
		server.Script(on("release", memlock.Fault{ReplyDelay: 500 * time.Millisecond}))
		go func() { _ = client.Close() }()
		synctest.Wait()
		start := time.Now()
		_ = client.Close()
		if d := time.Since(start); d != 500*time.Millisecond {
			t.Errorf("the second close returned after %v", d)
		}
	})
}

// A hook that ends its goroutine takes one event along, not all that follow.
func TestHookThatEndsItsGoroutine(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		var released atomic.Int32
		client := newClient(t, server, fencehold.WithHooks(fencehold.Hooks{
			Acquired: func(fencehold.Event) { runtime.Goexit() },
			Released: func(fencehold.Event) { released.Add(1) },
		}))
		for range 3 {
			_ = acquire(t, client, "job").Release(t.Context())
		}
		synctest.Wait()
		if n := released.Load(); n != 3 {
			t.Errorf("%d of 3 releases were told", n)
		}
	})
}

// A handler that asks the lease from where it is asked itself.
type askingHandler struct {
	slog.Handler
	lease *atomic.Pointer[fencehold.Lease]
}

func (h askingHandler) Enabled(ctx context.Context, level slog.Level) bool {
	if l := h.lease.Load(); l != nil {
		_ = l.Err()
	}
	return h.Handler.Enabled(ctx, level)
}

func TestLogHandlerMayAskTheLease(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		var lease atomic.Pointer[fencehold.Lease]
		var text bytes.Buffer
		log := slog.New(askingHandler{slog.NewTextHandler(&text, nil), &lease})
		l := acquire(t, newClient(t, server, fencehold.WithLogger(log)), "job")
		lease.Store(l)
		server.Delete("job")
		<-l.Done()
		synctest.Wait()
		if !strings.Contains(text.String(), "lease lost") {
			t.Errorf("logged %q", text.String())
		}
	})
}

func TestReleasedIsAnError(t *testing.T) {
	lease := acquire(t, newClient(t, memlock.New()), "job")
	_ = lease.Release(t.Context())
	for _, err := range []error{lease.Err(), lease.Extend(t.Context(), time.Second)} {
		if e, ok := errors.AsType[*fencehold.Error](err); !ok || e.Name != "job" || !errors.Is(err, fencehold.ErrReleased) {
			t.Errorf("error %#v", err)
		}
	}
}

// The work returns the loss that it was told: it is not said twice.
func TestDoReportsALossOnce(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		err := newClient(t, server).Mutex("job").Do(t.Context(), func(ctx context.Context) error {
			server.Delete("job")
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if want := "hold job (memory): lease lost: deleted"; err == nil || err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	})
}

// What is left to be released in the background is released by Close at once,
// however long the margin of the lease is.
func TestCloseDoesNotWaitForTheMargin(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(time.Hour), fencehold.WithMaxHold(time.Second))
		lease := acquire(t, client, "job")
		<-lease.Done()
		start := time.Now()
		_ = client.Close()
		if d := time.Since(start); d > time.Second {
			t.Errorf("close took %v", d)
		}
		if holding, _ := newClient(t, server).Inspect(t.Context(), "job"); holding.Held {
			t.Error("the lock was left behind")
		}
	})
}
