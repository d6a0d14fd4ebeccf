package view

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Version is the version of the program, as JSON.
type Version struct {
	// Schema is [SchemaVersion].
	Schema int `json:"schema_version"`
	// Version and Revision are empty or "devel" where the Go tool knew none.
	Version  string `json:"version"`
	Revision string `json:"revision"`
	// Go and Platform are what it was built by and for.
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// String is the version on one line, with what it was built by and for.
func (v Version) String() string { return fmt.Sprintf("%s (%s, %s)", v.Version, v.Go, v.Platform) }

// ReadVersion is what the Go tool recorded in the program.
func ReadVersion() Version {
	v := Version{
		Schema: SchemaVersion, Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
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
