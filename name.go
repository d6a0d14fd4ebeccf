package fencehold

import (
	"unicode"
	"unicode/utf8"
)

// maxName is the longest name in bytes, on every backend.
const maxName = 512

// maxOwner and maxLabels bound what a holder says of itself, in bytes, so that
// it fits where a service keeps it.
const (
	maxOwner  = 256
	maxLabels = 1024
	maxReason = 256

	// labelCost is what keeping a label takes besides its text.
	labelCost = 6
)

// checkName is the one rule for names: 1 to 512 bytes of valid UTF-8 without
// control characters. Names that differ in a byte are different locks.
func checkName(name string) error {
	switch {
	case name == "":
		return invalid("lock name is empty")
	case len(name) > maxName:
		return invalid("lock name of %d bytes: at most %d are allowed", len(name), maxName)
	}
	return checkText("lock name", name)
}

// checkText refuses what cannot be shown on one line.
func checkText(what, s string) error {
	if !utf8.ValidString(s) {
		return invalid("%s %q: must be valid UTF-8", what, s)
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return invalid("%s %q: control characters are not allowed", what, s)
		}
	}
	return nil
}

func checkOwner(owner string) error {
	if owner == "" || len(owner) > maxOwner {
		return invalid("owner of %d bytes: must have 1 to %d", len(owner), maxOwner)
	}
	return checkText("owner", owner)
}

func checkReason(why string) error {
	if len(why) > maxReason {
		return invalid("reason of %d bytes: at most %d are allowed", len(why), maxReason)
	}
	return checkText("reason", why)
}

func checkLabels(labels map[string]string) error {
	size := 0
	for key, value := range labels {
		if key == "" {
			return invalid("label with an empty key (value %q)", value)
		}
		if err := checkText("label", key+"="+value); err != nil {
			return err
		}
		size += len(key) + len(value) + labelCost
	}
	if size > maxLabels {
		return invalid("labels of %d bytes, with %d for each: at most %d are allowed together", size, labelCost, maxLabels)
	}
	return nil
}
