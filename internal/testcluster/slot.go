package testcluster

import "strings"

// slots is how many slots a Cluster has.
const slots = 16384

// slotOf returns the slot of a key: of its tag, if it has one in braces that is
// not empty.
func slotOf(key string) int {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	return int(crc16(key)) % slots
}

// crc16 is the checksum of the polynomial x¹⁶+x¹²+x⁵+1, as XMODEM has it.
func crc16(s string) uint16 {
	var crc uint16
	for i := range len(s) {
		crc ^= uint16(s[i]) << 8
		for range 8 {
			carry := crc>>15 == 1
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return crc
}
