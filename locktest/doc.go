// Package locktest is the contract of package driver as tests: what it does
// not check is not promised. A backend's test is one call of [Run] with a
// function that opens fresh connections to one service.
//
// Every test uses names of its own, so that all of them may share the
// service, and the smallest times that the backend takes. Tests of promises
// that a backend does not make check that it refuses instead. With the
// environment variable FENCEHOLD_CONFORMANCE=full the numbers of repetitions
// are ten times larger.
package locktest
