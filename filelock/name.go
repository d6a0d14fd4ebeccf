package filelock

import (
	"crypto/sha256"
	"encoding/hex"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	lockSuffix = ".lock"
	lineSuffix = ".line"
	// guardSuffix is used where a guard needs a file of its own.
	guardSuffix = ".guard"

	// maxFileName is the longest file name in bytes.
	maxFileName = 255
	// hashMark follows the beginning of a name that is too long. No escape
	// looks like it.
	hashMark = "%~"
	// longPrefix is how much of such a name is kept for people.
	longPrefix = 100
	// maxName is the longest name in bytes.
	maxName = 512
)

// checkName refuses what package driver does not allow for a name.
func checkName(name string) error {
	switch {
	case name == "":
		return invalid("lock name is empty")
	case len(name) > maxName:
		return invalid("lock name %.40q... has %d bytes: at most %d are allowed", name, len(name), maxName)
	case !utf8.ValidString(name):
		return invalid("lock name %q: must be valid UTF-8", name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return invalid("lock name %q: must not contain control characters", name)
	}
	return nil
}

// fileName returns the file name for a lock. Distinct names have distinct
// files, and plain names have the file that one would guess.
func fileName(name, suffix string) string {
	if escaped := escape(name); len(escaped)+len(guardSuffix) <= maxFileName {
		return escaped + suffix
	}
	sum := sha256.Sum256([]byte(name))
	return escape(name)[:longPrefix] + hashMark + hex.EncodeToString(sum[:]) + suffix
}

// escape writes every byte as %XX that is not a letter, a digit, "_", "-" or a
// dot inside the name; and capitals too where the file system takes them for
// small letters.
func escape(name string) string {
	if isPlain(name) {
		return name
	}
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; isPlainByte(c) && (c != '.' || i > 0) && (i > 0 || !isDevice(name)) {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
		}
	}
	return b.String()
}

// isPlain reports whether a name can be a file name as it is.
func isPlain(name string) bool {
	for i := range len(name) {
		if !isPlainByte(name[i]) {
			return false
		}
	}
	return !strings.HasPrefix(name, ".") && !isDevice(name)
}

// isPlainByte reports whether a byte needs no escape. It does where the file
// system takes capitals for small letters.
func isPlainByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		return true
	case 'A' <= c && c <= 'Z':
		return runtime.GOOS != "darwin" && runtime.GOOS != "windows"
	}
	return false
}

// isDevice reports whether Windows takes a file of this name for a device,
// whatever its suffix.
func isDevice(name string) bool {
	if runtime.GOOS != "windows" {
		return false
	}
	base, _, _ := strings.Cut(strings.ToLower(name), ".")
	switch base {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(base) == 4 && (base[:3] == "com" || base[:3] == "lpt") && '0' <= base[3] && base[3] <= '9'
}

// lockName returns the name that a lock file was made for. It is not known
// from the file name alone if it was too long.
func lockName(file string) (string, bool) {
	escaped, found := strings.CutSuffix(file, lockSuffix)
	if !found || escaped == "" || strings.Contains(escaped, hashMark) {
		return "", false
	}
	name, ok := unescape(escaped)
	if !ok || checkName(name) != nil || fileName(name, lockSuffix) != file {
		return "", false
	}
	return name, true
}

// unescape is the inverse of escape. It also takes what escape would not write.
func unescape(escaped string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(escaped); i++ {
		if escaped[i] != '%' {
			b.WriteByte(escaped[i])
			continue
		}
		if i+2 >= len(escaped) {
			return "", false
		}
		c, err := hex.DecodeString(escaped[i+1 : i+3])
		if err != nil {
			return "", false
		}
		b.Write(c)
		i += 2
	}
	return b.String(), true
}
