package testcluster

import (
	"errors"
	"net"
	"testing"
)

// A port may be taken between the look for it and the start of the server.
func TestTakenPortIsNoticed(t *testing.T) {
	for _, c := range []struct {
		name   string
		option Option
		offset int
	}{{"of clients", Config("tcp-keepalive", "300"), 0}, {"of the bus", asNode, busOffset}} {
		t.Run(c.name, func(t *testing.T) {
			r := newRedis(t, newSettings([]Option{c.option}))
			port, err := takePort()
			if err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("tcp", loopback(port+c.offset))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if free(port + c.offset) {
				t.Error("the port looks free")
			}
			r.port = port
			if err := r.writeConfig(); err != nil {
				t.Fatal(err)
			}
			if err := r.start(); !errors.Is(err, errTaken) {
				t.Errorf("start = %v, want %v", err, errTaken)
			}
		})
	}
}

// What cannot work is reported, and at once.
func TestBadConfigIsReported(t *testing.T) {
	r := newRedis(t, newSettings([]Option{Config("no-such-setting", "1")}))
	if err := r.launch(); err == nil || errors.Is(err, errTaken) {
		t.Errorf("launch = %v", err)
	}
}
