package redlock

import (
	"embed"

	"github.com/fencehold/fencehold/redislock/internal/script"
)

//go:embed lua
var sources embed.FS

var (
	acquireScript = script.New(sources, "acquire")
	settleScript  = script.New(sources, "settle")
	renewScript   = script.New(sources, "renew")
	mendScript    = script.New(sources, "mend")
	releaseScript = script.New(sources, "release")
	revokeScript  = script.New(sources, "revoke")
	inspectScript = script.New(sources, "inspect")

	// Of the members.
	stateScript   = script.New(sources, "state")
	foundScript   = script.New(sources, "found")
	joinScript    = script.New(sources, "join")
	admitScript   = script.New(sources, "admit")
	retitleScript = script.New(sources, "retitle")
	showScript    = script.New(sources, "show")
	putScript     = script.New(sources, "put")
)
