package redislock

// ScriptsByName are those that clients send, by name.
var ScriptsByName = map[string]*Script{
	"acquire":     acquireScript,
	"release":     releaseScript,
	"release one": releaseOneScript,
	"renew":       renewScript,
	"ping":        pingScript,
	"revoke":      revokeScript,
	"inspect":     inspectScript,
}
