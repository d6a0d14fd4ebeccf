module github.com/fencehold/fencehold/redislock

go 1.26.0

replace github.com/fencehold/fencehold => ../

require (
	github.com/fencehold/fencehold v0.0.0
	github.com/redis/rueidis v1.0.79
)

require golang.org/x/sys v0.50.0 // indirect
