package driver

import "crypto/rand"

// NewHolder returns a random id of 26 letters and digits, at least 128 bits.
func NewHolder() string { return rand.Text() }
