package view

import (
	"fmt"
	"io"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/config"
)

// settingsView is the configuration as JSON.
type settingsView struct {
	Schema   int                    `json:"schema_version"`
	Settings map[string]settingView `json:"settings"`
}

type settingView struct {
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// PrintSettings writes the settings, with where they come from if asked for.
func PrintSettings(out io.Writer, f Format, all []config.Setting, origin bool) error {
	if f == JSON || f == Lines {
		v := settingsView{SchemaVersion, map[string]settingView{}}
		for _, s := range all {
			v.Settings[s.Key] = settingView{s.Value, s.Origin}
		}
		if f == Lines {
			return WriteLine(out, v)
		}
		return WriteJSON(out, v)
	}
	for _, s := range all {
		line := fmt.Sprintf("%s = %q", s.Key, s.Value)
		if f == Names {
			line = s.Key
		} else if origin || f == Wide {
			line = fmt.Sprintf("%-40s # %s", line, s.Origin)
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}
