package lockdir

import "os"

// OpenDir opens a directory to be read.
func OpenDir(path string) (*os.File, error) { return os.Open(path) }
