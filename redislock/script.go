package redislock

import (
	"crypto/sha1" //nolint:gosec // the name by which Redis knows a script, not a secret
	_ "embed"
	"encoding/hex"
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

var (
	//go:embed lua/common.lua
	common string
	//go:embed lua/acquire.lua
	acquireSource string
	//go:embed lua/release.lua
	releaseSource string
	//go:embed lua/releaseone.lua
	releaseOneSource string
	//go:embed lua/renew.lua
	renewSource string
	//go:embed lua/ping.lua
	pingSource string
	//go:embed lua/revoke.lua
	revokeSource string
	//go:embed lua/inspect.lua
	inspectSource string
)

var (
	acquireScript    = newScript(acquireSource)
	releaseScript    = newScript(releaseSource)
	releaseOneScript = newScript(releaseOneSource)
	renewScript      = newScript(renewSource)
	pingScript       = newScript(pingSource)
	revokeScript     = newScript(revokeSource)
	inspectScript    = newScript(inspectSource)
)

func newScript(source string) *Script {
	source = common + source
	sum := sha1.Sum([]byte(source)) //nolint:gosec // see above
	return &Script{source: source, sha1: hex.EncodeToString(sum[:])}
}
