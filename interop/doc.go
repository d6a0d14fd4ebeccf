// Package interop has no code: its tests let fencehold and other libraries
// contend for the same keys of real Redis servers. They are a module of their
// own so that nobody who uses fencehold depends on those libraries.
package interop
