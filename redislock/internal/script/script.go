// Package script reads Lua scripts that are made of parts.
package script

import (
	"crypto/sha1" //nolint:gosec // the name by which Redis knows a script, not a secret
	"encoding/hex"
	"io/fs"
	"strings"
)

// A Script is one Lua script and the name by which the server caches it.
type Script struct {
	source string
	sha1   string
}

// Source is the text, for EVAL.
func (s *Script) Source() string { return s.source }

// SHA1 is the hexadecimal digest of the text, for EVALSHA.
func (s *Script) SHA1() string { return s.sha1 }

// New reads lua/NAME.lua and puts in the parts that it includes, which are files
// of lua/part. What stands before them is done without the cost of defining
// their functions. It panics if there is no such file: all are part of a package.
func New(files fs.FS, name string) *Script {
	var source strings.Builder
	for line := range strings.Lines(read(files, "lua/"+name+".lua")) {
		if part, ok := strings.CutPrefix(strings.TrimSpace(line), "--include "); ok {
			line = read(files, "lua/part/"+part+".lua")
		}
		source.WriteString(line)
	}
	sum := sha1.Sum([]byte(source.String())) //nolint:gosec // see above
	return &Script{source: source.String(), sha1: hex.EncodeToString(sum[:])}
}

func read(files fs.FS, path string) string {
	text, err := fs.ReadFile(files, path)
	if err != nil {
		panic(err)
	}
	return string(text)
}
