package redlock

import (
	"embed"

	"github.com/fencehold/fencehold/redislock/internal/script"
)

//go:embed lua/state.lua lua/found.lua lua/join.lua lua/admit.lua lua/retitle.lua lua/show.lua lua/put.lua
var memberSources embed.FS

var (
	stateScript   = script.New(memberSources, "state")
	foundScript   = script.New(memberSources, "found")
	joinScript    = script.New(memberSources, "join")
	admitScript   = script.New(memberSources, "admit")
	retitleScript = script.New(memberSources, "retitle")
	showScript    = script.New(memberSources, "show")
	putScript     = script.New(memberSources, "put")
)
