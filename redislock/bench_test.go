package redislock_test

import (
	"context"
	"testing"

	"github.com/redis/rueidis"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/locktest"
)

func BenchmarkSingle(b *testing.B) {
	server := testcluster.StartRedis(b)
	locktest.Bench(b, func(b *testing.B) driver.Backend { return openBackend(b, server.URL()) })
}

// BenchmarkRaw is the least that a lock can cost with the same client: SET NX PX
// and a script that compares and deletes.
func BenchmarkRaw(b *testing.B) {
	server := testcluster.StartRedis(b)
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{server.Addr()}, DisableCache: true, DisableRetry: true, PipelineMultiplex: -1,
		AlwaysPipelining: true, ForceSingleClient: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	release := rueidis.NewLuaScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end`)
	ctx := context.Background()
	for b.Loop() {
		value := driver.NewHolder()
		if err := client.Do(ctx, client.B().Set().Key("raw").Value(value).Nx().PxMilliseconds(30_000).Build()).Error(); err != nil {
			b.Fatal(err)
		}
		if err := release.Exec(ctx, client, []string{"raw"}, []string{value}).Error(); err != nil {
			b.Fatal(err)
		}
	}
}
