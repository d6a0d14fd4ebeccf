package redislock

import (
	"crypto/sha1" //nolint:gosec // the name by which Redis knows a script, not a secret
	"embed"
	"encoding/hex"
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

//go:embed lua
var sources embed.FS

var (
	acquireScript    = newScript("acquire")
	releaseScript    = newScript("release")
	releaseOneScript = newScript("releaseone")
	renewScript      = newScript("renew")
	pingScript       = newScript("ping")
	revokeScript     = newScript("revoke")
	inspectScript    = newScript("inspect")
)

// newScript reads a script and puts in the parts that it includes. What stands
// before them is done without the cost of defining their functions.
func newScript(name string) *Script {
	var source strings.Builder
	for line := range strings.Lines(read("lua/" + name + ".lua")) {
		if part, ok := strings.CutPrefix(strings.TrimSpace(line), "--include "); ok {
			line = read("lua/part/" + part + ".lua")
		}
		source.WriteString(line)
	}
	sum := sha1.Sum([]byte(source.String())) //nolint:gosec // see above
	return &Script{source: source.String(), sha1: hex.EncodeToString(sum[:])}
}

func read(path string) string {
	text, err := sources.ReadFile(path)
	if err != nil {
		panic(err) // the file is part of the package
	}
	return string(text)
}
