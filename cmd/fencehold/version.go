//go:build unix

package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/view"
	"github.com/spf13/cobra"
)

// versionView is the version as JSON.
type versionView struct {
	Schema   int    `json:"schema_version"`
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// versionCommand is "fencehold version".
func (a *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Print the version"}
	output := outputFlag(cmd, view.Table)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		format, err := a.format(*output)
		if err != nil {
			return err
		}
		if len(args) > 0 {
			return a.usagef("%d arguments: want none", len(args))
		}
		v := version()
		switch format {
		case view.JSON:
			return view.WriteJSON(a.stdout, v)
		case view.Lines:
			return view.WriteLine(a.stdout, v)
		}
		_, err = fmt.Fprintf(a.stdout, "fencehold %s (%s, %s)\n", v.Version, v.Go, v.Platform)
		return err
	}
	return cmd
}

// version is what the Go tool recorded in the program.
func version() versionView {
	v := versionView{
		Schema: view.SchemaVersion, Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	return v
}
