package dial

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/redislock/internal/redisurl"
	"github.com/fencehold/fencehold/redislock/internal/refusal"
)

// unconnected explains why there is no connection to what a URL names. A
// database that the server does not have is a mistake in the URL.
func unconnected(u *redisurl.URL, err error) error {
	err = refusal.OfClient(err)
	if refusal.Answered(err) {
		if err = refusal.Explain(err); refusal.Code(err) == refusal.OutOfRange {
			return fmt.Errorf("%w: database %d: %w", fencehold.ErrInvalid, u.DB, err)
		}
		return err
	}
	if hint := hintOf(u, err); hint != "" {
		err = fmt.Errorf("%w (%s)", err, hint)
	}
	if !namesAddress(err) {
		err = fmt.Errorf("%s: %w", strings.Join(u.Addrs, ","), err)
	}
	return err
}

// hintOf asks about TLS where one side may speak it and the other not.
func hintOf(u *redisurl.URL, err error) string {
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	cut := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
	switch {
	case u.TLS && (plain || cut):
		return "does this port speak TLS? redis:// is without"
	case !u.TLS && cut && u.Network == "tcp":
		return "does this port speak TLS? rediss:// is with it"
	}
	return ""
}

// namesAddress tells whether an error says with whom there is no connection.
func namesAddress(err error) bool {
	e, ok := errors.AsType[*net.OpError](err)
	return ok && e.Addr != nil
}
