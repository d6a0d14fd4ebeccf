package redislock

import (
	"embed"

	"github.com/fencehold/fencehold/redislock/internal/script"
)

// A Script is one Lua script and the name by which the server caches it.
type Script = script.Script

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
	manyScript       = newScript("many")
)

func newScript(name string) *Script { return script.New(sources, name) }
