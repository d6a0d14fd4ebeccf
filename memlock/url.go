package memlock

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

// shared are the servers that URLs name.
var shared sync.Map

func init() { fencehold.Register("mem", open) }

// open connects to the server that the whole process shares under the URL's
// name.
func open(_ context.Context, rawURL string) (driver.Backend, error) {
	name := strings.TrimPrefix(rawURL, "mem://")
	if strings.ContainsAny(name, "/?#@") {
		return nil, fmt.Errorf("%w: memory URL: want mem:// or mem://NAME, nothing more", fencehold.ErrInvalid)
	}
	server, _ := shared.LoadOrStore(name, New())
	// Grants cannot outlive this process: its memory is where they are.
	return &backend{server: server.(*Server), features: features &^ driver.Detached}, nil
}
