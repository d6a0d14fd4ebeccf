package testcluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// Ports lie below those that systems give to outgoing connections, or one of
// these could take the port of a server that is down for a moment. The bus of a
// node of a Cluster has the port that is busOffset higher.
const (
	lowestPort = 10000
	ports      = 12000
	busOffset  = 10000
)

// given has the ports that this process uses.
var given = struct {
	sync.Mutex
	ports map[int]bool
}{ports: map[int]bool{}}

// takePort returns a port that is free, with that of its bus, and that this
// process does not give away again before [returnPort].
func takePort() (int, error) {
	given.Lock()
	defer given.Unlock()
	for range 100 {
		port := lowestPort + rand.IntN(ports)
		if given.ports[port] || !free(port) || !free(port+busOffset) {
			continue
		}
		given.ports[port] = true
		return port, nil
	}
	return 0, errors.New("no free port found")
}

// returnPort gives a port back. Port 0 is none.
func returnPort(port int) {
	given.Lock()
	defer given.Unlock()
	delete(given.ports, port)
}

// free tells whether one can listen at the port.
func free(port int) bool {
	l, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// loopback returns the address of a port of this machine.
func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
