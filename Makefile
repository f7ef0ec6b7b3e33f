# obsrec and obsanalyze. `make help` lists what can be made.

OUT       := .output$(if $(SAN),/san)$(if $(FUZZ),/fuzz$(if $(COVER),/cover))$(CROSS:%=/%)
CC        ?= gcc
CLANG     ?= clang
BPFTOOL   ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/local/sbin/bpftool) bpftool)
# CROSS=arm64 or s390x builds for another processor, for s390x only what replays
ifdef CROSS
CC        := $(subst arm64,aarch64,$(CROSS))-linux-gnu-gcc --sysroot=$(CURDIR)/.output/sysroot/$(CROSS)
ANALYZE_ONLY := $(filter s390x,$(CROSS))
endif
ARCH      := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(patsubst arm64,aarch64,$(or $(CROSS),$(shell uname -m)))))
prefix    ?= /usr/local
PLOTS     ?= $(CURDIR)/plots
CFLAGS    ?= -O2 -g
override CFLAGS += -std=gnu11 -Wall -Wextra -Wno-gnu-variable-sized-type-not-at-end -I. $(if $(WERROR),-Werror) $(if $(DEBUG),-O0)
override CFLAGS += $(if $(SAN)$(FUZZ),-fsanitize=address$(comma)undefined -fno-sanitize-recover=all)
override CFLAGS += $(if $(FUZZ),-fsanitize=fuzzer-no-link $(if $(COVER),-fprofile-instr-generate -fcoverage-mapping))
comma     := ,
ANALYZE_LIBS := -lzstd -lsqlite3 -lgsl -lgslcblas -lm
# what obsrec has where the compiler has it: readable C++ names, packed symbol tables
SUPCXX       := $(filter /%,$(shell $(CC) -print-file-name=libsupc++.a))
LZMA         := $(if $(shell printf '\043include <lzma.h>\n' | $(CC) -E -xc - 2>/dev/null | grep -m 1 lzma_ret),-llzma)
OPTIONAL     := $(if $(SUPCXX),-DHAVE_DEMANGLE) $(if $(LZMA),-DHAVE_LZMA)
RECORD_LIBS  := $(if $(ANALYZE_ONLY),,-lbpf -lelf -lz -lzstd $(LZMA) $(SUPCXX) -lpthread -lm)

objects    = $(patsubst %.c,$(OUT)/%.o,$(1))
FORMAT     = $(call objects,$(wildcard format/*.c))
ANALYZE    = $(call objects,$(wildcard analyze/*/*.c analyze/*/*/*.c))
RECORD     = $(if $(ANALYZE_ONLY),,$(call objects,$(wildcard record/*.c record/*/*.c)))
SKEL       = $(OUT)/bpf/obsrec.skel.h
PROGRAMS   = $(addprefix $(if $(SAN)$(CROSS),$(OUT)/),$(if $(ANALYZE_ONLY),,obsrec) obsanalyze)
UNIT_SRC   = $(if $(ANALYZE_ONLY),$(shell grep -L '"record/' tests/unit/*.c),$(wildcard tests/unit/*.c))
UNITS      = $(UNIT_SRC:tests/unit/%.c=$(OUT)/unit/%)

Q   := $(if $(V),,@)
msg  = $(if $(V),,@printf '  %-8s %s\n' $(1) $(2);)

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all deps check check-build fuzz fuzz-build live static kernels cross bench bench-update validate demo freeze golden-update man \
	install deb check-packages clean help

all: $(PROGRAMS) ## build obsrec and obsanalyze

obsanalyze $(OUT)/obsanalyze: $(ANALYZE) $(FORMAT) | plots/states.gp
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $^ $(ANALYZE_LIBS) -o $@

# what pictures call the kinds of time, and their colours
plots/states.gp: analyze/store/categories.def
	$(Q){ echo '# SPDX-License-Identifier: GPL-2.0-or-later'; \
	echo '# What pictures call the kinds of time: made of $< by the Makefile.'; \
	sed -n 's/^BAND(\([0-9]*\), \(.*\), \("[^"]*"\))$$/\1 \2 \3/p' $< | awk \
		'{ c = c (c ? ", " : "") $$2; sub(/^[^ ]+ [^ ]+ /, ""); n = n (n ? ", " : "") $$0 } \
		END { printf "array name[%d] = [%s]\narray colour[%d] = [%s]\n", NR, n, NR, c }'; } > $@

obsrec $(OUT)/obsrec: $(RECORD) $(FORMAT)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $^ $(RECORD_LIBS) -o $@

$(OUT)/%.o: %.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(EXTRA) -I$(OUT) -MMD -MP -c $< -o $@

$(RECORD): EXTRA = $(OPTIONAL)
$(OUT)/analyze/render/gnuplot.o: EXTRA = -DPLOTS_DIR='"$(PLOTS)"'
$(RECORD): $(SKEL)

$(OUT)/%.bpf.o: %.bpf.c $(wildcard bpf/*) $(wildcard format/*.def) format/event.h format/shapes.h
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -O2 -g -target bpf -mcpu=v3 -D__bpf__ -D__TARGET_ARCH_$(ARCH) -I. -Wall -Wextra \
		-Wno-unused-parameter $(if $(WERROR),-Werror) -c $< -o $@

$(SKEL): $(OUT)/bpf/obsrec.bpf.o
	$(call msg,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name obsrec_bpf > $@

deps: ## install what building and testing need
	$(Q)sh tests/deps.sh

# each test program has all objects but the two mains
$(OUT)/unit/%: $(OUT)/tests/unit/%.o $(OUT)/tests/lib/textpack.o $(OUT)/tests/lib/loaded.o $(OUT)/tests/lib/slowed.o $(filter-out %/obsanalyze.o,$(ANALYZE)) $(FORMAT) \
	       $(filter-out %/obsrec.o,$(RECORD))
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $^ -lcmocka $(ANALYZE_LIBS) $(RECORD_LIBS) -o $@

$(OUT)/pack: $(OUT)/tests/lib/textpack.o
$(OUT)/pack $(OUT)/workload $(OUT)/cputime $(OUT)/slowly $(OUT)/exchange $(OUT)/groupwork $(OUT)/waitv $(OUT)/fuse_hang: $(OUT)/%: $(OUT)/tests/programs/%.o $(FORMAT)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $^ -lzstd -lsqlite3 -lpthread -lm -o $@

$(OUT)/fuzz_elf: $(OUT)/tests/programs/fuzz_elf.o $(filter-out %/obsrec.o,$(RECORD)) $(FORMAT)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $^ $(RECORD_LIBS) -o $@

# a harness has all objects but the two mains; one more file and one more row make one more
HARNESSES = $(patsubst tests/fuzz/%.c,$(OUT)/%,$(wildcard tests/fuzz/fuzz_*.c))

$(HARNESSES): $(OUT)/%: $(OUT)/tests/fuzz/%.o $(addprefix $(OUT)/tests/,fuzz/fuzz.o fuzz/recordgen.o lib/textpack.o) \
	      $(filter-out %/obsanalyze.o,$(ANALYZE)) $(FORMAT) $(filter-out %/obsrec.o,$(RECORD))
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -fsanitize=fuzzer $^ $(ANALYZE_LIBS) $(RECORD_LIBS) -o $@

$(OUT)/seedgen: $(OUT)/tests/fuzz/seedgen.o $(FORMAT)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $^ -lzstd -o $@

fuzz-build: $(HARNESSES)

fuzz: deps ## run the libFuzzer harnesses: TIME=seconds or RUNS=number, ONLY=harness, COVER=1
	$(Q)sh tests/deps.sh fuzz
	$(Q)$(MAKE) --no-print-directory $(OUT)/pack $(OUT)/seedgen
	$(Q)$(MAKE) --no-print-directory CC=$(CLANG) FUZZ=1 fuzz-build
	$(Q)COVER=$(COVER) sh tests/fuzz/fuzzing.sh "$(TIME)" "$(RUNS)" "$(ONLY)"

check-build: all $(UNITS) $(OUT)/pack $(if $(ANALYZE_ONLY),,$(OUT)/fuzz_elf) $(OUT)/bench_gen

check: deps ## build, and run all tests that need no root
	$(Q)$(MAKE) --no-print-directory check-build
	$(Q)$(MAKE) --no-print-directory SAN=1 check-build
	$(Q)sh tests/run.sh check

LIVE = $(addprefix $(OUT)/,pack workload ringstress cputime slowly exchange groupwork waitv fuse_hang)

live: deps ## run the tests that record on this machine (root)
	$(Q)$(MAKE) --no-print-directory all $(LIVE)
	$(Q)sh tests/run.sh live

$(OUT)/obsrec-static: $(RECORD) $(FORMAT)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -static $^ $(RECORD_LIBS) -o $@

static: $(OUT)/obsrec-static ## build .output/obsrec-static, which needs no library (make kernels tests it)

cross: deps ## build for arm64 and s390x (big-endian), and run unit and golden tests there
	$(Q)sh tests/deps.sh cross
	$(Q)for c in arm64 s390x; do \
		sh tests/cross/sysroot.sh $$c .output/sysroot/$$c && \
		$(MAKE) --no-print-directory CROSS=$$c check-build || exit 1; done
	$(Q)sh tests/run.sh cross

kernels: deps ## run the live tests in virtual machines with older kernels: SUITES=..., TESTS=...
	$(Q)sh tests/deps.sh kernels
	$(Q)$(MAKE) --no-print-directory all static $(LIVE)
	$(Q)TESTS=$(TESTS) sh tests/run.sh kernels $(SUITES)

$(OUT)/tests/%.skel.h: $(OUT)/tests/%.bpf.o
	$(call msg,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(*F) > $@

$(OUT)/tests/programs/ringstress.o: $(OUT)/tests/programs/ringstress.skel.h
$(OUT)/ringstress: $(OUT)/tests/programs/ringstress.o $(OUT)/record/ring.o $(OUT)/record/rings.o $(FORMAT)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $^ $(RECORD_LIBS) -o $@

$(OUT)/tests/bench/bench_work.o: EXTRA = $(if $(filter x86,$(ARCH)),-fcf-protection=branch)
$(OUT)/bench_%: $(OUT)/tests/bench/bench_%.o $(FORMAT)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $^ -lsqlite3 $(RECORD_LIBS) -lzstd -lm -o $@

bench bench-update: deps ## measure costs next to other tracers (root); -update: into docs/bench.md
	$(Q)$(MAKE) --no-print-directory all $(addprefix $(OUT)/bench_,gen floor work watch empty) \
		$(OUT)/tests/bench/bench_empty.bpf.o
	$(Q)sh tests/bench/bench.sh $(if $(filter %-update,$@),update,run)

SCENARIOS = $(patsubst tests/scenarios/%.c,$(OUT)/scenarios/%,$(filter-out %/stage.c,$(wildcard tests/scenarios/*.c)))

$(OUT)/scenarios/%: $(OUT)/tests/scenarios/%.o $(OUT)/tests/scenarios/stage.o
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $^ -lpthread -lm -o $@

$(OUT)/loadgen: $(OUT)/tests/validate/reply.o
$(OUT)/loadgen $(OUT)/wire: $(OUT)/%: $(OUT)/tests/validate/%.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $^ -lm -o $@

$(OUT)/tests/validate/rqclock.o: $(OUT)/tests/validate/rqclock.skel.h
$(OUT)/rqclock: $(OUT)/tests/validate/rqclock.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $^ $(RECORD_LIBS) -o $@

validate: deps ## prove the answers on real servers and scenarios: PART=..., QUICK=1 (root)
	$(Q)sh tests/validate/needs.sh
	$(Q)$(MAKE) --no-print-directory all $(OUT)/loadgen $(OUT)/wire $(OUT)/rqclock $(OUT)/workload $(SCENARIOS)
	$(Q)python3 tests/validate/validate.py $(if $(QUICK),--quick) $(if $(PART),--part $(PART)) $(if $(ONLY),--only $(ONLY)) \
		$(if $(REPEAT),--repeat $(REPEAT)) $(if $(KEEP),--keep $(KEEP))

demo: ## record a real server under load, healthy and with a planted fault, and report on both
	$(Q)mkdir -p $(OUT)
	$(Q)$(MAKE) --no-print-directory deps all $(OUT)/loadgen >$(OUT)/demo.log 2>&1 || { tail -n 20 $(OUT)/demo.log; exit 1; }
	$(Q)sh tests/demo.sh

freeze: obsanalyze ## accept new events and fields as unchangeable
	$(Q)./obsanalyze schema --frozen > testdata/schema.frozen

golden-update: check-build ## accept the present output of the golden tests
	$(Q)sh tests/check/golden.sh --update

man: obsanalyze ## write the event chapter of obsrec(5)
	$(Q)sh tests/check/paper.sh --update

# separate from the programs in the tree, which find the pictures there
install: built = $(OUT)/install$(prefix)
install: share = $(DESTDIR)$(prefix)/share
install: units = $(DESTDIR)$(patsubst /usr,,$(prefix))/lib/systemd/system
install: ## install below DESTDIR and prefix
	$(Q)$(MAKE) --no-print-directory OUT=$(built) PLOTS=$(prefix)/share/obsrec/plots \
		$(built)/obsrec $(built)/obsanalyze
	install -D -m 755 $(built)/obsrec $(DESTDIR)$(prefix)/sbin/obsrec
	install -D -m 755 $(built)/obsanalyze $(DESTDIR)$(prefix)/bin/obsanalyze
	install -D -m 644 -t $(share)/obsrec/plots plots/*.gp
	install -D -m 644 -t $(share)/obsrec packaging/magic
	install -D -m 644 -t $(share)/mime/packages packaging/obsrec.xml
	install -D -m 644 -t $(share)/man/man8 man/obsrec.8
	install -D -m 644 -t $(share)/man/man1 man/obsanalyze.1
	install -D -m 644 -t $(share)/man/man5 man/obsrec.5 man/obs-schema.5
	install -d $(share)/bash-completion/completions
	sh packaging/completion.sh obsrec $(built)/obsrec >$(share)/bash-completion/completions/obsrec
	sh packaging/completion.sh obsanalyze $(built)/obsanalyze >$(share)/bash-completion/completions/obsanalyze
	install -d $(units)
	sed 's|@sbindir@|$(prefix)/sbin|' record/obsrec.service >$(units)/obsrec.service

check-packages: ## build the packages, install and use them in bare Debian roots (root)
	$(Q)$(MAKE) --no-print-directory all
	$(Q)sh tests/run.sh package

deb: ## build the Debian packages into .output/deb
	$(Q)sh packaging/deb.sh

clean: ## remove what was built
	rm -rf .output obsrec obsanalyze demo

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 18

-include $(shell find $(OUT) -type f -name '*.d' -not -path '*/sysroot/*' 2>/dev/null)
