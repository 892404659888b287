# SPDX-License-Identifier: GPL-2.0-only
#
# For people; what the kernel's build system reads is in Kbuild. `make help`.

VERSION := 0.1.0

CACHE := $(or $(KVPOOL_CACHE),$(HOME)/.cache/kvpool)
KERNELS := 6.1 6.12

# Which kernel to build for: KDIR=folder, else KVER=version (a full one, or the
# name of a kernel in the cache), else the running kernel, else the newest known.
find_build = $(firstword $(wildcard $(1:%=$(CACHE)/kernels/%/build) $(1:%=/lib/modules/%/build)))
ifndef KDIR
ifdef KVER
KDIR := $(call find_build,$(KVER))
else
RUNNING := $(shell uname -r)
KDIR := $(firstword $(wildcard /lib/modules/$(RUNNING)/build) \
	$(call find_build,6.12 6.1) \
	$(lastword $(shell ls -d /lib/modules/*/build 2>/dev/null | sort -V)))
endif
endif
# What uname -r says there (include/config/kernel.release differs, on Debian's 6.1).
release := $(shell cut -d'"' -f2 '$(KDIR)/include/generated/utsrelease.h' 2>/dev/null)

# Every kernel has a build folder of its own, with links to the sources, so that
# builds for several kernels live side by side and no object lies among sources.
OUT := build/$(release)
TEST_DIRS := $(if $(wildcard tests/simdisk/Kbuild),tests/simdisk/) \
	$(if $(wildcard tests/kunit/Kbuild),$(if $(filter CONFIG_KUNIT=%,$(file < $(KDIR)/.config)),tests/kunit/))

PREFIX ?= /usr/local
# Debug data is more than ten times the module; it stays in build/, for gdb and the like. DKMS strips by itself.
STRIP ?= strip
MODULE_DIR = $(DESTDIR)/lib/modules/$(release)/updates
DKMS_DIR := $(DESTDIR)/usr/src/dm-kvpool-$(VERSION)
TOOL := $(wildcard tools/kvpoolctl/Makefile)

.PHONY: all module modules-all tool install uninstall dkms-install dkms-uninstall setup \
	deb check check-long cache-report demo clean clean-module help links need-kernel kunit-compile $(KERNELS:%=module-%)

all: module tool

help:
	@echo 'make                 the module for one kernel, and kvpoolctl'
	@echo 'make module          the module: build/<release>/dm-kvpool.ko'
	@echo 'make modules-all     the module for each of: $(KERNELS)'
	@echo 'make tool            kvpoolctl'
	@echo 'make install         module and tool (DESTDIR=, PREFIX=$(PREFIX)); also uninstall'
	@echo 'make dkms-install    the module through DKMS, rebuilt for every new kernel;'
	@echo '                     also dkms-uninstall'
	@echo 'make deb             packages for Debian 12, in build/deb'
	@echo 'make setup           what building and testing need (Debian 12; see scripts/setup -h)'
	@echo 'make check           all tests; check-long adds the slow ones'
	@echo 'make cache-report    what the policies of the caches miss, beside others'
	@echo 'make demo            a tour in a virtual machine'
	@echo 'make clean           also clean-module, for one kernel'
	@echo
	@echo 'KVER=6.1|6.12|debug|<release> or KDIR=<folder> choose the kernel to build for,'
	@echo 'now: $(or $(KDIR),none found: run make setup)'
	@echo 'W=1, C=1|2 (sparse) and V=1 are handed to the kernel build system.'

# The lock is for two people (or a test run and a person) building at once.
module: links
	+@flock $(OUT).lock $(MAKE) -C $(KDIR) M=$(CURDIR)/$(OUT) \
		KVPOOL_TEST_DIRS='$(strip $(TEST_DIRS))' modules
	@cd $(OUT) && find tests -name '*.ko' -exec ln -sf -t . {} +

$(KERNELS:%=module-%): module-%:
	+@$(MAKE) module KVER=$*

modules-all: $(KERNELS:%=module-%)

# For a kernel without KUnit: compiled, so that nobody breaks the suites unseen, and not linked
# with the kernel. What they want of ours they have to have among themselves.
kunit-compile: KUNIT_OUT := build/kunit-$(release)
kunit-compile:
	+@$(MAKE) links OUT=$(KUNIT_OUT) TEST_DIRS=tests/kunit/
	+@$(MAKE) -C $(KDIR) M=$(CURDIR)/$(KUNIT_OUT) KVPOOL_TEST_DIRS=tests/kunit/ \
		KCFLAGS='-Werror -DCONFIG_KUNIT_MODULE' tests/kunit/
	@! nm -u $(KUNIT_OUT)/tests/kunit/kvpool_kunit.o | grep ' kvp_' || \
		{ echo 'kunit-compile: no suite includes the source of these' >&2; exit 1; }

need-kernel:
	@test -e '$(KDIR)/include/generated/utsrelease.h' || { \
		echo 'No kernel headers$(if $(KVER), for $(KVER)) (looked for: $(or $(KDIR),any)).' \
		     'Install them or run: make setup' >&2; exit 1; }

# Links are made anew every time; the object of a source that went away goes too.
links: need-kernel
	@mkdir -p $(OUT)/tests && flock $(OUT).lock sh -e -c '\
		find include dm-kvpool $(TEST_DIRS) -name "*.[ch]" -o -name Kbuild | sort > $(OUT)/sources.new; \
		touch $(OUT)/sources; \
		comm -23 $(OUT)/sources $(OUT)/sources.new | sed "s|.*|$(OUT)/&|; s|c$$|o|" | xargs -r rm -f; \
		mv $(OUT)/sources.new $(OUT)/sources; \
		find $(OUT) -type l -delete; \
		ln -s $(CURDIR)/Kbuild $(OUT)/; \
		sed "s|/[^/]*$$||" $(OUT)/sources | uniq | sort -u | while read -r dir; do \
			mkdir -p $(OUT)/$$dir; \
			find $(CURDIR)/$$dir -maxdepth 1 \( -name "*.[ch]" -o -name Kbuild \) \
				-exec ln -s -t $(OUT)/$$dir {} +; \
		done'

tool:
	+$(if $(TOOL),@$(MAKE) -C tools/kvpoolctl)

install: all
	install -D -m 644 $(OUT)/dm-kvpool.ko $(MODULE_DIR)/dm-kvpool.ko
	$(STRIP) --strip-debug $(MODULE_DIR)/dm-kvpool.ko
	+$(if $(TOOL),$(MAKE) -C tools/kvpoolctl install PREFIX=$(PREFIX) DESTDIR=$(DESTDIR))
	$(if $(DESTDIR),,depmod $(release))
	$(if $(DESTDIR),,@test '$(release)' = "$$(uname -r)" || \
		echo "The module is for $(release). For the running kernel, install linux-headers-$$(uname -r)" \
			"and do this again; or boot $(release).")

# The tool goes even where the headers of the kernel have gone before.
uninstall:
	$(if $(release),rm -f $(MODULE_DIR)/dm-kvpool.ko)
	+$(if $(TOOL),$(MAKE) -C tools/kvpoolctl uninstall PREFIX=$(PREFIX) DESTDIR=$(DESTDIR))
	$(if $(DESTDIR),,$(if $(release),depmod $(release)))

dkms-install:
	$(if $(DESTDIR),,-dkms remove dm-kvpool/$(VERSION) --all >/dev/null 2>&1)
	rm -rf $(DKMS_DIR)
	mkdir -p $(DKMS_DIR)
	cp -r Kbuild LICENSE include dm-kvpool $(DKMS_DIR)/
	chmod -R u=rwX,go=rX $(DKMS_DIR)
	sed 's/@VERSION@/$(VERSION)/' packaging/dkms.conf > $(DKMS_DIR)/dkms.conf
	$(if $(DESTDIR),,dkms install dm-kvpool/$(VERSION))

dkms-uninstall:
	$(if $(DESTDIR),,-dkms remove dm-kvpool/$(VERSION) --all)
	rm -rf $(DKMS_DIR)

deb:
	scripts/deb

setup:
	scripts/setup

check: setup
	+@tests/check

check-long: setup
	+@tests/check --long

cache-report:
	+@$(MAKE) -s -C tests/cache report

demo: setup
	@echo 'Building kvpoolctl, and the module for 6.12'
	+@$(MAKE) -s tool
	+@$(MAKE) -s module KVER=6.12
	@tests/vm/run --kernel 6.12 --exec scripts/demo

clean-module: need-kernel
	rm -rf $(OUT)

clean:
	rm -rf build
	+$(if $(TOOL),$(MAKE) -C tools/kvpoolctl clean)
