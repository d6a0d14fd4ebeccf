//go:build unix

package main

import (
	"context"
	"errors"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/config"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/exitcode"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/view"
	"github.com/fencehold/fencehold/redislock/redlock"
	"github.com/spf13/cobra"
)

const doctorHelp = `Doctor examines the lock service: whether it can be reached, whether everything
that locks need works there, how it is set up, and what its locks promise. What it
tries, it tries under names that no lock has, and removes.

Each finding is good, a note, a warning or a failure. With a failure the exit code is
69, or 77 if the service refused the credentials, otherwise 0.`

// doctorCommand is "fencehold doctor".
func (a *app) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor [flags]",
		Short: "Examine the lock service",
		Long:  doctorHelp,
	}
	output := a.outputFlag(cmd, view.Table)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		format, err := a.format(*output)
		if err != nil {
			return err
		}
		if len(args) > 0 {
			return a.usagef("%d arguments: want none", len(args))
		}
		return a.doctor(cmd.Context(), format)
	}
	return cmd
}

// doctor prints what was found, also where the service did not let it finish.
func (a *app) doctor(ctx context.Context, format view.Format) error {
	ctx, stop := interruptible(ctx)
	defer stop(nil)
	d, err := a.examine(ctx)
	if d == nil || ctx.Err() != nil {
		return because(ctx, err)
	}
	if err != nil {
		d.Findings = append(d.Findings, fencehold.Finding{
			Subject: "connection", Grade: fencehold.GradeFailure, Text: err.Error(),
		})
	}
	if err := view.PrintDiagnosis(a.stdout, format, *d); err != nil {
		return err
	}
	switch {
	case err != nil:
		return exitcode.With(exitcode.Of(err), nil) // the findings have said it
	case d.Worst() == fencehold.GradeFailure:
		return exitcode.With(exitcode.Unavailable, nil)
	}
	return nil
}

// examine returns what was found, nil if there was nothing to examine: the
// settings have a mistake. An error of the service comes with a diagnosis.
func (a *app) examine(ctx context.Context) (*view.Diagnosis, error) {
	c, err := a.settings()
	if err != nil {
		return nil, err
	}
	client, err := a.open(ctx)
	if err != nil {
		if code := exitcode.Of(err); code != exitcode.Unavailable && code != exitcode.NoPerm {
			return nil, err
		}
		return examineUnopened(ctx, c.Get("url"), err)
	}
	defer client.Close() //nolint:contextcheck // to close is possible under a context that is over
	info := client.Info()
	findings, err := client.Diagnose(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil // what it says of itself is all that there is
	}
	return &view.Diagnosis{URL: info.URL, Info: &info, Findings: findings}, err
}

// examineUnopened examines what can be reached of a lock service that could not be
// opened: of a Redlock set those servers that answer.
func examineUnopened(ctx context.Context, url string, err error) (*view.Diagnosis, error) {
	d := &view.Diagnosis{URL: config.Redact(url)}
	if !config.NamesSet(url) {
		return d, err
	}
	findings, again := redlock.Diagnose(ctx, config.URLs(url)...)
	d.Findings = findings
	if again == nil {
		err = nil // more of them answer by now
	}
	return d, err
}
