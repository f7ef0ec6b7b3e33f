# obsrec and obsanalyze. `make help` lists what can be made.

OUT       := .output$(if $(SAN),/san)$(if $(FUZZ),/fuzz$(if $(COVER),/cover))$(CROSS:%=/%)
CC        ?= gcc
CLANG     ?= clang
BPFTOOL   ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/local/sbin/bpftool) bpftool)
# CROSS=arm64 or s390x builds for another processor, CROSS=musl for another C library; for s390x
# and musl only what replays
ifeq ($(CROSS),musl)
CC        := musl-gcc -static -isystem $(CURDIR)/.output/sysroot/musl/include -L$(CURDIR)/.output/sysroot/musl/lib
ANALYZE_ONLY := musl
else ifdef CROSS
CC        := $(subst arm64,aarch64,$(CROSS))-linux-gnu-gcc --sysroot=$(CURDIR)/.output/sysroot/$(CROSS)
ANALYZE_ONLY := $(filter s390x,$(CROSS))
endif
ARCH      := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(patsubst arm64,aarch64,$(or $(filter-out musl,$(CROSS)),$(shell uname -m)))))
prefix    ?= /usr/local
PLOTS     ?= $(CURDIR)/plots
# backtraces need lines, not variables: half of the size
CFLAGS    ?= -O2 $(if $(SAN)$(FUZZ),-g1,-g)
REPRODUCIBLE := -ffile-prefix-map=$(CURDIR)=.
override CFLAGS += $(REPRODUCIBLE) -std=gnu11 -Wall -Wextra -Wno-gnu-variable-sized-type-not-at-end -I. $(if $(WERROR),-Werror) $(if $(DEBUG),-O0)
# the same digits on all processors
override CFLAGS += -ffp-contract=off
# gcc 12 moves pairs of doubles through MMX registers without emms: long double, as in SQLite's sums, is NaN after it
override CFLAGS += $(if $(filter x86,$(ARCH)),-mno-mmx)
override CFLAGS += $(if $(SAN)$(FUZZ),-fsanitize=address$(comma)undefined -fno-sanitize-recover=all)
override CFLAGS += $(if $(FUZZ),-fsanitize=fuzzer-no-link -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION $(if $(COVER),-fprofile-instr-generate -fcoverage-mapping))
# what the sanitizers know of each literal are pointers: to relocate them is a quarter of a short run, unless the linker does
PLACED    := $(if $(SAN)$(FUZZ),-no-pie)
comma     := ,
ANALYZE_LIBS := -lzstd -lz -lsqlite3 -lgsl -lgslcblas -lpthread -lm
# what programs have where the compiler has it: readable C++ names; obsrec: packed symbol tables
SUPCXX       := $(if $(filter musl,$(CROSS)),,$(filter /%,$(shell $(CC) -print-file-name=libsupc++.a 2>/dev/null)))
LZMA         := $(if $(shell printf '\043include <lzma.h>\n' | $(CC) -E -xc - 2>/dev/null | grep -m 1 lzma_ret),-llzma)
OPTIONAL     := $(if $(LZMA),-DHAVE_LZMA)
RECORD_LIBS  := $(if $(ANALYZE_ONLY),,-lbpf -lelf -lz -lzstd $(LZMA) -lpthread -lm)

objects    = $(patsubst %.c,$(OUT)/%.o,$(1))
FORMAT     = $(call objects,$(wildcard format/*.c)) $(SUPCXX)
ANALYZE    = $(call objects,$(wildcard analyze/*/*.c analyze/*/*/*.c))
RECORD     = $(if $(ANALYZE_ONLY),,$(call objects,$(wildcard record/*.c record/*/*.c)))
SKEL       = $(OUT)/bpf/obsrec.skel.h
PROGRAMS   = $(addprefix $(if $(SAN)$(CROSS),$(OUT)/),$(if $(ANALYZE_ONLY),,obsrec) obsanalyze)
# s390x tests what replays, arm64 what records: all that differs there (tests/run.sh); also by a header of theirs
USES_RECORD = -e '"record/' $(patsubst %,-e '"%"',$(shell grep -l '"record/' tests/lib/*.h))
UNIT_SRC   = $(if $(CROSS),$(shell grep $(if $(ANALYZE_ONLY),-L,-l) $(USES_RECORD) tests/unit/*.c),$(wildcard tests/unit/*.c))
UNITS      = $(UNIT_SRC:tests/unit/%.c=$(OUT)/unit/%)

Q   := $(if $(V),,@)
msg  = $(if $(V),,@printf '  %-8s %s\n' $(1) $(2);)

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all deps check check-build fuzz fuzz-build live-build live long faults static kernels cross bench bench-update fleet validate demo freeze golden-update man \
	install deb check-packages roots dist clean help

all: $(PROGRAMS) ## build obsrec and obsanalyze

obsanalyze $(OUT)/obsanalyze: $(ANALYZE) $(FORMAT) | plots/states.gp
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(PLACED) $^ $(ANALYZE_LIBS) -o $@

# what pictures call the kinds of time, and their colours
plots/states.gp: analyze/store/categories.def
	$(Q){ echo '# SPDX-License-Identifier: GPL-2.0-or-later'; \
	echo '# What pictures call the kinds of time: made of $< by the Makefile.'; \
	sed -n 's/^BAND(\([0-9]*\), \(.*\), \("[^"]*"\))$$/\1 \2 \3/p' $< | awk \
		'{ c = c (c ? ", " : "") $$2; sub(/^[^ ]+ [^ ]+ /, ""); n = n (n ? ", " : "") $$0 } \
		END { printf "array name[%d] = [%s]\narray colour[%d] = [%s]\n", NR, n, NR, c }'; } > $@

obsrec $(OUT)/obsrec: $(RECORD) $(FORMAT)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(PLACED) $^ $(RECORD_LIBS) -o $@

$(OUT)/%.o: %.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(EXTRA) -I$(OUT) -MMD -MP -c $< -o $@

$(RECORD): EXTRA = $(OPTIONAL)
$(OUT)/format/demangle.o: EXTRA = $(if $(SUPCXX),-DHAVE_DEMANGLE)
$(OUT)/analyze/render/gnuplot.o: EXTRA = -DPLOTS_DIR='"$(PLOTS)"'
$(RECORD): $(SKEL)

$(OUT)/%.bpf.o: %.bpf.c $(wildcard bpf/*) $(wildcard format/*.def) format/event.h format/shapes.h
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(REPRODUCIBLE) -O2 -g -target bpf -mcpu=v3 -D__bpf__ -D__TARGET_ARCH_$(ARCH) -I. -Wall -Wextra \
		-Wno-unused-parameter $(if $(WERROR),-Werror) -c $< -o $@

$(SKEL): $(OUT)/bpf/obsrec.bpf.o
	$(call msg,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name obsrec_bpf > $@

deps: ## install what building and testing need
	$(Q)sh tests/deps.sh

# in the tree of another processor gold does not find libraries by absolute links, as libz.so is there
UNIT_LINKER = $(eval UNIT_LINKER := $(if $(CROSS),,$(shell printf 'int main(void) { return 0; }' | \
	$(CC) -fuse-ld=gold -xc - -o /dev/null 2>/dev/null && echo -fuse-ld=gold)))$(UNIT_LINKER)
UNIT_OBJECTS = $(addprefix $(OUT)/tests/lib/,textpack.o loaded.o slowed.o) $(filter-out %/obsanalyze.o,$(ANALYZE)) $(FORMAT) $(filter-out %/obsrec.o,$(RECORD))
link_units   = $(Q)$(CC) $(CFLAGS) $(PLACED) $(UNIT_LINKER) $(WRAP) $^ -lcmocka $(ANALYZE_LIBS) $(RECORD_LIBS) -o $@
# these replace functions for all that they are linked with: each is a program of its own
WRAPPING     = test_growth test_growth_failing test_growth_pauses test_walks
TOGETHER     = $(filter-out $(WRAPPING),$(notdir $(UNITS)))

# the others are one program, which runs the test that it is called by: one link, not a hundred
$(addprefix $(OUT)/unit/,$(TOGETHER)): $(OUT)/units
	$(Q)mkdir -p $(@D)
	$(Q)ln -sf ../units $@

$(OUT)/units: $(OUT)/tests/lib/unit_main.o $(TOGETHER:%=$(OUT)/tests/unit/%.o) $(UNIT_OBJECTS)
	$(call msg,LINK,$@)
	$(link_units)

$(TOGETHER:%=$(OUT)/tests/unit/%.o): EXTRA = -Dmain=$(*F)_main
$(OUT)/tests/lib/unit_main.o: $(OUT)/tests/units.def

# newer only if it differs: a test can be renamed
$(OUT)/tests/units.def: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)printf 'UNIT(%s)\n' $(TOGETHER) > $@.new
	$(Q)cmp -s $@.new $@ && rm $@.new || mv $@.new $@

.PHONY: FORCE

$(WRAPPING:%=$(OUT)/unit/%): $(OUT)/unit/%: $(OUT)/tests/unit/%.o $(UNIT_OBJECTS)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(link_units)

# counts the entries of maps that loops visit
$(patsubst %,$(OUT)/unit/%,$(filter test_growth%,$(WRAPPING))): WRAP = -Wl,--wrap=idmap_each,--wrap=fdmap_next
# counts the files that walks of /proc and of cgroups read
$(OUT)/unit/test_walks: WRAP = -Wl,--wrap=fopen,--wrap=safe_read,--wrap=procfs_namespace

$(OUT)/pack: $(OUT)/tests/lib/textpack.o
$(OUT)/pack $(OUT)/workload $(OUT)/cputime $(OUT)/slowly $(OUT)/exchange $(OUT)/groupwork $(OUT)/waitv $(OUT)/fuse_hang $(OUT)/confined $(OUT)/stackwork $(OUT)/plugins $(OUT)/planted $(OUT)/usdtwork $(OUT)/spanwork $(OUT)/hotwork $(OUT)/manythreads $(OUT)/shipper $(OUT)/crowd: $(OUT)/%: $(OUT)/tests/programs/%.o $(FORMAT)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(PLACED) $^ -lzstd -lsqlite3 -lpthread -lm -ldl -o $@

$(OUT)/faulty.so $(OUT)/wallclock.so: $(OUT)/%.so: tests/programs/%.c
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -fsanitize%,$(CFLAGS)) -shared -fPIC $< -o $@

$(OUT)/plugin_%.so: tests/programs/plugin.c
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -fsanitize%,$(CFLAGS)) -shared -fPIC -DSPIN=spin_$* $< -o $@

$(OUT)/tests/programs/stackwork.o $(OUT)/tests/programs/planted.o: EXTRA = -O2 -fomit-frame-pointer

$(OUT)/fuzz_elf: $(OUT)/tests/programs/fuzz_elf.o $(filter-out %/obsrec.o,$(RECORD)) $(FORMAT)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(PLACED) $^ $(RECORD_LIBS) -o $@

# a harness has all objects but the two mains; one more file and one more row make one more
HARNESSES = $(patsubst tests/fuzz/%.c,$(OUT)/%,$(wildcard tests/fuzz/fuzz_*.c))

$(HARNESSES): $(OUT)/%: $(OUT)/tests/fuzz/%.o $(addprefix $(OUT)/tests/,fuzz/fuzz.o fuzz/recordgen.o lib/textpack.o) \
	      $(filter-out %/obsanalyze.o,$(ANALYZE)) $(FORMAT) $(filter-out %/obsrec.o,$(RECORD))
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(PLACED) -fsanitize=fuzzer $^ $(ANALYZE_LIBS) $(RECORD_LIBS) -o $@

$(OUT)/seedgen: $(OUT)/tests/fuzz/seedgen.o $(FORMAT)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(PLACED) $^ -lzstd -o $@

fuzz-build: $(HARNESSES)

fuzz: deps ## run the libFuzzer harnesses: TIME=seconds or RUNS=number, ONLY=harness, COVER=1
	$(Q)sh tests/deps.sh fuzz
	$(Q)$(MAKE) --no-print-directory $(OUT)/pack $(OUT)/seedgen
	$(Q)$(MAKE) --no-print-directory CC=$(CLANG) FUZZ=1 fuzz-build
	$(Q)COVER=$(COVER) sh tests/fuzz/fuzzing.sh "$(TIME)" "$(RUNS)" "$(ONLY)"

check-build: all $(UNITS) $(OUT)/pack $(if $(ANALYZE_ONLY),,$(OUT)/fuzz_elf $(OUT)/faulty.so) $(OUT)/bench_gen

check: deps ## build, and run all tests that need no root
	$(Q)$(MAKE) --no-print-directory check-build
	$(Q)$(MAKE) --no-print-directory SAN=1 check-build
	$(Q)sh tests/run.sh check

LIVE = $(addprefix $(OUT)/,pack workload ringstress cputime slowly exchange groupwork waitv fuse_hang confined stackwork planted usdtwork spanwork hotwork manythreads shipper plugins plugin_old.so plugin_new.so wallclock.so faulty.so)

live-build: all $(LIVE)

live: deps ## run the tests that record on this machine (root)
	$(Q)$(MAKE) --no-print-directory live-build
	$(Q)sh tests/run.sh live

faults: deps ## let allocations, writes and reads of obsanalyze fail: TIME=seconds, default 20
	$(Q)$(MAKE) --no-print-directory all $(OUT)/pack $(OUT)/faulty.so
	$(Q)python3 tests/check/failing_calls.py $(or $(TIME),20)

long: deps ## flight mode under load: constant memory and descriptors (root); LONG=seconds, default 180
	$(Q)$(MAKE) --no-print-directory all
	$(Q)sh tests/long.sh

$(OUT)/obsrec-static: $(RECORD) $(FORMAT)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -static $^ $(RECORD_LIBS) -o $@

static: $(OUT)/obsrec-static ## build .output/obsrec-static, which needs no library (make kernels tests it)

cross: deps ## build for s390x (big-endian), arm64 and musl, and test there: all of the analyzer on s390x, the recorder on arm64
	$(Q)sh tests/deps.sh cross
	$(Q)for c in arm64 s390x; do \
		sh tests/cross/sysroot.sh $$c .output/sysroot/$$c && \
		$(MAKE) --no-print-directory CROSS=$$c check-build || exit 1; done
	$(Q)sh tests/cross/musl.sh .output/sysroot/musl
	$(Q)$(MAKE) --no-print-directory CROSS=musl .output/musl/obsanalyze .output/musl/pack
	$(Q)sh tests/run.sh cross

kernels: deps ## run the live tests in virtual machines with other kernels: SUITES=..., TESTS=...
	$(Q)sh tests/deps.sh kernels
	$(Q)$(MAKE) --no-print-directory live-build static
	$(Q)$(if $(filter arm64,$(SUITES)),sh tests/deps.sh arm64 && sh tests/cross/sysroot.sh arm64 .output/sysroot/arm64 && \
		$(MAKE) --no-print-directory CROSS=arm64 live-build static)
	$(Q)TESTS=$(TESTS) sh tests/run.sh kernels $(SUITES)

$(OUT)/tests/%.skel.h: $(OUT)/tests/%.bpf.o
	$(call msg,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(*F) > $@

$(OUT)/tests/programs/ringstress.o: $(OUT)/tests/programs/ringstress.skel.h
$(OUT)/ringstress: $(OUT)/tests/programs/ringstress.o $(OUT)/record/pump/ring.o $(OUT)/record/pump/rings.o $(FORMAT)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(PLACED) $^ $(RECORD_LIBS) -o $@

$(OUT)/tests/bench/bench_work.o: EXTRA = $(if $(filter x86,$(ARCH)),-fcf-protection=branch)
$(OUT)/bench_%: $(OUT)/tests/bench/bench_%.o $(FORMAT)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $^ -lsqlite3 $(RECORD_LIBS) -lzstd -lm -o $@

$(OUT)/ycsb: $(OUT)/tests/bench/ycsb.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $^ -lpthread -lm -o $@

bench bench-update: deps ## measure costs next to other tracers (root); -update: into docs/bench.md
	$(Q)$(MAKE) --no-print-directory all $(addprefix $(OUT)/bench_,gen floor work watch empty) $(OUT)/ycsb \
		$(OUT)/tests/bench/bench_empty.bpf.o
	$(Q)sh tests/bench/bench.sh $(if $(filter %-update,$@),update,run) $(WORK)

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
	$(Q)$(CC) $(CFLAGS) $(PLACED) $^ $(RECORD_LIBS) -o $@

fleet: deps ## ask the questions of obs-fleet(7) of 200 recordings, in DuckDB (npm), two ClickHouse servers (Debian) and SQLite; N=: of N
	$(Q)$(MAKE) --no-print-directory all
	$(Q)sh tests/check/duckdb.sh $(CURDIR)/$(OUT)/duckdb
	$(Q)server=$(CURDIR)/$(OUT)/clickhouse; sh tests/fleet/clickhouse.sh "$$server" || server=none; \
		python3 tests/fleet/many.py $(CURDIR)/$(OUT)/duckdb "$$server" ./obsanalyze $(N)

validate: deps ## prove the answers on real servers and scenarios: PART=..., QUICK=1 (root)
	$(Q)sh tests/validate/needs.sh
	$(Q)$(MAKE) --no-print-directory all $(OUT)/loadgen $(OUT)/wire $(OUT)/rqclock $(addprefix $(OUT)/,workload spanwork stackwork shipper hotwork crowd) $(SCENARIOS)
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

man: obsanalyze ## write the manual pages, with their chapters of events and tables, to .output/man
	$(Q)sh packaging/man.sh $(CURDIR)/obsanalyze $(CURDIR)/.output/man

# separate from the program in the tree, which finds the pictures there: one file differs
INSTALLED = $(OUT)/install$(prefix)

$(INSTALLED)/gnuplot.o: analyze/render/gnuplot.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -DPLOTS_DIR='"$(prefix)/share/obsrec/plots"' -I$(OUT) -MMD -MP -c $< -o $@

$(INSTALLED)/obsanalyze: $(filter-out %/gnuplot.o,$(ANALYZE)) $(INSTALLED)/gnuplot.o $(FORMAT) | plots/states.gp
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(PLACED) $^ $(ANALYZE_LIBS) -o $@

$(INSTALLED)/obsrec: obsrec
	$(Q)mkdir -p $(@D)
	$(Q)ln -f $< $@

install: built = $(INSTALLED)
install: share = $(DESTDIR)$(prefix)/share
# distributions differ in these two
install: unitdir = $(patsubst /usr,,$(prefix))/lib/systemd/system
install: zshdir = $(prefix)/share/zsh/site-functions
install: ## install below DESTDIR and prefix
	$(Q)$(MAKE) --no-print-directory $(built)/obsrec $(built)/obsanalyze
	install -D -m 755 $(built)/obsrec $(DESTDIR)$(prefix)/sbin/obsrec
	install -D -m 755 $(built)/obsanalyze $(DESTDIR)$(prefix)/bin/obsanalyze
	install -D -m 644 -t $(share)/obsrec/plots plots/*.gp
	install -D -m 644 -t $(share)/obsrec packaging/magic
	install -D -m 644 -t $(share)/mime/packages packaging/obsrec.xml
	for n in 1 5 7 8; do sh packaging/man.sh $(abspath $(built))/obsanalyze $(abspath $(built))/man$$n $$n && \
		install -D -m 644 -t $(share)/man/man$$n $(built)/man$$n/*.$$n || exit 1; done
	install -d $(share)/bash-completion/completions $(DESTDIR)$(zshdir) $(share)/fish/vendor_completions.d
	for p in obsrec obsanalyze; do \
		sh packaging/completion.sh $$p $(built)/$$p >$(share)/bash-completion/completions/$$p && \
		sh packaging/completion.sh $$p $(built)/$$p zsh >$(DESTDIR)$(zshdir)/_$$p && \
		sh packaging/completion.sh $$p $(built)/$$p fish >$(share)/fish/vendor_completions.d/$$p.fish || exit 1; done
	install -d $(DESTDIR)$(unitdir)
	sed 's|@sbindir@|$(prefix)/sbin|' record/obsrec.service >$(DESTDIR)$(unitdir)/obsrec.service

check-packages: ## build the packages, install and use them in bare Debian roots (root)
	$(Q)$(MAKE) --no-print-directory all
	$(Q)sh tests/run.sh package

roots: ## build and test in fresh roots of Debian releases, and with musl (root): SUITES=..., TESTS=...
	$(Q)sh tests/deps.sh roots
	$(Q)TESTS="$(TESTS)" sh tests/run.sh roots $(SUITES)

deb: ## build the Debian packages into .output/deb
	$(Q)sh packaging/deb.sh

VERSION = $(shell sed -n 's/.*OBS_VERSION "\(.*\)"/\1/p' format/version.h)

dist: ## write the sources of the last commit to .output/obsrec-VERSION.tar.gz, obsrec.spec and APKBUILD
	$(Q)mkdir -p .output
	$(Q)for f in obsrec.spec APKBUILD; do sed 's/@version@/$(VERSION)/$(if $(URL),; s|https://example.org/obsrec|$(URL)|)' packaging/$$f > .output/$$f; done
	$(Q)git archive --prefix=obsrec-$(VERSION)/ HEAD | gzip -9n > .output/obsrec-$(VERSION).tar.gz
	$(Q)cd .output && printf 'sha512sums="\n%s\n"\n' "$$(sha512sum obsrec-$(VERSION).tar.gz)" >> APKBUILD
	$(Q)echo .output/obsrec-$(VERSION).tar.gz

clean: ## remove what was built
	rm -rf .output obsrec obsanalyze demo

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 18

-include $(foreach d,$(wildcard $(addprefix $(OUT)/,analyze format record tests)),$(shell find $(d) -type f -name '*.d'))
