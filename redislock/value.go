package redislock

import "github.com/fencehold/fencehold/driver"

// describe returns the description of a request's owner.
func (b *backend) describe(req driver.Request) string { return b.describer.Describe(req) }
