package redislock

import (
	"context"

	"github.com/fencehold/fencehold/driver"
)

// Resume implements [driver.Resumer]: the shortest renewal there is, which
// shortens nothing, shows whether the grant stands.
func (b *backend) Resume(ctx context.Context, name, holder string) (driver.Grant, error) {
	grant := driver.Grant{Name: name, Holder: holder, Sent: driver.Now()}
	grant, err := b.Renew(ctx, grant, 1)
	if err == nil {
		b.listenForLosses()
	}
	return grant, err
}
