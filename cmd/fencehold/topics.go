//go:build unix

package main

import (
	"github.com/fencehold/fencehold/cmd/fencehold/internal/topic"
	"github.com/spf13/cobra"
)

// topics are help pages that belong to no command.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "Exit codes and what they mean", Long: topic.ExitCodes},
		{Use: "urls", Short: "URLs of lock services", Long: topic.URLs},
		{Use: "env", Short: "Environment variables, read and given", Long: topic.Env},
	}
}
