module github.com/fencehold/fencehold/cmd/fencehold

go 1.26.0

replace (
	github.com/fencehold/fencehold => ../..
	github.com/fencehold/fencehold/redislock => ../../redislock
)

require (
	github.com/BurntSushi/toml v1.6.0
	github.com/creack/pty v1.1.24
	github.com/fencehold/fencehold v0.0.0
	github.com/fencehold/fencehold/redislock v0.0.0
	github.com/rogpeppe/go-internal v1.16.0
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.9
	golang.org/x/sys v0.50.0
	golang.org/x/term v0.48.0
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/redis/rueidis v1.0.79 // indirect
	golang.org/x/tools v0.26.0 // indirect
)
