#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# debug-kernel.sh SERIES: build build/kernels/debug-SERIES, a kernel with KASAN,
# lockdep, kmemleak, failslab and lock-up detectors, from Debian's source package
# (linux-source-SERIES).  Does nothing when it is there for the same
# configuration and source.

set -eu

series=${1:?usage: debug-kernel.sh 6.1|6.12}
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${BUILD:-$top/build}
dir=$build/kernels/debug-$series
archive=/usr/src/linux-source-$series.tar.xz
jobs=${JOBS:-$(nproc)}

[ -e "$archive" ] || {
	echo "debug-kernel.sh: no $archive: install linux-source-$series" >&2
	exit 1
}

stamp=$(cat "$here/debug.config" "$0" <(dpkg-query -W "linux-source-$series") | sha256sum)
if [ -e "$dir/.built" ] && [ "$(cat "$dir/.built")" = "$stamp" ]; then
	exit 0
fi

if [ ! -e "$dir/Makefile" ]; then
	rm -rf "$dir" "$dir.tmp"
	mkdir -p "$dir.tmp"
	echo "  UNPACK  $archive"
	tar -C "$dir.tmp" --strip-components=1 -xf "$archive"
	mv "$dir.tmp" "$dir"
fi

echo "  BUILD   debug kernel $series (about a quarter of an hour; log: $dir.log)"
{
	make -C "$dir" tinyconfig
	(cd "$dir" && scripts/kconfig/merge_config.sh -m .config "$here/debug.config")
	make -C "$dir" olddefconfig
} > "$dir.log" 2>&1
for option in KASAN PROVE_LOCKING DEBUG_KMEMLEAK FAILSLAB; do
	grep -q "^CONFIG_$option=y" "$dir/.config" || {
		echo "debug-kernel.sh: CONFIG_$option did not survive" >&2
		exit 1
	}
done
make -C "$dir" -j"$jobs" bzImage modules >> "$dir.log" 2>&1 || {
	tail -n 20 "$dir.log" >&2
	exit 1
}
echo "$stamp" > "$dir/.built"
