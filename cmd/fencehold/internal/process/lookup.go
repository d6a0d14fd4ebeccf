//go:build unix

package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A LookupError says why a command cannot be run. Its Err is
// [fs.ErrNotExist] or [fs.ErrPermission].
type LookupError struct {
	// Name is the command as it was given.
	Name string
	// Text is what a shell would say.
	Text string
	// Err is the class of the failure.
	Err error
}

// Error reads as the message of a shell.
func (e *LookupError) Error() string { return e.Name + ": " + e.Text }

// Unwrap returns e.Err.
func (e *LookupError) Unwrap() error { return e.Err }

// SearchPath is where this process looks for commands. Without PATH these are
// the directories of the system, as for a shell, and not the current one.
func SearchPath() string {
	if path, ok := os.LookupEnv("PATH"); ok {
		return path
	}
	return "/bin:/usr/bin"
}

// Lookup finds the file that a shell would run for name with this search
// path. An empty element of path is the current directory.
func Lookup(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, executable(name)
	}
	var refused error
	if name != "" {
		for dir := range strings.SplitSeq(path, ":") {
			file := filepath.Join(dir, name)
			if !strings.Contains(file, "/") {
				file = "./" + file
			}
			err := executable(file)
			if err == nil {
				return file, nil
			}
			// A later directory may still have one that can be executed, as for a shell.
			if refused == nil && errors.Is(err, fs.ErrPermission) {
				refused = err
			}
		}
	}
	if refused != nil {
		return "", refused
	}
	return "", &LookupError{name, "command not found", fs.ErrNotExist}
}

// executable reports why a file cannot be executed, with this process's effective
// rights.
func executable(file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return &LookupError{file, "No such file or directory", fs.ErrNotExist}
	case err != nil:
		return &LookupError{file, "Permission denied", fs.ErrPermission}
	case info.IsDir():
		return &LookupError{file, "Is a directory", fs.ErrPermission}
	case unix.Faccessat(unix.AT_FDCWD, file, unix.X_OK, unix.AT_EACCESS) != nil:
		return &LookupError{file, "Permission denied", fs.ErrPermission}
	}
	return nil
}
