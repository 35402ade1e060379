#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# initramfs.sh MODULES EXTRAS: the part of the guest that a run does not change,
# made of the host's installed programs and the kernel's modules.  Prints the
# path of the cpio archive, which is cached under a hash of all that went in.
#
# MODULES is a /lib/modules/RELEASE directory, or empty for a kernel that has
# its drivers built in.  EXTRAS are further programs, by name.

set -eu

modules=$1
extras=${2:-}
top=$(cd "$(dirname "$0")/../.." && pwd)
cache=${BUILD:-$top/build}/vm/cache

# A test may rely on these; what else it wants it names by "# needs:".
programs="
	awk bash basename cat chgrp chmod chown cmp comm cp cut date dd df
	diff dirname du echo env expr false find flock grep head hostname id
	ionice join kill ln ls mkdir mkfifo mknod mktemp mv nice nl nproc
	nsenter od paste pgrep pkill printf prlimit ps pwd readlink realpath rm
	rmdir sed seq setpriv setsid shuf sleep sort split stat stdbuf
	stty sync sysctl tac tail tar taskset tee test timeout touch tr true
	truncate uname uniq unshare wc xargs
	bridge ethtool ip kmod nft nstat ss tc $extras"

# virtio for the runner, the rest for topologies and for odd packet paths.
drivers="
	virtio_pci virtio_blk virtio_console virtio_net
	veth bridge dummy ifb macvlan ipvlan tun
	sch_netem sch_tbf sch_fq sch_fq_codel sch_ingress sch_htb sch_prio
	cls_u32 cls_bpf cls_flower cls_matchall act_mirred act_gact act_pedit act_bpf
	nf_tables nft_ct nft_nat nft_masq nft_chain_nat nft_compat nft_limit
	nft_reject_inet nft_numgen nft_exthdr nf_conntrack
	tls tcp_bbr tcp_cubic tcp_diag inet_diag unix_diag af_packet_diag
	xt_TCPMSS xt_tcpudp iptable_mangle loop"

find_program()
{
	PATH=/usr/sbin:/usr/bin:/sbin:/bin command -v -- "$1" ||
		type -P -- "$1" || { echo "initramfs: $1: no such program" >&2; return 1; }
}

# "awk" may be a shell's own word: look in the path only.
resolve()
{
	local p path d

	for p in $programs; do
		path=
		for d in /usr/sbin /usr/bin /sbin /bin; do
			[ -x "$d/$p" ] && path=$d/$p && break
		done
		[ -n "$path" ] || path=$(find_program "$p")
		echo "$path"
	done | sort -u
}

libraries()
{
	# ldd fails for a static program, which needs none.
	ldd "$@" 2>/dev/null | awk '/=> \//{print $3} /^\t\//{print $1}' | sort -u
}

# Modules with their dependencies, as paths below $modules.
module_closure()
{
	awk -v want="$drivers" '
	{
		file = $1; sub(/:$/, "", file)
		name = file; sub(/.*\//, "", name); sub(/\.ko.*/, "", name)
		gsub(/-/, "_", name)
		path[name] = file; deps[name] = $0; sub(/^[^:]*:/, "", deps[name])
	}
	END {
		n = split(want, w)
		for (i = 1; i <= n; i++)
			if (w[i] in path) {
				print path[w[i]]
				m = split(deps[w[i]], d)
				for (j = 1; j <= m; j++)
					print d[j]
			}
	}' "$modules/modules.dep" | sort -u
}

busybox=$(find_program busybox)
if ldd "$busybox" >/dev/null 2>&1; then
	echo "initramfs: $busybox is not static: install busybox-static" >&2
	exit 1
fi

mapfile -t files < <(resolve)
key=$({ cat "$0"; echo "$modules $extras"
	stat -Lc '%n %s %Y' "${files[@]}" "$busybox" /lib/x86_64-linux-gnu/libc.so.6
	[ -z "$modules" ] || stat -Lc '%n %s %Y' "$modules/modules.dep"
      } | sha256sum | cut -c1-16)
out=$cache/base-$key.cpio
if [ -s "$out" ]; then
	echo "$out"
	exit
fi

mkdir -p "$cache"
root=$(mktemp -d "$cache/tmp.XXXXXX")
trap 'rm -rf "$root"' EXIT

mkdir -p "$root"/{dev,etc,proc,run,sys,tmp,root,out} "$root"/var/{lib,tmp,log} \
	"$root"/usr/{bin,sbin,lib,lib64,share}
ln -s usr/bin usr/sbin usr/lib usr/lib64 "$root/"
ln -s ../run "$root/var/run"
cp -L "$busybox" "$root/usr/bin/busybox"
for name in $("$busybox" --list); do
	ln -s busybox "$root/usr/bin/$name" 2>/dev/null || true
done

for path in "${files[@]}"; do
	rm -f "$root/usr/bin/${path##*/}"
	cp -L --remove-destination "$path" "$root/$path"
done
for name in modprobe insmod rmmod lsmod modinfo depmod; do
	ln -sf ../bin/kmod "$root/usr/sbin/$name"
	rm -f "$root/usr/bin/$name"
done
ln -sf bash "$root/usr/bin/sh"

# glibc loads libgcc_s by itself when a thread is cancelled.
for path in $(libraries "${files[@]}") /lib64/ld-linux-x86-64.so.2 \
	    /lib/x86_64-linux-gnu/libgcc_s.so.1 /usr/libexec/coreutils/libstdbuf.so; do
	mkdir -p "$root/$(dirname "$path")"
	cp -L "$path" "$root/$path"
done

case " $extras " in
*" gdb "*)
	# Its embedded Python does not start without its own library.
	mkdir -p "$root/usr/share/gdb" "$root/usr/lib/python3.11"
	cp -rL /usr/share/gdb/. "$root/usr/share/gdb/" 2>/dev/null || true
	(cd /usr/lib/python3.11 && tar -cf - --exclude=__pycache__ \
		--exclude=dist-packages --exclude=test ./*.py encodings collections \
		re importlib json) | tar -xf - -C "$root/usr/lib/python3.11"
	;;
esac

for path in /etc/protocols /etc/services /etc/iproute2 /etc/libnl-3 /etc/ethertypes \
	    /usr/lib/iproute2 /usr/lib/tc; do
	[ -e "$path" ] || continue
	mkdir -p "$root/$(dirname "$path")"
	cp -rL "$path" "$root/$(dirname "$path")/"
done
echo 'root:x:0:0:root:/root:/bin/bash
nobody:x:65534:65534:nobody:/:/bin/false' > "$root/etc/passwd"
echo 'root:x:0:
nogroup:x:65534:' > "$root/etc/group"
echo '127.0.0.1 localhost guest' > "$root/etc/hosts"
echo 'passwd: files
group: files
hosts: files' > "$root/etc/nsswitch.conf"

if [ -n "$modules" ]; then
	dest=$root/lib/modules/${modules##*/}
	mkdir -p "$dest"
	(cd "$modules" && module_closure | cpio -pdL --quiet "$dest")
	cp "$modules"/modules.{builtin,order} "$dest/"
	[ ! -e "$modules/modules.builtin.modinfo" ] ||
		cp "$modules/modules.builtin.modinfo" "$dest/"
	depmod -b "$root" "${modules##*/}"
fi

(cd "$root" && find . -print0 | sort -z |
	cpio -0o -H newc -R 0:0 --quiet) > "$root.cpio"
mv "$root.cpio" "$out"
# Keep a few: one per kernel and set of extras.
find "$cache" -name 'base-*.cpio' -mtime +7 -delete
echo "$out"
