#!/bin/sh
# Runs the tests of every module, or of PACKAGES, with the given flags of go
# test, and anew each time. A skipped test is a failure: it hides something that
# is missing.
set -eu

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
# shellcheck disable=SC2086
go test -v -count=1 -timeout 15m "$@" ${PACKAGES:-work} >"$log" 2>&1 || status=$?
if [ "$status" -ne 0 ]; then
	grep -v -E '^(=== (RUN|PAUSE|CONT|NAME)|[[:space:]]*--- PASS|PASS$)' "$log" || true
	echo "tests failed" >&2
	exit "$status"
fi
grep -E '^(ok|FAIL|---|\?)[[:space:]]' "$log" | grep -E '^(ok|FAIL)' || true
if grep -E '^[[:space:]]*--- SKIP' "$log" >&2; then
	echo "tests were skipped, which is a failure here" >&2
	exit 1
fi
printf '%s passed, 0 failed\n' "$(grep -c -E '^[[:space:]]*--- PASS' "$log")"
