# Everything runs on a machine where nothing is running yet, as any user; root
# too. PostgreSQL is found or started by cmd/cartdev/localpg.

# For the flags of one run: make test TESTFLAGS='-run Foreign -v'
TESTFLAGS ?=
FUZZTIME  ?= 10s
BENCHTIME ?= 3s

# The race detector needs a C compiler; without one, Go turns cgo off by itself.
RACE = $(if $(filter 1,$(shell go env CGO_ENABLED)),-race,$(warning no C compiler: testing without the race detector))

.PHONY: help run test check bench fuzz vuln

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Built, not `go run`: a signal to make then reaches cartdev itself.
run: ## run everything on this machine: database, authorization server, server
	@echo 'building cartdev … (a minute or two the first time)'
	@go build -o bin/cartdev ./cmd/cartdev && exec bin/cartdev

# -count=1: tests that start programs or databases see more than Go's test cache
# knows of.
test: ## run every test, with a database of its own
	go test $(RACE) -count=1 -timeout 10m $(TESTFLAGS) ./...

check: ## formatting, vet, staticcheck, import rule, module files
	@unformatted=$$(gofmt -l .) && [ -z "$$unformatted" ] || { echo "gofmt: $$unformatted"; exit 1; }
	go vet ./...
	go tool staticcheck ./...
	go test -count=1 -run '^TestImports' .
	go mod verify
	go mod tidy -diff

# A directory has the target's name.
.PHONY: conformance
conformance: conformance/node_modules/.package-lock.json ## run the official MCP conformance suite (needs npm)
	go vet -tags conformance ./server/
	go test -tags conformance -count=1 -v -run Conform $(TESTFLAGS) ./server/

# The suite needs a newer Node.js than many systems have, so that is among the
# packages.
conformance/node_modules/.package-lock.json: conformance/package-lock.json
	cd conformance && npm ci --no-audit --no-fund
	@touch $@

.PHONY: e2e
e2e: e2e/node_modules/.package-lock.json ## run real clients against the server (needs npm and Chromium)
	go vet -tags e2e ./e2e/
	go test -tags e2e -count=1 -timeout 10m $(TESTFLAGS) ./e2e/

e2e/node_modules/.package-lock.json: e2e/package-lock.json
	cd e2e && npm ci --no-audit --no-fund
	@touch $@

bench: ## measure the gate, the sealer, and the server against a bare handler and pgbench
	go test -run '^$$' -bench . -benchtime $(BENCHTIME) $(TESTFLAGS) ./server/ ./requeststate/ ./cmd/cartd/

# Each fuzz target runs by itself, as Go wants it. Its inputs that failed are
# kept in testdata/fuzz: commit them.
fuzz: ## run every fuzz target for FUZZTIME (10s)
	@set -e; \
	listed=$$(go test -list '^Fuzz' ./...); \
	targets=$$(echo "$$listed" | awk '/^Fuzz/ { name[++n] = $$1 } /^ok/ { for (i = 1; i <= n; i++) print $$2 ":" name[i]; n = 0 }'); \
	for target in $$targets; do \
		echo "$${target##*:} ($${target%:*})"; \
		go test -run '^$$' -fuzz "^$${target##*:}$$" -fuzztime $(FUZZTIME) "$${target%:*}"; \
	done

vuln: ## ask the Go vulnerability database about the dependencies (needs the internet)
	go tool govulncheck ./...
