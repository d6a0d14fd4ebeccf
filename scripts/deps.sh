#!/bin/sh
# Prints every module that each module of the workspace needs, so that a new
# one shows in a review.
set -eu

for dir in $(go list -m -f '{{.Dir}}'); do
	(
		cd "$dir"
		name=$(GOWORK=off go list -m)
		GOWORK=off go list -m -f '{{if not .Main}}{{.Path}} {{if .Replace}}(in this repository){{else}}{{.Version}}{{end}}{{end}}' all |
			sed -n "s|^..*|$name: &|p"
	)
done | LC_ALL=C sort
