# make help lists the targets. Each target builds what it needs. You only need Go, git and make.

GO ?= go
# The race detector needs a C compiler. go env reports whether there is one. Everything else is built and
# tested without C, as in releases. It also links faster.
ifndef WITH_C
WITH_C := $(shell $(GO) env CGO_ENABLED)
endif
DETECTOR := $(if $(filter 1,$(WITH_C)),-race)
export WITH_C
export CGO_ENABLED := 0
RACE ?= # 1: make test with the race detector, which takes twice as long
LINKED := -ldflags '-s -w' # tests without debug information link in half the time
RELEASE ?= $(shell git describe --tags --always --dirty 2>/dev/null)
MODULE_PATH := $(shell sed -n 's/^module //p' go.mod)
LDFLAGS := -s -w -X $(MODULE_PATH)/cli/version.release=$(RELEASE)
GORELEASER := github.com/goreleaser/goreleaser/v2@v2.16.0
# The last version of Hugo for Go 1.26.
HUGO := github.com/gohugoio/hugo@v0.165.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FORMATTED := test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run gofmt -w on these'; exit 1; }
PREFIX ?= $(HOME)/.local

# ./... does not include packages in testdata.
HELPERS := ./testdata/testenv ./testdata/bench ./testdata/chaos ./testdata/demo ./testdata/home ./testdata/library ./testdata/processor ./testdata/program ./testdata/race ./testdata/readme
# Packages with slow tests, the slowest first. They start before the quick packages, which shortens the whole run.
SLOW := ./testdata/program ./watcher/recording ./testdata/chaos ./watcher ./testdata/testenv ./testdata/home
NATS_SOURCES := $(wildcard testdata/nats/*.go) testdata/nats/go.mod testdata/nats/go.sum
KAFKA_SOURCES := $(wildcard testdata/kafka/*.go) testdata/kafka/go.mod testdata/kafka/go.sum
# Build tags. Releases have the tag kafka.
TAGS ?=
CLUSTER_SOURCES := $(wildcard testdata/cluster/*.go) testdata/cluster/go.mod testdata/cluster/go.sum

# Without debug information and inlining, most packages compile in half the time. The standard library is compiled with
# the usual flags, so that other builds can share it.
QUICK := -l -dwarf=false
# In the test cluster, these packages are compiled quickly, because only the server uses them or they move no data. All
# other packages are optimized. kubectl, which make bench measures, shares them. The dwatch of the demo uses the same
# flags and versions, so that most of its packages are compiled only once.
SERVER_ONLY := k8s.io/kubernetes k8s.io/apiserver k8s.io/apiextensions-apiserver k8s.io/kube-aggregator \
	go.etcd.io google.golang.org/grpc go.opentelemetry.io github.com/google \
	$(addprefix k8s.io/client-go/,applyconfigurations informers kubernetes listers)
AS_IN_CLUSTER := export GOFLAGS="$$($(GO) env GOFLAGS) -gcflags=all=-dwarf=false -gcflags=std= \
	$(foreach part,$(SERVER_ONLY),'-gcflags=$(part)/...=$(QUICK)')" &&
IN_CLUSTER := cd testdata/cluster && $(AS_IN_CLUSTER)
QUICKLY := '-gcflags=$(MODULE_PATH)/...=$(QUICK)'

# The build script prints its progress.
BUILD := GO='$(GO)' sh '$(CURDIR)/testdata/demo/build.sh'

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z\/]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/dwatch, a static binary; TAGS=kafka adds Kafka
	$(GO) build -trimpath -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o bin/dwatch .

bin/cluster: $(CLUSTER_SOURCES) ## build the test cluster; takes minutes the first time
	@$(IN_CLUSTER) $(BUILD) 'the test cluster, a whole API server' '$(CURDIR)/bin/cluster'
	@touch bin/cluster

bin/nats: $(NATS_SOURCES) ## build the NATS server of the tests
	cd testdata/nats && $(GO) build -ldflags '-s -w' -o ../../bin/nats .
	@touch bin/nats

bin/kafka: $(KAFKA_SOURCES) ## build the Kafka broker of the tests
	cd testdata/kafka && $(GO) build -ldflags '-s -w' -o ../../bin/kafka .
	@touch bin/kafka

.PHONY: demo
demo: ## show dwatch on a real API server; DEMO=stay keeps it running
	@$(AS_IN_CLUSTER) $(BUILD) 'dwatch' '$(CURDIR)/bin/demo/dwatch' $(QUICKLY)
	@$(MAKE) --no-print-directory bin/cluster
	@cd testdata/demo && $(AS_IN_CLUSTER) $(BUILD) 'the demo' '$(CURDIR)/bin/demo/demo' $(QUICKLY)
	@DWATCH=bin/demo/dwatch bin/demo/demo

.PHONY: check
check: bin/cluster bin/nats bin/kafka ## while you work: linters and quick tests
	@$(FORMATTED)
	$(GO) vet ./... $(HELPERS)
	$(GO) run $(STATICCHECK) ./... $(HELPERS)
	$(GO) test $$($(GO) list ./... $(HELPERS) | grep -vxF "$$($(GO) list $(SLOW))")

.PHONY: test
test: bin/cluster bin/kubectl bin/nats bin/kafka ## before a change lands: all tests on real API servers; takes some minutes
	@$(MAKE) --no-print-directory -j3 test/page test/packages test/cluster

# The tests of the page often wait for a browser, and other tests for a server, so several packages run at the same time.
# make lint runs vet. GOGC applies to the compiler, the linker and the tests.
.PHONY: test/page test/packages test/cluster test/dwatch
test/page test/packages test/cluster test/dwatch: export GOGC := 400
test/page test/packages test/cluster: TEST = $(GO) test $(LINKED) -vet off
test/packages test/dwatch: RACING = $(if $(RACE),$(DETECTOR))
test/packages test/dwatch: export CGO_ENABLED := $(if $(RACE),$(WITH_C),0)

# The tests measure the speed of the page, so they use a release build.
test/page: bin/cluster bin/kubectl $(if $(RACE),,test/dwatch)
	cd testdata/page && $(if $(RACE),,$(BUILT)) $(TEST) -count 1 -timeout 60m ./...

test/packages: bin/cluster bin/kubectl bin/nats bin/kafka test/dwatch
	$(BUILT) $(TEST) $(RACING) -p 3 -timeout 60m $(SLOW) ./... $(HELPERS)

# The dwatch that the tests of several packages run is linked once.
BUILT := TEST_DWATCH='$(CURDIR)/bin/test/dwatch'
test/dwatch:
	$(GO) build $(or $(RACING),-trimpath) -tags kafka $(LINKED) -o bin/test/dwatch .

test/cluster:
	$(IN_CLUSTER) $(TEST) ./...

bin/kubectl: testdata/cluster/go.mod
	$(IN_CLUSTER) $(GO) build -ldflags '-s -w' -o ../../bin/kubectl k8s.io/kubernetes/cmd/kubectl
	@touch bin/kubectl

BENCH ?= # flags, such as -n 1000

.PHONY: bench
bench: build bin/cluster bin/kubectl bin/nats ## compare dwatch with kubectl and curl; takes 10 to 20 minutes
	@$(GO) run ./testdata/bench $(BENCH)

CHAOS ?= # flags, such as -for 10m -seed 1 -state

.PHONY: chaos
chaos: bin/cluster ## inject random faults; takes a minute, or CHAOS='-for 10m'
	CGO_ENABLED=$(WITH_C) $(GO) build $(DETECTOR) -o bin/dwatch-chaos .
	@$(GO) run ./testdata/chaos -dwatch bin/dwatch-chaos $(CHAOS)

SOAK ?= # flags, such as -for 1h

.PHONY: soak
soak: bin/cluster bin/nats bin/kafka ## replace certificates, tokens and rules while dwatch runs; takes a minute, or SOAK='-for 1h'
	$(GO) build -trimpath -tags kafka -ldflags '$(LDFLAGS)' -o bin/dwatch-soak .
	@$(GO) run ./testdata/chaos -soak -dwatch bin/dwatch-soak $(SOAK)

.PHONY: readme
readme: bin/cluster bin/kubectl bin/nats bin/kafka ## write real output of dwatch into README.md and docs
	UPDATE_README=1 $(GO) test -run Readme ./cli ./testdata/program

.PHONY: images
images: bin/cluster bin/kubectl ## take new screenshots for docs/images
	cd testdata/page && UPDATE_IMAGES=1 $(GO) test -count 1 -run Looks .

SITE ?= bin/site

# A link to a file that is not part of the site is an error.
.PHONY: site
site: ## write the documentation as a website, with search, into bin/site
	HUGO_PARAMS_RELEASE='$(RELEASE)' $(GO) run -trimpath '-gcflags=all=$(QUICK)' -gcflags=std= $(LINKED) $(HUGO) build --quiet --panicOnWarning \
		--noBuildLock --cleanDestinationDir --source testdata/release/site/hugo --destination '$(abspath $(SITE))'

.PHONY: golden
golden: bin/cluster ## record the changes that output/changes tests, and write the output of -o changes for them
	UPDATE_SCRIPTS=1 UPDATE_GOLDEN=1 $(GO) test -count 1 -run Golden ./testdata/program
	UPDATE_GOLDEN=1 $(GO) test -count 1 -run Golden ./output/changes

# The linters use the build cache of make build and make release.
AS_RELEASED := export GOFLAGS="$$($(GO) env GOFLAGS) -trimpath" &&

.PHONY: lint
lint: ## before a change lands: gofmt, vet, staticcheck, go mod tidy
	@$(FORMATTED)
	$(AS_RELEASED) $(GO) vet ./... $(HELPERS)
	$(AS_RELEASED) $(GO) run -trimpath=false $(STATICCHECK) ./... $(HELPERS)
	$(GO) mod tidy -diff
	$(IN_CLUSTER) $(GO) vet ./... && $(GO) mod tidy -diff && $(GO) run -gcflags=all= $(STATICCHECK) ./...
	cd testdata/page && $(GO) vet ./... && $(GO) mod tidy -diff && $(GO) run $(STATICCHECK) ./...
	$(AS_RELEASED) $(GO) vet -tags kafka ./cli
	cd testdata/nats && $(GO) vet ./... && $(GO) mod tidy -diff && $(GO) run $(STATICCHECK) ./...
	cd testdata/kafka && $(GO) vet ./... && $(GO) mod tidy -diff && $(GO) run $(STATICCHECK) ./...

.PHONY: cluster
cluster: bin/cluster ## start a cluster to try things; Ctrl-C ends it
	@bin/cluster --controllers --kubeconfig '$(CURDIR)/bin/kubeconfig'

.PHONY: install
install: build ## install dwatch, also as kubectl plugin, below PREFIX (~/.local)
	mkdir -p '$(PREFIX)/bin'
	install -m 755 bin/dwatch '$(PREFIX)/bin/dwatch'
	ln -sf dwatch '$(PREFIX)/bin/kubectl-dwatch'
	ln -sf dwatch '$(PREFIX)/bin/kubectl_complete-dwatch'
	@case ":$$PATH:" in *:'$(PREFIX)/bin':*) ;; *) echo 'install: $(PREFIX)/bin is not in your PATH' ;; esac

# The download URL in the manifests of a release: the module's home, or a placeholder until make home has set one.
export RELEASE_URL ?= https://$(if $(findstring .,$(MODULE_PATH)),$(MODULE_PATH),dwatch.invalid)
export RELEASE_MAINTAINER ?= the authors of dwatch <nobody@dwatch.invalid>

.PHONY: release
release: SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct)
# GoReleaser reads the commits of a repository only if it has a remote.
release: export GIT_CONFIG_COUNT := 1
release: export GIT_CONFIG_KEY_0 := remote.origin.url
release: export GIT_CONFIG_VALUE_0 := $(RELEASE_URL)
release: ## build the files of a release in bin/dist; without a tag, a snapshot
	@# The flags of a release, so that few packages are compiled twice.
	cd testdata/release && $(GO) build -trimpath -buildvcs=false -o ../../bin/release .
	rm -rf bin/manual bin/chart && SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) bin/release manual bin/manual
	@# The default timeout is an hour, and six platforms can take longer on a busy machine.
	PATH="$(CURDIR)/bin:$$PATH" SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) GOGC=400 $(GO) run $(QUICKLY) $(GORELEASER) release --clean --skip=publish --timeout 6h \
		$$(git describe --exact-match HEAD >/dev/null 2>&1 || echo --snapshot)
	cp bin/chart/*.tgz bin/dist
	SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) bin/release image bin/dist

.PHONY: test/release
test/release: test/chart test/otel test/upgrade test/pod ## check the files of a release on Linux
	cd testdata/release && $(AS_RELEASED) $(GO) vet ./... && $(GO) mod tidy -diff && $(GO) run -trimpath=false $(STATICCHECK) ./...
	cd testdata/release && $(AS_RELEASED) $(GO) test $(LINKED) -c -o ../../bin/release.test .
	@# Compiled separately, so that the make release that it runs does not inherit settings of go test.
	cd testdata/release && ../../bin/release.test -test.timeout 60m

# Compiling Helm for these tests takes a minute and a half of CPU.
.PHONY: test/chart
test/chart: bin/cluster bin/kubectl ## render the chart with Helm, and send it to a real API server
	cd testdata/chart && $(AS_RELEASED) $(GO) vet ./... && $(GO) mod tidy -diff && $(GO) run -trimpath=false $(STATICCHECK) ./...
	cd testdata/chart && $(AS_RELEASED) $(GO) test $(LINKED) -vet off -count 1 -timeout 30m ./...

# This compiles the receiver of a collector.
.PHONY: test/otel
test/otel: ## check the OpenTelemetry data of dwatch with the receiver of a collector
	cd testdata/otel && $(AS_RELEASED) $(GO) vet ./... && $(GO) mod tidy -diff && $(GO) run -trimpath=false $(STATICCHECK) ./...
	cd testdata/otel && $(AS_RELEASED) $(GO) test $(LINKED) -vet off -count 1 -timeout 30m ./...

# This builds three versions of dwatch.
.PHONY: test/upgrade
test/upgrade: bin/cluster ## run the previous version and this one in turns with one state file
	$(AS_RELEASED) $(GO) vet ./testdata/upgrade && $(GO) run -trimpath=false $(STATICCHECK) ./testdata/upgrade
	$(GO) test $(LINKED) -vet off -count 1 -timeout 30m -v ./testdata/upgrade

.PHONY: test/pod
test/pod: bin/cluster ## run the output of dwatch manifests as a pod, and leave out each permission in turn
	$(AS_RELEASED) $(GO) vet ./testdata/pod && $(GO) run -trimpath=false $(STATICCHECK) ./testdata/pod
	$(GO) test $(LINKED) -vet off -count 1 -timeout 30m ./testdata/pod

# Compiling Hugo takes a few minutes of CPU.
.PHONY: test/site
test/site: ## check the pages, links and search of the website
	cd testdata/release/site && $(AS_RELEASED) $(GO) vet ./... && $(GO) mod tidy -diff && $(GO) run -trimpath=false $(STATICCHECK) ./...
	cd testdata/release/site && $(AS_RELEASED) $(GO) test $(LINKED) -vet off -count 1 -timeout 30m ./...

.PHONY: home
home: ## change the module path to MODULE=example.com/you/dwatch, in one commit
	@test -z "$$(git status --porcelain)" || { echo 'home: commit what you have changed first'; exit 1; }
	@git var GIT_COMMITTER_IDENT >/dev/null
	$(GO) run ./testdata/home '$(MODULE)'
	git commit -qam 'The module is $(MODULE)'

.PHONY: cross
cross: ## vet and build dwatch for Windows, macOS and FreeBSD
	@# Nobody runs these binaries, so they are compiled as fast as possible.
	for os in windows darwin freebsd; do \
		export GOOS=$$os GOGC=400 GOFLAGS="$$($(GO) env GOFLAGS) '-gcflags=all=$(QUICK)'"; \
		$(GO) vet ./... && $(GO) build ./... || exit 1; \
	done

.PHONY: clean
clean: ## remove all built files
	rm -rf bin
