package lockdir

import (
	"encoding/hex"
	"runtime"
	"strings"
)

// Escape writes every byte as %XX that is not a letter, a digit, "_", "-" or a
// dot inside the name; and capitals too where the file system takes them for
// small letters.
func Escape(name string) string {
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

// Unescape is the inverse of [Escape]. It also takes what Escape would not
// write, and reports false for what is no escape.
func Unescape(escaped string) (string, bool) {
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
