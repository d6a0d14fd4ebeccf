package redisurl

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// maxSecret is how many bytes a password file may have, its newline included.
const maxSecret = 4096

// Secrets returns the two passwords, empty where there is none. It reads the
// files that hold them, each time anew, and takes one newline off their end. A
// file must be a regular one of 4096 bytes at most and not empty. The errors name
// option and file.
func (u *URL) Secrets() (password, sentinelPassword string, err error) {
	password, err = secret(u.Password, "password_file", u.PasswordFile)
	if err != nil {
		return "", "", err
	}
	sentinelPassword, err = secret(u.SentinelPassword, "sentinel_password_file", u.SentinelPasswordFile)
	if err != nil {
		return "", "", err
	}
	return password, sentinelPassword, nil
}

// secret returns the password of the URL, or the one in the file of the option.
func secret(inURL, option, path string) (string, error) {
	if path == "" {
		return inURL, nil
	}
	text, err := readSecret(path)
	if err == nil && text == "" {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("has no password")}
	}
	if err != nil {
		return "", fmt.Errorf("option %s: %w", option, err)
	}
	return text, nil
}

func readSecret(path string) (string, error) {
	// Before it is opened: to open a pipe would wait for its writer.
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", &fs.PathError{Op: "open", Path: path, Err: errors.New("must be a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", err
	}
	if len(content) > maxSecret {
		return "", &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("must have %d bytes at most", maxSecret)}
	}
	return withoutNewline(string(content)), nil
}

// withoutNewline takes one newline, of Unix or Windows, off the end.
func withoutNewline(s string) string {
	if line, found := strings.CutSuffix(s, "\n"); found {
		return strings.TrimSuffix(line, "\r")
	}
	return s
}
