#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# kernel.sh KERNEL: what a kernel's name stands for, as shell assignments.
#
#   6.1, 6.12       the newest installed Debian cloud kernel of that series
#   a release       such as 6.1.0-57-cloud-amd64, installed
#   a directory     a kernel build tree (bzImage built); its drivers built in
#                   or installed below DIR/modules (INSTALL_MOD_PATH)
#   debug-*         the build tree build/kernels/debug-*
#
# RELEASE   what uname -r says        IMAGE     the bzImage, empty if none
# MODULES   /lib/modules/RELEASE      KDIR      what a module builds against
#
# KERNELIMAGE=, if set, replaces IMAGE.

set -u

die()
{
	echo "kernel.sh: $*" >&2
	exit 1
}

# Image and headers together are best, headers alone still build a module.
newest()
{
	local rel best=

	for rel in $(find /lib/modules -mindepth 1 -maxdepth 1 \
		     -name "$1[.+-]*cloud-amd64" -printf '%f\n' | sort -V); do
		[ -d "/lib/modules/$rel/build" ] || continue
		[ -e "/boot/vmlinuz-$rel" ] || [ -z "$best" ] || continue
		best=$rel
	done
	echo "$best"
}

name=${1:?usage: kernel.sh KERNEL}
top=$(cd "$(dirname "$0")/../.." && pwd)

case $name in
debug-*)
	name=${BUILD:-$top/build}/kernels/$name
	;;
esac

if [[ $name == */* ]]; then
	KDIR=$(cd "$name" 2>/dev/null && pwd) || die "$name: no such kernel build tree"
	RELEASE=$(sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
		  "$KDIR/include/generated/utsrelease.h" 2>/dev/null)
	[ -n "$RELEASE" ] ||
		die "$name: not a configured kernel build tree"
	IMAGE=$KDIR/arch/x86/boot/bzImage
	MODULES=$KDIR/modules/lib/modules/$RELEASE
else
	if [ -d "/lib/modules/$name" ]; then
		RELEASE=$name
	else
		RELEASE=$(newest "$name")
	fi
	[ -n "$RELEASE" ] ||
		die "$name: no such kernel with headers is installed; try: make deps KERNEL=$name"
	KDIR=/lib/modules/$RELEASE/build
	IMAGE=/boot/vmlinuz-$RELEASE
	MODULES=/lib/modules/$RELEASE
fi

IMAGE=${KERNELIMAGE:-$IMAGE}
[ -e "$IMAGE" ] || IMAGE=
[ -e "$MODULES/modules.dep" ] || MODULES=
printf '%s=%q\n' RELEASE "$RELEASE" IMAGE "$IMAGE" MODULES "$MODULES" KDIR "$KDIR"
