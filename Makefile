# SPDX-License-Identifier: GPL-2.0
#
# distsnap: consistent snapshots of running distributed programs.
# "make help" says what there is.

BUILD	:= $(CURDIR)/build
# One protection less, see kmod/mutant.h; it must not be taken for the real thing.
ifneq ($(MUTANT),)
BUILD	:= $(BUILD)/mutants/$(MUTANT)
endif
# With points to stop at, see kmod/fault.h.
ifneq ($(FAULTS),)
BUILD	:= $(BUILD)/faults
endif
export BUILD

# The kernel: a KERNEL that selftests/qemu/kernel.sh knows, or a KDIR; without
# either, the running one if its headers are there, else Debian's.
ifeq ($(KDIR),)
ifeq ($(KERNEL),)
KDIR	:= $(wildcard /lib/modules/$(shell uname -r)/build)
endif
ifeq ($(KDIR),)
KDIR	:= $(shell selftests/qemu/kernel.sh $(or $(KERNEL),6.1) 2>/dev/null | \
		   sed -n 's/^KDIR=//p')
endif
endif
ifneq ($(KDIR),)
RELEASE	:= $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
		   $(KDIR)/include/generated/utsrelease.h)
endif
VMKERNEL := $(or $(KERNEL),6.1)

MODDIR	:= $(BUILD)/$(or $(RELEASE),none)

all: module tools

TOOLLIB	:= $(BUILD)/tools/libdistsnap.a

include selftests/Makefile

## The module

# Kbuild writes beside the sources that it is given: give it links to them.
MODSRC	:= Kbuild $(wildcard kmod/*)
MODLINK	:= $(MODSRC:%=$(MODDIR)/%) $(MODDIR)/uapi

$(filter-out $(MODDIR)/uapi,$(MODLINK)): $(MODDIR)/%:
	@mkdir -p $(@D)
	@ln -sfn $(CURDIR)/$* $@

$(MODDIR)/uapi:
	@mkdir -p $(@D)
	@ln -sfn $(CURDIR)/uapi $@

W ?= 1

# The kernel's BTF is not to be had from header packages; kbuild would say so.
module: module-links
	@+flock -o $(MODDIR)/.lock $(MAKE) --no-print-directory -C $(KDIR) \
		M=$(MODDIR) W=$(W) CONFIG_DEBUG_INFO_BTF_MODULES= modules
	@echo "  MODULE  $(MODDIR:$(CURDIR)/%=%)/distsnap.ko"

module-links: have-kernel $(MODLINK)
	@find $(MODDIR) -xtype l -delete

have-kernel:
	@[ -n "$(KDIR)" ] || { \
		echo "no kernel headers for KERNEL=$(VMKERNEL): try 'make deps', or give KDIR=" >&2; \
		exit 1; }

## The tools

CFLAGS	?= -O2 -g
WARN	:= -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers \
	   -Wno-sign-compare -Wmissing-prototypes -Wstrict-prototypes -Wundef \
	   -Wpointer-arith -Wvla
# An empty _GNU_SOURCE, so that a file may define it too.
CPPFLAGS := -D_GNU_SOURCE= -Iuapi -Itools -Iselftests -I/usr/include/libnl3
CPPFLAGS += $(if $(MUTANT),-DDISTSNAP_MUTANT=$(MUTANT))
CCFLAGS	 = -std=gnu11 $(CFLAGS) $(WARN) $(CPPFLAGS) -MMD -MP
LIBS	:= -Wl,--as-needed -lnl-genl-3 -lnl-3 -ljansson -ldw -lelf -lpthread

TOOLOBJ	:= $(patsubst tools/%.c,$(BUILD)/tools/obj/%.o,$(wildcard tools/*.c))

tools: $(BUILD)/tools/distsnap

$(BUILD)/tools/distsnap: $(TOOLOBJ)
	@echo "  LD      $(@:$(CURDIR)/%=%)"
	@$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(TOOLOBJ) $(LIBS)

# All but the dispatcher, for tests.
$(TOOLLIB): $(filter-out %/distsnap.o,$(TOOLOBJ))
	@rm -f $@
	@$(AR) rcs $@ $^

$(BUILD)/tools/obj/%.o: tools/%.c
	@echo "  CC      $<"
	@mkdir -p $(@D)
	@$(CC) $(CCFLAGS) -c -o $@ $<

-include $(TOOLOBJ:.o=.d)

## Running things

JOBS	= $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

# The packages that a command needs are installed on the way.
deps:
	@selftests/deps.sh all $(VMKERNEL)

demo:
	@selftests/deps.sh demo $(VMKERNEL)
	@+$(MAKE) $(JOBS) --no-print-directory module tools programs KERNEL=$(VMKERNEL)
	@selftests/qemu/demo.sh $(VMKERNEL)

# One after the other; a debug kernel is built while the others are tested on.
KERNELS	:= $(or $(KERNEL),6.1 6.12 debug-6.1)

check:
	@selftests/deps.sh check $(KERNELS)
	@+selftests/qemu/check.sh $(if $(T),-t '$(T)') $(KERNELS)

# KASAN, lockdep, kmemleak ...; each is built once, which takes about a quarter of an hour.
DEBUGKERNELS := debug-6.1 debug-6.12

check-debug:
	@$(MAKE) --no-print-directory check KERNELS="$(DEBUGKERNELS)" ALL=1

# Every fault at every step of a snapshot.
faults:
	@+$(MAKE) --no-print-directory check T=faults ALL=1 TIMEOUT_SCALE=4 KERNELS="$(VMKERNEL)"

# M='NAME...' tries some.
mutants:
	@selftests/deps.sh check $(VMKERNEL)
	@+$(MAKE) $(JOBS) --no-print-directory all selftests KERNEL=$(VMKERNEL)
	@+selftests/qemu/mutants.sh $(VMKERNEL) $(M)

N	?= 1000

soak:
	@selftests/deps.sh check $(VMKERNEL)
	@$(if $(filter debug-%,$(VMKERNEL)),selftests/qemu/debug-kernel.sh $(VMKERNEL:debug-%=%))
	@+$(MAKE) $(JOBS) --no-print-directory module tools programs KERNEL=$(VMKERNEL)
	@selftests/qemu/run.sh --kernel $(VMKERNEL) --quiet --mem 3G \
		--timeout $$(($(N) * 20 + 900)) --idle 900 --log $(BUILD)/soak/console.log \
		--env SEED=$(SEED) -- selftests/soak.sh $(VMKERNEL) $(N)

campaign:
	@selftests/deps.sh check $(VMKERNEL)
	@+$(MAKE) $(JOBS) --no-print-directory module tools programs KERNEL=$(VMKERNEL)
	@selftests/qemu/run.sh --kernel $(VMKERNEL) --quiet --mem 3G \
		--timeout $$(($(N) * 10 + 600)) --idle 900 --log $(BUILD)/campaign/console.log \
		--env SEED=$(SEED) --env SNAPS=$(N) -- selftests/campaign.sh

# FIGURES='NAME...' obtains some.
bench:
	@selftests/deps.sh check $(VMKERNEL)
	@+$(MAKE) $(JOBS) --no-print-directory module tools programs KERNEL=$(VMKERNEL)
	@selftests/qemu/run.sh --kernel $(VMKERNEL) --quiet --no-module --icount 0 --mem 3G \
		--timeout 5400 --idle 900 --log $(BUILD)/bench/console.log --with tcpdump \
		--env SEED=$(SEED) --env ROUNDS=$(ROUNDS) -- selftests/bench.sh $(FIGURES)

# What of lint is about form.
style:
	@selftests/deps.sh lint $(VMKERNEL)
	@+$(MAKE) -s --no-print-directory $(LINTDEPS)
	@+selftests/lint.sh $(VMKERNEL) style

lint:
	@selftests/deps.sh lint $(VMKERNEL)
	@+$(MAKE) -s --no-print-directory $(LINTDEPS)
	@+selftests/lint.sh $(VMKERNEL)

clean:
	rm -rf $(BUILD)

help:
	@echo "make                module and tools, into build/"
	@echo "make module         build/RELEASE/distsnap.ko, for KERNEL= or KDIR="
	@echo "make tools          build/tools/distsnap"
	@echo "make selftests      the programs and tests, into build/selftests"
	@echo "make demo           watch three banks being photographed, in an emulated machine"
	@echo "make check          the tests;  T=NAME  one of them;  ALL=1  the redundant, too"
	@echo "make check-debug    all tests on kernels that check every access, lock and leak"
	@echo "make mutants        are the tests able to fail?  M='NAME...' tries some of them"
	@echo "make faults         at each step of a snapshot: kill, unload, take away"
	@echo "make soak N=1000    many snapshots over a bad network, audited to the byte"
	@echo "make campaign N=1000  ... of connections of all kinds, on a network that changes"
	@echo "make bench          what it costs, against the goals;  ROUNDS=N, FIGURES='NAME...'"
	@echo "make lint           sparse, checkpatch, cppcheck, shellcheck"
	@echo "make style          of these, checkpatch and shellcheck"
	@echo "make deps           install the Debian packages for all of these"
	@echo "make clean          remove build/"
	@echo
	@echo "KERNEL=6.1|6.12|RELEASE|BUILD-TREE   the kernel (default 6.1 for demo, the"
	@echo "                                     running one for the module)"
	@echo "KERNELS='6.1 6.12 debug-6.1'         for check, one after the other (default)"
	@echo "SEED=N                               repeat a test with its random choices"
	@echo "C=1                                  sparse on what is compiled"

.PHONY: all module module-links have-kernel tools selftests programs deps demo \
	check check-debug faults mutants soak campaign bench style lint clean help
