//go:build unix

package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/exitcode"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/view"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

const unlockHelp = `Unlock takes LOCK away from its holder, who is told who did it and why. It shows
the holder and asks first. With --holder or --token it acts only if that grant
still stands, and exits with 79 otherwise. A run that holds the lock stops its
command.`

type unlockFlags struct {
	fenceFlags
	force  bool
	reason string
}

// unlockCommand is "fencehold unlock".
func (a *app) unlockCommand() *cobra.Command {
	f := &unlockFlags{}
	cmd := &cobra.Command{
		Use:               "unlock [flags] LOCK",
		Short:             "Take a lock away from its holder",
		Long:              unlockHelp,
		ValidArgsFunction: a.completeLock,
	}
	f.declare(cmd, "id of the grant that must still stand", "token of the grant that must still stand")
	cmd.Flags().BoolVar(&f.force, "force", false, "do not ask")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for the holder")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.unlock(cmd.Context(), f, args) }
	return cmd
}

// unlock shows the holder, asks, and takes the lock from exactly the holder that
// it has shown: if another one has it by then, nothing is changed.
func (a *app) unlock(ctx context.Context, f *unlockFlags, args []string) error {
	name, err := a.lockName(args)
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return a.usage(err)
	}
	ctx, stop := interruptible(ctx)
	defer stop(nil)
	client, err := a.open(ctx)
	if err != nil {
		return because(ctx, err)
	}
	defer client.Close() //nolint:contextcheck // to close is possible under a context that is over
	// What is seen here is what is asked about, and what is taken away: if somebody
	// else gets the lock meanwhile, the id does not fit any more.
	held, err := client.Inspect(ctx, name)
	if err != nil {
		return because(ctx, err)
	}
	if err := f.match(held); err != nil {
		return exitcode.With(exitcode.Lost, fmt.Errorf("lock %q: %w", name, err))
	}
	if held.Holder == "" {
		return a.usagef("lock %q is not held by fencehold: end the process that holds it", name)
	}
	if !f.force {
		if !isTerminal(a.stdin) {
			return a.usagef("standard input is no terminal to ask on: want --force")
		}
		if err := a.confirm(ctx, held, client.Info()); err != nil {
			return err
		}
	}
	why := cmp.Or(f.reason, "unlocked by "+who())
	if err := client.Unlock(ctx, name, held.Holder, why); err != nil {
		return because(ctx, err)
	}
	a.notices().Info("lock %q taken from %s", name, held.Holder)
	return nil
}

// match reports why the lock is not held as the flags say.
func (f *unlockFlags) match(h fencehold.Holding) error {
	switch {
	case !h.Held:
		return errors.New("not held")
	case f.holder != "" && f.holder != h.Holder:
		return fmt.Errorf("not held by %s: the holder is %s", f.holder, h.Holder)
	case f.token != 0 && fencehold.Token(f.token) != h.Token:
		return fmt.Errorf("not held with token %d: the token is %s", f.token, h.Token)
	}
	return nil
}

// confirm shows the holder and waits for a yes.
func (a *app) confirm(ctx context.Context, h fencehold.Holding, info fencehold.Info) error {
	_, err := fmt.Fprintf(a.stderr, "%s\nTake the lock away? Only \"yes\" does it: ", view.Describe(h, info))
	if err != nil {
		return fmt.Errorf("question: %w", err)
	}
	answer := make(chan string, 1)
	go func() {
		// A read cannot be cancelled. If a signal comes first this goroutine is left to
		// the end of the process.
		line, _ := bufio.NewReader(a.stdin).ReadString('\n')
		answer <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case line := <-answer:
		if line != "yes" {
			return exitcode.With(exitcode.Busy, errors.New("unlock: not confirmed, nothing was changed"))
		}
		return nil
	}
}

// isTerminal reports whether somebody can be asked.
func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// who names the user and the machine, as far as they are known.
func who() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}
