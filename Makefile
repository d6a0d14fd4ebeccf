# One entry for everything; .ci/run calls the same targets.
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
MODULES   = $(shell go list -m -f '{{.Dir}}')
SUITES    = ./memlock ./filelock ./redislock ./redislock/internal/model ./redislock/goredislock ./redislock/redlock \
            ./redislock/redlock/internal/model ./redislock/redlock/internal/sim ./interop
DURATION ?= 10m
EACH      = set -e; for dir in $(MODULES); do echo "== $${dir\#$(CURDIR)}/"; cd $$dir;

.PHONY: help build lint test conformance bench bench-peers bench-redlock soak tidy deps check setup
help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the command into bin/
	CGO_ENABLED=0 go build -trimpath -o bin/fencehold ./cmd/fencehold

lint: ## run the linters over every module
	@$(EACH) go run $(GOLANGCI) run --config $(CURDIR)/.golangci.yml ./...; done

setup: ## install what the tests need from Debian packages, or say what is missing
	@scripts/setup.sh

test: setup ## run all tests with the race detector; a skipped test is a failure
	@scripts/test.sh -race

conformance: setup ## run the conformance suites with all repetitions
	@FENCEHOLD_CONFORMANCE=full PACKAGES="$(SUITES)" scripts/test.sh

bench: ## run the benchmarks
	go test -run '^$$' -bench . -benchmem work

bench-peers: setup ## measure beside other libraries, on one server and on five
	go run ./bench/cmd/peers
	go run ./bench/cmd/peers -redlock

bench-redlock: setup ## measure Redlock beside redsync, on five servers
	go run ./bench/cmd/peers -redlock

soak: setup ## contend under random faults for DURATION, by default 10m
	go run ./bench/cmd/soak -duration $(DURATION)

tidy: ## tidy every go.mod
	@$(EACH) go mod tidy; done

deps: ## write deps.txt: every module that each module needs
	@scripts/deps.sh >deps.txt

check: ## check what CI demands beyond lint and test
	@scripts/check.sh
