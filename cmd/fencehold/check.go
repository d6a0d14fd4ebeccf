//go:build unix

package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/exitcode"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/guarded"
	"github.com/spf13/cobra"
)

// checkCommand is "fencehold check": is my lock still mine?
func (a *app) checkCommand() *cobra.Command {
	var f fenceFlags
	cmd := &cobra.Command{
		Use:   "check [flags] [LOCK]",
		Short: "Ask whether the lock of the run around this command is still held",
		Long: "Check asks the lock service whether LOCK, by default the one of the run around\n" +
			"this command, is held under the id of this run. LOCK may also be that of a run further out.\n" +
			"It exits with 0 or 79.",
		ValidArgsFunction: a.completeLock,
	}
	f.declareOwn(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.check(cmd, f, args) }
	return cmd
}

// check compares what the lock service says with the grant of the flags or
// of the environment. It takes nothing, and changes nothing.
func (a *app) check(cmd *cobra.Command, f fenceFlags, args []string) error {
	if len(args) == 0 {
		args = []string{os.Getenv(guarded.EnvLock)}
		if args[0] == "" {
			return a.usagef("no LOCK, and no %s in the environment", guarded.EnvLock)
		}
	}
	name, err := a.lockName(args)
	if err != nil {
		return err
	}
	fence, backend, err := f.around(name)
	if err != nil {
		return a.usage(err)
	}
	client, err := a.openAround(cmd, backend)
	if err != nil {
		return err
	}
	defer client.Close()
	held, err := client.Inspect(cmd.Context(), name)
	if err != nil {
		return err
	}
	// The answer is of the past by the time it is read: only a fence that the written
	// resource checks is safe against that.
	if !held.Held || (fence.Holder != "" && held.Holder != fence.Holder) ||
		(fence.Token != 0 && fence.Token != held.Token) {
		return f.notHeld(fence, nil)
	}
	return nil
}

// around is the grant of name that is asked about, and where it is kept. The
// environment has the id of the innermost run alone: one further out that has
// the lock is known by its token.
func (f *fenceFlags) around(name string) (fencehold.Fence, string, error) {
	fence, err := f.fence(name)
	backend := os.Getenv(guarded.EnvBackend)
	if inner := os.Getenv(guarded.EnvLock); err != nil || f.holder != "" || inner == "" || inner == name {
		return fence, backend, err
	}
	for _, outer := range slices.Backward(guarded.Stack(os.Getenv(guarded.EnvStack))) {
		token, err := strconv.ParseInt(outer.Token, 10, 64)
		if outer.Name != name || err != nil || token <= 0 {
			continue
		}
		fence.Holder = ""
		if fence.Token == 0 {
			fence.Token = fencehold.Token(token)
		}
		return fence, outer.Backend, nil
	}
	return fence, backend, nil
}

// openAround connects to the lock service of a run around this command, unless
// a flag or the configuration names another one.
func (a *app) openAround(cmd *cobra.Command, around string) (*fencehold.Client, error) {
	settings, err := a.settings()
	if err != nil {
		return nil, err
	}
	// The URL in the environment has no password. So the settings count if
	// they say anything.
	if around == "" || settings.Origin("url") != "default" {
		return a.open(cmd.Context())
	}
	client, err := connect(cmd.Context(), around)
	if exitcode.Of(err) == exitcode.NoPerm {
		err = fmt.Errorf("%w; %s has no password: give the URL to run by FENCEHOLD_URL or a configuration file, "+
			"or to this command by --url", err, guarded.EnvBackend)
	}
	return client, err
}
