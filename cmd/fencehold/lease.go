//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/guarded"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/view"
	"github.com/spf13/cobra"
)

// allFormats are those of -o.
func allFormats() []view.Format {
	return []view.Format{view.Table, view.JSON, view.Lines, view.Wide, view.Names}
}

// outputFlag declares -o.
func outputFlag(cmd *cobra.Command, standard view.Format) *string {
	cmd.Flags().Bool("json", false, "same as -o json")
	return cmd.Flags().StringP("output", "o", string(standard), "table, json, jsonl, wide or name")
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
}

// declare adds the flags.
func (f *fenceFlags) declare(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.holder, "holder", "", "id of the grant (default $"+guarded.EnvHolder+")")
	cmd.Flags().Int64Var(&f.token, "token", 0, "token of the grant, which must match if given")
}

// fence is the grant of name that the flags and the environment mean.
func (f *fenceFlags) fence(name string) (fencehold.Fence, error) {
	holder := f.holder
	if holder == "" {
		holder = os.Getenv(guarded.EnvHolder)
	}
	if holder == "" {
		return fencehold.Fence{}, errors.New("no --holder, and no " + guarded.EnvHolder + " in the environment")
	}
	if f.token < 0 {
		return fencehold.Fence{}, fmt.Errorf("--token %d: must be positive", f.token)
	}
	return fencehold.Fence{Name: name, Holder: holder, Token: fencehold.Token(f.token)}, nil
}
