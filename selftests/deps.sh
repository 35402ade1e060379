#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# deps.sh build|demo|check|lint|all [KERNEL...]: install the Debian packages
# that this command needs and that are missing.  Quick if none is.

set -u

cd "$(dirname "$0")" || exit 1
command=${1:?usage: deps.sh build|demo|check|lint|all [KERNEL...]}
shift
[ $# -gt 0 ] || set -- 6.1

build="gcc libc6-dev make libnl-3-dev libnl-genl-3-dev libjansson-dev libelf-dev
	libdw-dev libpcap-dev"
vm="qemu-system-x86 busybox-static bash coreutils cpio diffutils ethtool
	findutils grep iproute2 kmod mawk nftables procps sed tar util-linux"
source="linux-source-6.1 xz-utils"
lint="cppcheck perl shellcheck sparse"

# What tests name by "# needs: PROGRAM[=PACKAGE]...".
needs()
{
	sed -n 's/^# needs: //p' ./*.sh unit/*.sh 2>/dev/null | xargs -n1 2>/dev/null |
		sed 's/.*=//'
}

case $command in
build) packages="$build" ;;
demo) packages="$build $vm gdb" ;;
check) packages="$build $vm $source gdb $(needs)" ;;
lint) packages="$build $source $lint" ;;
all) packages="$build $vm $source $lint gdb $(needs)" ;;
*) echo "deps.sh: $command: unknown" >&2; exit 2 ;;
esac

# Any installed kernel of the series will do, whatever package it came by.
for kernel; do
	case $kernel in
	6.1) suffix=cloud-amd64 ;;
	6.12) suffix=6.12-cloud-amd64 ;;
	debug-*|*/*)
		packages+=" bc bison flex libssl-dev xz-utils linux-source-6.1"
		[[ $kernel != *6.12* ]] || packages+=" linux-source-6.12"
		continue ;;
	*) suffix=$kernel ;;
	esac
	vars=$(qemu/kernel.sh "$kernel" 2>/dev/null)
	[[ $vars == *KDIR=/* ]] || packages+=" linux-headers-$suffix"
	case $command in
	build|lint) ;;
	*) [[ $vars == *IMAGE=/* ]] || packages+=" linux-image-$suffix linux-headers-$suffix" ;;
	esac
done

# shellcheck disable=SC2086	# lists of words
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $packages 2>/dev/null |
	    sed -n 's/^installed //p')
missing=
for package in $packages; do
	grep -qxF "$package" <<< "$installed" || missing+=" $package"
done
missing=$(xargs -n1 <<< "$missing" | sort -u | xargs)
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
	echo "distsnap: packages are missing; as root: apt-get install $missing" >&2
	exit 4
fi

echo "# installing $missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -q -y -o DPkg::Lock::Timeout=300)
# shellcheck disable=SC2086
if ! { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends $missing; } \
     > "$log" 2>&1 < /dev/null; then
	tail -n 30 "$log" >&2
	echo "distsnap: cannot install $missing" >&2
	exit 4
fi
