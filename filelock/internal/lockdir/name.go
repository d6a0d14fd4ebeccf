package lockdir

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fencehold/fencehold"
)

const (
	// LockSuffix ends the name of a lock file.
	LockSuffix = ".lock"
	// lineSuffix ends the name of the directory of those who wait for a lock.
	lineSuffix = ".line"
	// guardSuffix is used where a guard needs a file of its own. It is the
	// longest.
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

// CheckName refuses what package driver does not allow for a name.
func CheckName(name string) error {
	rule := ""
	switch {
	case name == "":
		return fmt.Errorf("%w: lock name is empty", fencehold.ErrInvalid)
	case len(name) > maxName:
		return fmt.Errorf("%w: lock name %.40q... has %d bytes: at most %d are allowed",
			fencehold.ErrInvalid, name, len(name), maxName)
	case !utf8.ValidString(name):
		rule = "must be valid UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		rule = "must not contain control characters"
	default:
		return nil
	}
	return fmt.Errorf("%w: lock name %q: %s", fencehold.ErrInvalid, name, rule)
}

// LockPath returns the path of the lock file of name.
func (d *Dir) LockPath(name string) string {
	return d.path + string(filepath.Separator) + fileName(name)
}

// LinePath returns the path of the directory of those who wait for the lock
// whose file is at lockPath.
func (d *Dir) LinePath(lockPath string) string { return d.beside(lockPath, lineSuffix) }

// GuardPath returns the path of the guard of the lock file at lockPath, where
// it has one of its own.
func (d *Dir) GuardPath(lockPath string) string { return d.beside(lockPath, guardSuffix) }

// beside returns the path of what belongs to a lock file, in the state directory.
func (d *Dir) beside(lockPath, suffix string) string {
	file := strings.TrimSuffix(filepath.Base(lockPath), LockSuffix) + suffix
	return d.state + string(filepath.Separator) + file
}

// fileName returns the name of the lock file for a lock. Distinct names have
// distinct files, and plain names have the file that one would guess.
func fileName(name string) string {
	// Whether a name is too long must not depend on the suffix: all that
	// belongs to one lock has one name.
	if escaped := Escape(name); len(escaped)+len(guardSuffix) <= maxFileName {
		return escaped + LockSuffix
	}
	sum := sha256.Sum256([]byte(name))
	return Escape(name)[:longPrefix] + hashMark + hex.EncodeToString(sum[:]) + LockSuffix
}

// LockName returns the name that a lock file was made for. It is not known
// from the file name alone if it was too long.
func LockName(file string) (string, bool) {
	escaped, found := strings.CutSuffix(file, LockSuffix)
	if !found || escaped == "" || strings.Contains(escaped, hashMark) {
		return "", false
	}
	name, ok := Unescape(escaped)
	// Unescape also takes what Escape would not write. Such a file is nobody's
	// lock, since whoever asks for that name gets another file.
	if !ok || CheckName(name) != nil || fileName(name) != file {
		return "", false
	}
	return name, true
}
