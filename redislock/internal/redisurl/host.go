package redisurl

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// parseHosts reads HOST[:PORT],... in the order given. The addresses are in lower
// case and have a port each.
func parseHosts(list, defaultPort string) ([]string, error) {
	entries := strings.Split(list, ",")
	addrs := make([]string, 0, len(entries))
	for i, entry := range entries {
		part := fmt.Sprintf("host %d of %d", i+1, len(entries))
		addr, err := parseHost(part, entry, defaultPort)
		if err != nil {
			return nil, err
		}
		if first := slices.Index(addrs, addr); first >= 0 {
			return nil, refuse(part, fmt.Sprintf("the same as host %d", first+1))
		}
		addrs = append(addrs, addr)
	}
	return addrs, nil
}

// parseHost reads one entry of the list.
func parseHost(part, entry, defaultPort string) (string, error) {
	if entry == "" {
		return "", refuse(part, "empty: want HOST or HOST:PORT")
	}
	host, port, err := splitPort(part, entry)
	if err != nil {
		return "", err
	}
	if port == "" {
		return net.JoinHostPort(host, defaultPort), nil
	}
	n, err := strconv.ParseUint(port[1:], 10, 16)
	if err != nil || n == 0 {
		return "", refuse(part, "the port must be a number from 1 to 65535")
	}
	return net.JoinHostPort(host, strconv.FormatUint(n, 10)), nil
}

// splitPort returns the checked host of an entry, and its port with the colon, or
// nothing.
func splitPort(part, entry string) (host, port string, err error) {
	if strings.HasPrefix(entry, "[") {
		return splitBrackets(part, entry)
	}
	if strings.Count(entry, ":") > 1 {
		return "", "", refuse(part, "an IPv6 address stands in brackets")
	}
	if i := strings.IndexByte(entry, ':'); i >= 0 {
		entry, port = entry[:i], entry[i:]
	}
	if !isHostName(entry) {
		return "", "", refuse(part, "must be a host name of letters, digits, dots and hyphens, or an IP address")
	}
	return strings.ToLower(entry), port, nil
}

// splitBrackets is splitPort for an IPv6 address. Its zone is written %25ZONE.
func splitBrackets(part, entry string) (host, port string, err error) {
	text, port, closed := strings.Cut(entry[1:], "]")
	if !closed || port != "" && port[0] != ':' {
		return "", "", refuse(part, "want [ADDRESS] or [ADDRESS]:PORT")
	}
	text, err = decode(part, text)
	if err != nil {
		return "", "", err
	}
	addr, err := netip.ParseAddr(text)
	if err != nil || !addr.Is6() || addr.Zone() != "" && !onlyOf(addr.Zone(), letters+digits+"-_.") {
		return "", "", refuse(part, "what stands in brackets must be an IPv6 address")
	}
	return addr.String(), port, nil
}

// isHostName says whether s is the name of a host or an IPv4 address. Names of
// containers may have an underscore. A name with a last label of digits alone
// could only be an address (https://url.spec.whatwg.org/#ends-in-a-number-checker).
func isHostName(s string) bool {
	if len(s) > 253 {
		return false
	}
	labels := strings.Split(strings.TrimSuffix(s, "."), ".")
	for _, label := range labels {
		if len(label) > 63 || !onlyOf(label, letters+digits+"-_") {
			return false
		}
	}
	if onlyOf(labels[len(labels)-1], digits) {
		_, err := netip.ParseAddr(s)
		return err == nil
	}
	return true
}
