//go:build unix

package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/topic"
	"github.com/spf13/cobra"
)

// unknown is how cobra begins what it says of a command that it does not have.
const unknown = "unknown command "

// topics are help pages that belong to no command.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "Exit codes and what they mean", Long: topic.ExitCodes},
		{Use: "urls", Short: "URLs of lock services", Long: topic.URLs},
		{Use: "redis", Short: "Rights of a user on a Redis server, and other settings", Long: topic.Redis},
		{Use: "env", Short: "Environment variables, read and given", Long: topic.Env},
	}
}

// isCobra reports whether cobra itself refused the command line.
func isCobra(err error) bool {
	return strings.HasPrefix(err.Error(), unknown) || strings.HasPrefix(err.Error(), "required flag")
}

// unknownCommand says on one line what cobra needs several for. Any other error
// it returns as it is.
func unknownCommand(root *cobra.Command, err error) error {
	quoted, found := strings.CutPrefix(err.Error(), unknown)
	if !found {
		return err
	}
	quoted, e := strconv.QuotedPrefix(quoted)
	if e != nil {
		return err
	}
	name, e := strconv.Unquote(quoted)
	if e != nil {
		return err
	}
	return errors.New(unknown + quoted + meant(root, name))
}

// meant asks whether another command was meant, if one is spelled much like name.
func meant(cmd *cobra.Command, name string) string {
	names := cmd.SuggestionsFor(name)
	if len(names) == 0 {
		return ""
	}
	return ": did you mean " + strings.Join(names, " or ") + "?"
}

// helpCommand replaces the help of cobra, which shows everything, and reports
// success, where it does not know the topic.
func (a *app) helpCommand(root *cobra.Command) {
	root.SetHelpCommand(&cobra.Command{
		Use:               "help [COMMAND or TOPIC]",
		Short:             "Show the help of a command, or a topic",
		Long:              "Help shows the help of a command, or one of the topics that fencehold --help lists.",
		ValidArgsFunction: completeHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				topic := strings.Join(args, " ")
				return a.usagef("help topic %q is not known%s", topic, meant(found, args[len(args)-1]))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	})
}

// completeHelp offers commands and topics to the shell.
func completeHelp(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if parent, _, err := cmd.Root().Find(args); err == nil {
		for _, c := range parent.Commands() {
			if !c.Hidden && strings.HasPrefix(c.Name(), prefix) {
				names = append(names, c.Name()+"\t"+c.Short)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completionCommand lets the completion command of cobra refuse a shell that it
// does not know, instead of showing its help with success.
func (a *app) completionCommand(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return a.usagef("shell %q is not known: want bash, fish, powershell or zsh", args[0])
		}
		return cmd.Help()
	}
}
