//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/exitcode"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/guarded"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/view"
	"github.com/spf13/cobra"
)

// allFormats are those of -o.
func allFormats() []view.Format {
	return []view.Format{view.Table, view.JSON, view.Lines, view.Wide, view.Names}
}

// outputFlag declares -o.
func (a *app) outputFlag(cmd *cobra.Command, standard view.Format) *string {
	cmd.Flags().Bool("json", false, "same as -o json")
	value := cmd.Flags().StringP("output", "o", string(standard), "table, json, jsonl, wide or name")
	var names []string
	for _, f := range allFormats() {
		names = append(names, string(f))
	}
	a.complete(cmd, "output", names...)
	return value
}

// format reads -o.
func (a *app) format(value string) (view.Format, error) {
	if asked, _ := a.flags.GetBool("json"); asked {
		value = string(view.JSON)
	}
	f, err := view.ParseFormat(value, allFormats()...)
	if err != nil {
		return "", a.usage(err)
	}
	return f, nil
}

// fenceFlags say which grant is meant.
type fenceFlags struct {
	holder string
	token  int64
	given  func(flag string) bool // whether it stands on the command line
}

// declare adds the flags.
func (f *fenceFlags) declare(cmd *cobra.Command, holder, token string) {
	cmd.Flags().StringVar(&f.holder, "holder", "", holder)
	cmd.Flags().Int64Var(&f.token, "token", 0, token)
	f.given = cmd.Flags().Changed
}

// declareOwn adds the flags where the grant is one's own.
func (f *fenceFlags) declareOwn(cmd *cobra.Command) {
	f.declare(cmd, "id of the grant (default $"+guarded.EnvHolder+")", "token of the grant, which must match if given")
}

// check refuses values that no grant has. A script that has lost its variable
// passes an empty one, and must not get what it would without the flag.
func (f *fenceFlags) check() error {
	switch {
	case f.given("holder") && f.holder == "":
		return errors.New("--holder is empty: want the id of a grant")
	case f.given("token") && f.token <= 0:
		return fmt.Errorf("--token %d: must be positive", f.token)
	}
	return nil
}

// fence is the grant of name that the flags and the environment mean.
func (f *fenceFlags) fence(name string) (fencehold.Fence, error) {
	if err := f.check(); err != nil {
		return fencehold.Fence{}, err
	}
	holder := f.holder
	if holder == "" {
		holder = os.Getenv(guarded.EnvHolder)
	}
	if holder == "" {
		return fencehold.Fence{}, errors.New("no --holder, and no " + guarded.EnvHolder + " in the environment")
	}
	return fencehold.Fence{Name: name, Holder: holder, Token: fencehold.Token(f.token)}, nil
}

// notHeld is the answer to a holder that does not hold the lock. Whether it ever
// did is known only of the run around this command: its id is that of its own
// lock, and of no other. How it lost the lock, nil if that is not known, matters
// only where somebody left word.
func (f *fenceFlags) notHeld(fence fencehold.Fence, loss *fencehold.LostError) error {
	around := os.Getenv(guarded.EnvLock)
	by, ever := fence.Holder, " (any more)"
	switch {
	case fence.Holder == "":
		by, ever = "the run around this command", " any more"
	case f.holder != "" || around == "":
	case around == fence.Name:
		ever = " any more"
	default:
		ever = ""
	}
	text := fmt.Sprintf("lock %q: not held by %s%s", fence.Name, by, ever)
	if loss != nil && loss.Reason == fencehold.ReasonRevoked {
		text += strings.TrimPrefix(loss.Error(), fencehold.ErrLost.Error())
	}
	return exitcode.With(exitcode.Lost, errors.New(text))
}
