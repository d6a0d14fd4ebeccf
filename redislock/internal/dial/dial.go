// Package dial makes clients of the servers that URLs name.
package dial

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/redis/rueidis"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/redislock/internal/redisurl"
)

// AnswerLimit is how long a request may take; one that is not answered by then ends
// its connection.
const AnswerLimit = 5 * time.Second

// A missed message about a failover is made up for within refreshEvery.
const (
	refreshEvery = 2 * time.Second
	bufferSize   = 64 << 10
)

// Client returns a client that is connected to what u names. Its errors say what
// is wrong, as [fencehold.ErrInvalid] where that is the URL; ctx bounds the
// connecting alone.
func Client(ctx context.Context, u *redisurl.URL) (rueidis.Client, error) {
	option, err := clientOption(u)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fencehold.ErrInvalid, err)
	}
	client, err := connect(ctx, option)
	if err != nil {
		return nil, unconnected(u, err)
	}
	return client, nil
}

// connect is [rueidis.NewClient], which knows no context.
func connect(ctx context.Context, option rueidis.ClientOption) (rueidis.Client, error) {
	type outcome struct {
		client rueidis.Client
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		client, err := rueidis.NewClient(option)
		done <- outcome{client, err}
	}()
	select {
	case o := <-done:
		return o.client, o.err
	case <-ctx.Done():
		go func() {
			if o := <-done; o.err == nil {
				o.client.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// clientOption turns a URL into the options of a client.
func clientOption(u *redisurl.URL) (rueidis.ClientOption, error) {
	password, sentinelPassword, err := u.Secrets()
	if err != nil {
		return rueidis.ClientOption{}, err
	}
	secure, err := u.TLSConfig()
	if err != nil {
		return rueidis.ClientOption{}, err
	}
	dialer := net.Dialer{Timeout: u.DialTimeout}
	option := rueidis.ClientOption{
		InitAddress: u.Addrs, SelectDB: u.DB, ClientName: u.ClientName,
		Username: u.Username, Password: password, TLSConfig: secure,
		Dialer: dialer, ConnWriteTimeout: AnswerLimit,
		// Requests are repeated by those who know what may be repeated.
		DisableRetry: true, DisableCache: true,
		// One connection: what is sent at the same moment travels together. And
		// always pipelined: else a context that ends takes the connection along.
		PipelineMultiplex: -1, AlwaysPipelining: true, ReadBufferEachConn: bufferSize, WriteBufferEachConn: bufferSize,
		ForceSingleClient: u.Mode == redisurl.Single,
	}
	switch {
	case u.Network == "unix":
		option.DialCtxFn = func(ctx context.Context, path string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return d.DialContext(ctx, "unix", path)
		}
	case u.Mode == redisurl.Sentinel:
		option.Sentinel = rueidis.SentinelOption{
			Dialer: dialer, TLSConfig: secure, MasterSet: u.Master, ClientName: u.ClientName,
			Username: u.SentinelUsername, Password: sentinelPassword, TopologyRefreshInterval: refreshEvery,
		}
	case u.Mode == redisurl.Cluster:
		option.ClusterOption.ShardsRefreshInterval = refreshEvery
	}
	return option, nil
}
