//go:build !unix

package testcluster

import (
	"errors"
	"os"
)

// freeze has no means here.
func freeze(*os.Process) error { return errors.ErrUnsupported }

// thaw has no means here.
func thaw(*os.Process) error { return errors.ErrUnsupported }
