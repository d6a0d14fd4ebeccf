package redislock

import "github.com/redis/rueidis"

// ConnOf is the [Conn] that [New] makes of a client; closing it closes the
// client.
func ConnOf(client rueidis.Client) Conn { return &rueidisConn{client: client, owned: true} }
