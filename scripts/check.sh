#!/bin/sh
# Checks that go.mod files are tidy, that deps.txt is current, that the root
# module needs nothing but golang.org/x/sys, that every module builds outside
# of the workspace, and that the code compiles for the other systems.
set -eu

fail() {
	echo "check: $1" >&2
	exit 1
}

for dir in $(go list -m -f '{{.Dir}}'); do
	(
		cd "$dir"
		GOWORK=off go mod tidy -diff >/dev/null || fail "go.mod of $(go list -m) is not tidy: run make tidy"
		GOWORK=off go build -o /dev/null ./... || fail "$(go list -m) does not build by itself"
		for os in darwin windows; do
			# The command is for Linux and macOS.
			case $os:$dir in windows:*/cmd/*) continue ;; esac
			GOOS=$os go vet ./... || fail "$(go list -m) does not compile for $os"
		done
	)
done

scripts/deps.sh | diff -u deps.txt - || fail "deps.txt is out of date: run make deps"

others=$(GOWORK=off go list -m all | grep -v -E '^(github.com/fencehold/fencehold|golang.org/x/sys .*)$' || true)
[ -z "$others" ] || fail "the root module needs more than golang.org/x/sys: $others"
