# Everything that is built, checked and released. `make` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

MODULES := shared core extensions clients/go release test
# Pins the programs below bin/ that make uses; it is no part of go.work.
TOOL_MODULE := release/tools
# Renders the chart with Helm's library; no part of go.work either, see its go.mod.
HELM_MODULE := release/helm
ROOT := $(CURDIR)
BIN := $(ROOT)/bin
# What make generate runs.
GENERATORS := $(addprefix $(BIN)/,controller-gen protoc-gen-go protoc-gen-go-grpc)

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo v0.0.0-dev)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
# The date of the commit, so that the same sources give the same bytes.
DATE ?= $(shell git log -1 --format=%cI 2>/dev/null || echo unknown)
VERSION_PACKAGE := sigs.k8s.io/agent-sandbox/shared/version
LDFLAGS := -s -w -X $(VERSION_PACKAGE).gitVersion=$(VERSION) -X $(VERSION_PACKAGE).gitCommit=$(COMMIT) -X $(VERSION_PACKAGE).buildDate=$(DATE)

# The flags of the Kubernetes build, so that what everything has in common is compiled once.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(filter-out -trimpath,$(shell go env GOFLAGS)) -trimpath)

# Where images are, and their tag. Empty: what the commands have by default.
TO ?=
TAG ?=
IMAGE_NAME = $(if $(TO),--image-prefix $(TO)) $(if $(TAG),--tag $(TAG))
DIGESTS ?=

# The race detector needs a C compiler.
RACE := $(if $(shell command -v "$$(go env CC | cut -d' ' -f1)"),-race)
GO_TEST := $(if $(RACE),CGO_ENABLED=1) go test $(RACE) -timeout=20m
# A run inside a run adds its rows to the table of the outermost.
STEPS := go run ./release/cmd/steps
ARGS ?=
# The simulation: schedules at least, seconds at least, and the seed to begin with.
N ?= 20000
FOR ?= 180s
SEED ?= 1
# Every fuzz target of the core, as package:FuzzName, and for how long each is fed.
FUZZ_TARGETS = $(shell grep -rHoE '^func Fuzz[A-Za-z0-9_]+' --include='*_test.go' core | sed -E 's|/[^/:]+:func |:|' | sort)
FUZZ_FOR ?= 20s
FUZZ_STEPS = $(foreach target,$(FUZZ_TARGETS),"$(lastword $(subst :, ,$(target)))=go test -run '^$$' -fuzz '^$(lastword $(subst :, ,$(target)))$$' -fuzztime $(FUZZ_FOR) ./$(firstword $(subst :, ,$(target)))")
# Verbose, so that what is skipped is seen.
NODE_TEST = cd test && go test -count=1 -timeout=60m -v -tags=node ./node/...
SIM = cd test && go test -count=1 -timeout=0 ./sim -run TestSchedules -v -args -schedules=$(N) -for=$(FOR) -first=$(SEED)

##@ Use

.PHONY: demo
demo: render build ## Show what sandboxes are, on a local control plane. ARGS="..." goes to the demo (ARGS=--help).
	@go build -o $(BIN)/demo ./test/cmd/demo
	@$(BIN)/demo $(ARGS)

.PHONY: plugin
plugin: ## Build bin/kubectl-sandbox, the plugin of kubectl: with bin/ in PATH, `kubectl sandbox` finds it.
	go build -ldflags "-s -w" -o $(BIN)/kubectl-sandbox ./clients/go/cmd/kubectl-sandbox

.PHONY: preflight
preflight: ## Tell what stands in the way of installing this on your cluster. ARGS="..." goes to preflight (ARGS=--help).
	@go build -o $(BIN)/preflight ./release/cmd/preflight
	@$(BIN)/preflight $(ARGS)

.PHONY: up
up: $(BIN)/devcluster ## Start a local control plane, print how to reach it. ARGS="..." goes to devcluster.
	@$(BIN)/devcluster up $(ARGS)

.PHONY: down
down: $(BIN)/devcluster ## Stop the local control plane.
	$(BIN)/devcluster down $(ARGS)

##@ Test

.PHONY: test
test: race-warning $(BIN)/devcluster ## Run every test of every module, the last ones on a control plane of their own.
	assets="$$($(BIN)/devcluster assets)"; export KUBEBUILDER_ASSETS="$$assets"; \
	$(STEPS) $(foreach module,$(MODULES),"$(module)=cd $(module) && $(GO_TEST) ./...") \
	  "chart=cd $(HELM_MODULE) && GOWORK=off go test ./..." "fuzz=$(MAKE) fuzz" \
	  "simulation=$(SIM)" "e2e=cd test && $(GO_TEST) -count=1 -tags=e2e ./e2e/..." "node=$(NODE_TEST)"

.PHONY: fuzz
fuzz: ## Feed what clients send to every fuzz target of the core, FUZZ_FOR=20s each.
	$(STEPS) $(FUZZ_STEPS)

.PHONY: test-chart
test-chart: ## Run the tests of the Helm chart.
	cd $(HELM_MODULE) && GOWORK=off go test ./... $(ARGS)

.PHONY: test-integration
test-integration: race-warning $(BIN)/devcluster ## Run the tests against a real API server.
	assets="$$($(BIN)/devcluster assets)"; export KUBEBUILDER_ASSETS="$$assets"; \
	cd test && $(GO_TEST) $(ARGS) ./integration/...

.PHONY: test-e2e
test-e2e: race-warning ## Run the end-to-end tests on a cluster of their own, or on that of ARGS="--kubeconfig=/a/file".
	cd test && $(GO_TEST) -count=1 -tags=e2e ./e2e/... $(ARGS)

.PHONY: test-node
test-node: ## Test the release as it ships on a node that runs containers (root; skipped, loudly, where there can be none).
	$(NODE_TEST) $(ARGS)

.PHONY: sim
sim: ## Simulate the controllers against faults, crashes and two leaders: N=1000000 schedules from SEED=1 on.
	$(SIM)

.PHONY: bench
bench: $(BIN)/devcluster ## Measure. ARGS="..." goes to the benchmark.
	go build -o $(BIN)/bench ./test/bench
	$(BIN)/bench $(ARGS)

.PHONY: chaos
chaos: ## Kill controllers while 300 Sandboxes are at work (ARGS="--subject claims": 1000 claims), and check every object.
	go build -o $(BIN)/chaos ./test/cmd/chaos
	$(BIN)/chaos $(ARGS)

.PHONY: race-warning
race-warning:
	$(if $(RACE),@true,@echo "WARNING: no C compiler ($$(go env CC)): tests run WITHOUT the race detector" >&2)

##@ Change

.PHONY: generate
generate: $(GENERATORS) ## Write deepcopy functions, CRDs and roles, the code of gRPC APIs, what the Helm chart takes of them, and the tables and screens of docs/.
	go run ./release/cmd/generate
	go run ./test/cmd/reference
	cd clients/go && go test -count=1 ./internal/plugin/screen -run TestTheScreensOfTheDocument -update

.PHONY: golden
golden: ## Accept the rendered assets as the golden copies in release/testdata.
	go run ./release/cmd/render --output release/testdata

.PHONY: format
format: $(BIN)/golangci-lint ## Format all Go code.
	$(foreach module,$(MODULES),cd $(ROOT)/$(module) && $(BIN)/golangci-lint fmt ./...;)
	cd $(HELM_MODULE) && GOWORK=off $(BIN)/golangci-lint fmt ./...

.PHONY: tidy
tidy: ## Tidy every go.mod.
	$(foreach module,$(MODULES) $(HELM_MODULE) $(TOOL_MODULE),cd $(ROOT)/$(module) && GOWORK=off go mod tidy;)

##@ Check

# Steps of verify: name=command, once for each module.
TIDY_STEPS = $(foreach module,$(MODULES) $(HELM_MODULE) $(TOOL_MODULE),"tidy $(module)=cd $(module) && GOWORK=off go mod tidy -diff")
BUILD_STEPS = $(foreach module,$(MODULES) $(HELM_MODULE),"build $(module)=cd $(module) && GOWORK=off go build ./... && GOWORK=off go vet ./...")
GENERATED := ':(glob)**/zz_generated.*.go' ':(glob)**/*.pb.go' ':(glob)kustomize/base/*/crd/*_*.yaml' ':(glob)kustomize/base/*/rbac/role.yaml' \
  ':(glob)release/chart/files/**' release/chart/README.md docs/api.md docs/configuration.md docs/metrics.md docs/kubectl-plugin.md

# One run over all modules reads their common dependencies once.
.PHONY: lint
lint: $(BIN)/golangci-lint ## Lint every module, formatting included, and the linter's own configuration.
	$(STEPS) \
	  "linter works=go run ./release/cmd/verify linter" \
	  "lint=$(BIN)/golangci-lint run $(MODULES:%=./%/...)" \
	  "lint $(HELM_MODULE)=cd $(HELM_MODULE) && GOWORK=off $(BIN)/golangci-lint run ./..."

.PHONY: verify
verify: ## Check that generated files, formatting, modules, lint and assets are as they should be.
	$(STEPS) \
	  "tools=$(MAKE) tools" \
	  "generated=$(MAKE) verify-generated" \
	  "imports=go run ./release/cmd/verify imports" \
	  "faults=go run ./release/cmd/verify faults" \
	  "threats=go run ./release/cmd/verify threats" \
	  "commands=go run ./release/cmd/verify commands" \
	  "versions=go run ./release/cmd/verify versions $(MODULES)" \
	  $(TIDY_STEPS) $(BUILD_STEPS) \
	  "lint=$(MAKE) lint" \
	  "golden=go run ./release/cmd/render --check" \
	  "render=$(MAKE) render" \
	  "assets=go run ./release/cmd/verify assets dist/*.yaml"

.PHONY: ci
ci: ## Check and test, as for every change, and say where the time went.
	@$(STEPS) "verify=$(MAKE) verify" "test=$(MAKE) test"

.PHONY: verify-generated
verify-generated: generate ## Fail if generated files differ from what is committed.
	changed="$$(git status --porcelain --untracked-files=all -- $(GENERATED))"; \
	if [ -n "$$changed" ]; then git --no-pager diff -- $(GENERATED); echo "generated files to commit:"; echo "$$changed"; exit 1; fi

##@ Release

.PHONY: build
build: ## Build the programs of the release into bin/, static and reproducible.
	go build -ldflags "$(LDFLAGS)" -o $(BIN)/agent-sandbox-controller ./core/cmd/controller
	go build -ldflags "$(LDFLAGS)" -o $(BIN)/agent-sandbox-extensions-controller ./extensions/cmd/controller
	go build -ldflags "$(LDFLAGS)" -o $(BIN)/sandbox-router ./core/cmd/router
	go build -ldflags "$(LDFLAGS)" -o $(BIN)/sandboxd ./core/cmd/sandboxd

.PHONY: images
images: ## Build dist/images/: an archive of each image, and digests.json. TO=example.com/team and TAG=v1.2.3 name them.
	go run ./release/cmd/images build --version "$(VERSION)" --commit "$(COMMIT)" --date "$(DATE)" $(IMAGE_NAME) $(ARGS)

.PHONY: push
push: ## Push dist/images/ to TO=example.com/team. TAG=v1.2.3 gives another tag than that of the build.
	go run ./release/cmd/images push --to "$(TO)" $(if $(TAG),--tag $(TAG)) $(ARGS)

.PHONY: tag
tag: ## Release the Go modules as TAG=v1.2.3: the versions that they require of each other, a commit and its tags. Pushes nothing.
	go run ./release/cmd/tag $(TAG)

.PHONY: template
template: ## Print what the Helm chart installs, without Helm. ARGS="--set extensions.enabled=true" and more (ARGS=--help).
	@cd $(HELM_MODULE) && GOWORK=off go run ./cmd/template $(ARGS)

.PHONY: render
render: ## Write the release assets to dist/, with the images of TO and TAG. DIGESTS=dist/images/digests.json pins them.
	rm -f dist/*.yaml
	go run ./release/cmd/render --output dist $(IMAGE_NAME) $(if $(DIGESTS),--digests $(DIGESTS))

##@ Other

.PHONY: tools
tools: $(GENERATORS) $(BIN)/golangci-lint ## Build the pinned tools into bin/.

# A tool is built again only if its pinned version changes.
$(BIN)/controller-gen: $(TOOL_MODULE)/go.mod
	cd $(TOOL_MODULE) && GOWORK=off go build -o $@ sigs.k8s.io/controller-tools/cmd/controller-gen

$(BIN)/protoc-gen-go: $(TOOL_MODULE)/go.mod
	cd $(TOOL_MODULE) && GOWORK=off go build -o $@ google.golang.org/protobuf/cmd/protoc-gen-go

$(BIN)/protoc-gen-go-grpc: $(TOOL_MODULE)/go.mod
	cd $(TOOL_MODULE) && GOWORK=off go build -o $@ google.golang.org/grpc/cmd/protoc-gen-go-grpc

$(BIN)/golangci-lint: $(TOOL_MODULE)/go.mod
	cd $(TOOL_MODULE) && GOWORK=off go build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# The go command knows whether it is up to date.
.PHONY: $(BIN)/devcluster
$(BIN)/devcluster:
	go build -o $@ ./test/cmd/devcluster

.PHONY: clean
clean: ## Stop all local control planes and remove everything that was built.
	if [ -x $(BIN)/devcluster ]; then $(BIN)/devcluster down --all; fi
	rm -rf bin dist

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' Makefile
