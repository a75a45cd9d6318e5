# agate - one file of rules; the first table is the architecture.
#
#   make                 build/agate, build/agate-hook and build/agate-init
#   make check           every test; ends with "N passed, N failed, N skipped"
#   make demo            the main job, for a newcomer
#   make SAN=address,undefined check      unit tests under sanitizers
#   make COV=1 check coverage             make fuzz FUZZ_SECONDS=600
#   make bench           measured next to bare bwrap and to the peer
#   make install DESTDIR= prefix=/usr

# --- folders, lowest first, and what each may include beside itself (tests/layers reads this) ---
DIRS := base db worktree tokens gates sandbox runner dispatch
MAY_base :=
MAY_db := base
MAY_worktree := base
MAY_tokens := base
MAY_gates := base worktree
MAY_sandbox := base
MAY_runner := base sandbox
MAY_dispatch := base db worktree tokens gates sandbox runner

# Outside libraries a folder's objects need at link time.
PKG_base := libcjson libuv nettle
PKG_db := sqlite3
PKG_worktree := libgit2
PKG_gates := tree-sitter
PKG_sandbox := libseccomp

prefix ?= /usr/local
DESTDIR ?=
B ?= build
CC ?= gcc
VERSION := 0.1.0

# Directories of a folder: itself, and those below it that belong to `agate`.
SUB_sandbox := sandbox/egress
SRC = $(wildcard $(1)/*.c $(foreach s,$(SUB_$(1)),$(s)/*.c))
LIB = $(B)/lib$(1).a

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wwrite-strings -Wundef -Wformat=2 -Wvla -Werror
# clang takes a long string, cut for width in a list of strings, for a missing comma; gcc passes over the word.
WARN += -Wno-string-concatenation
CFLAGS ?= -O2 -g
ALL_CPPFLAGS := -I. -I$(B) -D_GNU_SOURCE -DAGATE_VERSION='"$(VERSION)"' -DAGATE_PREFIX='"$(prefix)"' $(CPPFLAGS)
ALL_CFLAGS := -std=gnu17 $(WARN) $(CFLAGS) -fstack-protector-strong -fPIE -ffunction-sections -fdata-sections
HARDEN := -D_FORTIFY_SOURCE=2
ALL_LDFLAGS := -pie -Wl,--gc-sections -Wl,--as-needed -Wl,-z,relro -Wl,-z,now $(LDFLAGS)

ifdef SAN
B := build-san
ALL_CFLAGS += -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all -O1
ALL_LDFLAGS += -fsanitize=$(SAN)
HARDEN :=
endif
ifdef COV
B := build-cov
ALL_CFLAGS += --coverage -O0
ALL_LDFLAGS += --coverage
HARDEN :=
endif
ALL_CPPFLAGS += $(HARDEN)

PKGS := $(sort $(foreach d,$(DIRS),$(PKG_$(d))))
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
pkg_libs = $(if $(strip $(1)),$(shell pkg-config --libs $(1) 2>/dev/null))
LIBS = $(call pkg_libs,$(PKGS)) -lpthread -lm

BINS := $(B)/agate $(B)/agate-hook $(B)/agate-init
all: $(BINS)

# One short line a step; V=1 shows the commands.
ifeq ($(V),1)
say =
else
say = @printf '  %-5s %s\n' $(1) '$(2)';
endif

# --- objects and one library a folder ---
$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CPPFLAGS) $(PKG_CFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

define folder
OBJ_$(1) := $$(patsubst %.c,$(B)/%.o,$$(filter-out dispatch/main.c,$$(call SRC,$(1))))
$(call LIB,$(1)): $$(OBJ_$(1))
	@rm -f $$@
	$$(call say,AR,$$@)ar rcsD $$@ $$(OBJ_$(1))
endef
$(foreach d,$(DIRS),$(eval $(call folder,$(d))))

# The bash grammar comes from npm, pinned in package-lock.json, and is compiled
# as it is: its warnings are its authors'.
GRAMMAR := node_modules/tree-sitter-bash/src
$(GRAMMAR)/parser.c: package.json package-lock.json
	npm ci --ignore-scripts --no-audit --no-fund
	@touch $@
$(B)/grammar/%.o: $(GRAMMAR)/parser.c
	@mkdir -p $(@D)
	$(call say,CC,$(GRAMMAR)/$*.c)$(CC) -O2 -fPIE -w -I$(GRAMMAR) -c $(GRAMMAR)/$*.c -o $@
$(B)/libgrammar.a: $(B)/grammar/parser.o $(B)/grammar/scanner.o
	@rm -f $@
	$(call say,AR,$@)ar rcsD $@ $^

# Libraries of folder $(1) and all it may call, callers first.
closure = $(call LIB,$(1)) $(foreach d,$(filter $(MAY_$(1)),$(shell echo $(DIRS) | tr ' ' '\n' | tac)),$(call LIB,$(d)))
grammar_for = $(if $(filter gates dispatch,$(1)),$(B)/libgrammar.a)

# Both programs are started often, by somebody who waits. They take libraries in where their archives are,
# and what is not needed of them stays out: of libgit2 everything that would speak to a network, and the
# eleven libraries behind that (worktree/no_transport.c knows the names of its version 1.5).
ARCHIVE_OF = $(patsubst -l%,lib%.a,$(patsubst -luv,-luv_a,$(1)))
archive = $(filter /%,$(shell $(CC) -print-file-name=$(call ARCHIVE_OF,$(1))))
TAKEN_IN := -lsqlite3 -lnettle -luv -ltree-sitter -lseccomp
GIT2_NEEDS := -lhttp_parser -lpcre2-8 -lz
ifeq ($(SAN)$(COV),)
ifneq ($(filter 1.5.%,$(shell pkg-config --modversion libgit2 2>/dev/null)),)
GIT2_IN := $(if $(call archive,-lmbedcrypto),$(call archive,-lgit2))
endif
PROGRAM_LIBS = $(foreach l,$(filter-out $(if $(GIT2_IN),-lgit2),$(call pkg_libs,$(PKGS))),\
	$(or $(if $(filter $(TAKEN_IN),$(l)),$(call archive,$(l))),$(l)))
else
PROGRAM_LIBS = $(call pkg_libs,$(PKGS))
endif
# Before the archives, or their own members would be found first.
NO_TRANSPORT = $(if $(GIT2_IN),$(B)/worktree/no_transport.o)
define program
$(B)/$(1): $(B)/$(2).o $(call closure,dispatch) $(B)/libgrammar.a
	$(call say,LD,$$@)$(CC) $(ALL_LDFLAGS) -o $$@ $(B)/$(2).o $$(NO_TRANSPORT) -Wl,--start-group $$(filter %.a,$$^) \
		$(if $(GIT2_IN),$(GIT2_IN) $(call archive,-lmbedcrypto)) -Wl,--end-group $$(PROGRAM_LIBS) \
		$(if $(GIT2_IN),$(foreach l,$(GIT2_NEEDS),$(or $(call archive,$(l)),$(l)))) -lpthread -lm
endef
$(eval $(call program,agate,dispatch/main))
$(eval $(call program,agate-hook,dispatch/hook/main))

# agate-init is static and knows only libc; it shares a few pure files.
INIT_SRC := $(wildcard sandbox/init/*.c) sandbox/names.c sandbox/calls.c sandbox/proctree.c
INIT_CFLAGS := -std=gnu17 $(WARN) $(CFLAGS) -fstack-protector-strong -ffunction-sections -fdata-sections
INIT_OBJ := $(patsubst %.c,$(B)/init/%.o,$(INIT_SRC))
$(B)/init/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -I. -D_GNU_SOURCE -D_FORTIFY_SOURCE=2 $(INIT_CFLAGS) -MMD -MP -c $< -o $@
$(B)/agate-init: $(INIT_OBJ)
	$(call say,LD,$@)$(CC) -static -Wl,--gc-sections -Wl,-z,relro -o $@ $(INIT_OBJ)

# The same but for its main(), for those who fuzz what it reads; the pure files are in libsandbox.
INIT_LIB := $(B)/libinit.a
INIT_LIB_OBJ := $(filter $(B)/init/sandbox/init/%,$(filter-out %/main.o,$(INIT_OBJ)))
$(INIT_LIB): $(INIT_LIB_OBJ)
	@rm -f $@
	$(call say,AR,$@)ar rcsD $@ $^

# --- tests ---
TESTS := $(wildcard $(foreach d,$(DIRS),tests/unit/$(d)/test_*.c))
TEST_BINS := $(TESTS:%.c=$(B)/%)
folder_of = $(word 3,$(subst /, ,$(1)))
.SECONDEXPANSION:
$(B)/tests/unit/%: $(B)/tests/unit/%.o $$(call closure,$$(call folder_of,tests/unit/%)) $$(call grammar_for,$$(call folder_of,tests/unit/%))
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group \
		$(call pkg_libs,$(sort $(foreach d,$(call folder_of,tests/unit/$*) $(MAY_$(call folder_of,tests/unit/$*)),$(PKG_$(d))) cmocka)) -lpthread -lm

unit: $(TEST_BINS)

# Each header must stand alone.
HEADERS = $(wildcard $(foreach d,$(DIRS),$(d)/*.h $(d)/*/*.h))
lone-headers:
	@for h in $(HEADERS); do \
		$(CC) $(ALL_CPPFLAGS) $(PKG_CFLAGS) -std=gnu17 $(WARN) -fsyntax-only -x c -include $$h /dev/null || exit 1; \
	done

ESCAPES := $(wildcard tests/escape/*.c)
ESCAPE_BINS := $(ESCAPES:%.c=$(B)/%)
$(B)/tests/escape/%: tests/escape/%.c tests/escape/attack.h Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -std=gnu17 -D_GNU_SOURCE $(WARN) -O1 -g -I. -o $@ $< -lpthread

FUZZ := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BINS := $(FUZZ:%.c=$(B)/%)
ALL_LIBS := $(foreach d,$(DIRS),$(call LIB,$(d)))
# What agate-init reads is tried with its own files alone.
fuzz_libs = $(if $(filter fuzz_walk fuzz_notify fuzz_blob,$(1)),$(INIT_LIB) $(call LIB,sandbox) $(call LIB,base),\
	$(ALL_LIBS) $(B)/libgrammar.a)
FUZZ_LINK = -Wl,--start-group $(call fuzz_libs,$*) -Wl,--end-group $(LIBS)
# Replayed on their corpora by every `make check`, with any compiler.
$(B)/tests/fuzz/%: tests/fuzz/%.c tests/fuzz/replay.c tests/fuzz/world.h $(ALL_LIBS) $(INIT_LIB) $(B)/libgrammar.a
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CPPFLAGS) $(PKG_CFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< tests/fuzz/replay.c $(FUZZ_LINK)

ifdef SAN
check: unit $(FUZZ_BINS)
	@tests/run --build $(B) --only unit,fuzz
else
check: all unit $(ESCAPE_BINS) $(FUZZ_BINS) lone-headers
	@tests/run --build $(B)
endif

FUZZ_SECONDS ?= 60
fuzz:
	@tests/fuzz/run $(FUZZ_SECONDS)

coverage:
	@tests/lib/coverage $(B)

bench: all
	@tests/bench/run $(B)

demo:
	@tests/lib/demo

deps:
	@./deps

lint:
	@tests/lib/lint

# --- installing ---
install: all
	install -d $(DESTDIR)$(prefix)/bin $(DESTDIR)$(prefix)/lib/agate $(DESTDIR)$(prefix)/share/man/man1 \
		$(DESTDIR)$(prefix)/share/man/man5 $(DESTDIR)$(prefix)/share/bash-completion/completions \
		$(DESTDIR)$(prefix)/share/agate
	install -m 755 $(B)/agate $(B)/agate-hook $(DESTDIR)$(prefix)/bin/
	install -m 755 $(B)/agate-init $(DESTDIR)$(prefix)/lib/agate/agate-init
	install -m 644 data/* $(DESTDIR)$(prefix)/share/agate/
	install -m 644 $(wildcard man/*.1) $(DESTDIR)$(prefix)/share/man/man1/
	install -m 644 $(wildcard man/*.5) $(DESTDIR)$(prefix)/share/man/man5/
	install -m 644 dispatch/completion.bash $(DESTDIR)$(prefix)/share/bash-completion/completions/agate

clean:
	rm -rf build build-san build-cov build-fuzz build-clang

.PHONY: all unit check fuzz coverage bench demo deps lint install clean lone-headers
.SECONDARY:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
