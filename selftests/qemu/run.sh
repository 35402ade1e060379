#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Boot a kernel in QEMU (emulated, never KVM) and run one script in it.

set -u

usage()
{
	cat <<EOF
usage: run.sh [OPTIONS] -- SCRIPT [ARGS...]

Boots a kernel in an initramfs made of the host's own programs, loads
distsnap.ko, runs SCRIPT there as root and exits with its status.

  --kernel K       6.1 (default), 6.12, a release, or a kernel build tree
  --timeout S      give up after S seconds (default 300)
  --idle S         give up after S seconds without output
  --out DIR        unpack what the guest left in /out here
  --append ARGS    more kernel command line
  --env NAME=VAL   set in the guest (repeatable)
  --with PROG      copy one more host program into the guest (repeatable)
  --copy FILE      copy one more file to /distsnap/files (repeatable)
  --module FILE    the module (default build/RELEASE/distsnap.ko)
  --module-args A  its parameters
  --no-module      do not load it; the script does, if there is one
  --mem SIZE       guest memory (default 2G)    --smp N   CPUs (default 2)
  --cpu MODEL      QEMU's (default max without AVX, which is slow to emulate)
  --icount N       one CPU, on which an instruction takes 2^N ns and idling no
                   time of ours: what takes how long no longer depends on us
  --log FILE       keep the console log here (default build/vm/console.log)
  --quiet          do not say what the outcome was

In the guest: /distsnap/selftests (the scripts), build/tools and build/selftests
on the PATH, /distsnap/distsnap.ko, /out for results.

Exit status: SCRIPT's own if the kernel stayed clean; 120 a leak or a warning
after it, 121 the kernel crashed, 122 it hung until the timeout, 123 it stopped
without a verdict, 2 usage, 3 cannot start.
EOF
	exit "$1"
}

die()
{
	echo "run.sh: $*" >&2
	exit 3
}

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${BUILD:-$top/build}

kernel=${KERNEL:-6.1}
limit=300
idle=
out=
append=
mem=2G
smp=2
cpu=max,-avx,-avx2
icount=
log=$build/vm/console.log
load=1
module=
module_args=
quiet=
envs=()
extras=()
copies=()

while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=$2; shift ;;
	--timeout) limit=$2; shift ;;
	--idle) idle=$2; shift ;;
	--out) out=$2; shift ;;
	--append) append=$2; shift ;;
	--env) envs+=("$2"); shift ;;
	--with) extras+=("$2"); shift ;;
	--copy) copies+=("$2"); shift ;;
	--module) module=$2; shift ;;
	--module-args) module_args=$2; shift ;;
	--no-module) load= ;;
	--mem) mem=$2; shift ;;
	--smp) smp=$2; shift ;;
	--cpu) cpu=$2; shift ;;
	--icount) icount=$2; shift ;;
	--log) log=$2; shift ;;
	--quiet) quiet=1 ;;
	--help|-h) usage 0 ;;
	--) shift; break ;;
	-*) echo "run.sh: $1: unknown option" >&2; usage 2 >&2 ;;
	*) break ;;
	esac
	shift
done
[ $# -gt 0 ] || usage 2 >&2

script=$1
shift
[ -f "$script" ] || die "$script: no such script"
command -v qemu-system-x86_64 >/dev/null || die "no qemu-system-x86_64; try: make deps"

vars=$("$here/kernel.sh" "$kernel") || exit 3
eval "$vars"
# shellcheck disable=SC2153	# all of these come from kernel.sh
[ -n "$IMAGE" ] || die "$kernel: no kernel image is installed; try: make deps KERNEL=$kernel"
[ -z "$module" ] || [ -e "$module" ] || die "$module: no such module"
[ -n "$module" ] || module=$build/$RELEASE/distsnap.ko
if [ ! -e "$module" ]; then
	[ -z "$load" ] || die "$module: not built; try: make module KERNEL=$kernel"
	module=
fi

base=$("$here/initramfs.sh" "$MODULES" "$(printf '%s\n' ${extras[@]+"${extras[@]}"} |
		sort -u | xargs)") || die "cannot make the initramfs"

mkdir -p "$build/vm"
# What a killed run left.
find "$build/vm" -maxdepth 1 -name 'run.*' -mmin +600 -exec rm -rf {} +
work=$(mktemp -d "$build/vm/run.XXXXXX")
qemu_pid=
trap '[ -z "$qemu_pid" ] || kill "$qemu_pid" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# What belongs to this run: scripts, programs, the module, the command.
overlay()
{
	local root=$work/root path

	mkdir -p "$root/distsnap"/{bin,files,selftests}
	(cd "$top/selftests" && find . -type f ! -name '*.[cho]' -print0 |
		cpio -0pd --quiet "$root/distsnap/selftests")
	for path in "$build"/tools/* "$build"/selftests/*; do
		if [ -f "$path" ] && [ -x "$path" ]; then
			cp "$path" "$root/distsnap/bin/"
		fi
	done
	for path in ${copies[@]+"${copies[@]}"}; do
		cp -rL "$path" "$root/distsnap/files/" || return 1
	done
	[ -z "$module" ] || cp "$module" "$root/distsnap/distsnap.ko"

	find "$root/distsnap/bin" -type f -exec ldd {} + 2>/dev/null |
		awk '/=> \//{print $3}' | sort -u |
		while read -r path; do
			mkdir -p "$root/usr/$(dirname "${path#/usr}")"
			cp -L "$path" "$root/usr/${path#/usr}"
		done

	path=$(realpath "$script")
	case $path in
	"$top"/selftests/*)
		guest=/distsnap/${path#"$top"/}
		;;
	*)
		guest=/distsnap/files/${path##*/}
		cp "$path" "$root/$guest"
		chmod +x "$root/$guest"
		;;
	esac

	{
		printf 'export %q\n' ${envs[@]+"${envs[@]}"} | grep -v "^export ''$"
		printf 'export DISTSNAP_KO=/distsnap/distsnap.ko DISTSNAP_GUEST=1\n'
		# By the guest's clock, which need not be ours.
		printf 'GUEST_LIMIT=%q\n' "$([ -n "$icount" ] && echo 0 || echo "$limit")"
		printf 'GUEST_MODULE=%q\n' "${load:+${module:+1}}"
		printf 'GUEST_MODULE_ARGS=%q\n' "$module_args"
		printf 'GUEST_COMMAND=(%s)\n' "$(printf '%q ' "$guest" "$@")"
	} > "$root/distsnap/env"

	cp "$here/init" "$root/init"
	chmod +x "$root/init"
	(cd "$root" && find . -print0 | cpio -0o -H newc -R 0:0 --quiet) > "$work/overlay.cpio" &&
		cat "$base" "$work/overlay.cpio" > "$work/initrd" &&
		rm -rf "$root" "$work/overlay.cpio"
}

overlay "$@" || die "cannot make the initramfs"
truncate -s 16G "$work/disk"

cmdline="console=ttyS0 loglevel=5 log_buf_len=4M panic=-1 panic_on_warn=1 oops=panic"
cmdline+=" slab_nomerge mitigations=off nokaslr tsc=reliable rdinit=/init net.ifnames=0"
# Debug kernels can let our allocations fail, and ours alone.
[[ $kernel != debug-* ]] || cmdline+=" slub_debug=A,distsnap_*"
[ -z "$append" ] || cmdline+=" $append"

# The guest's counter is this machine's; it cannot measure it when we are busy.
tsckhz=$build/vm/cache/tsckhz
if [ ! -x "$tsckhz" ]; then
	${CC:-gcc} -O2 -o "$work/tsckhz" "$here/tsckhz.c" && mv "$work/tsckhz" "$tsckhz"
fi
khz=$("$tsckhz") || die "cannot run $tsckhz"

accel=(-accel "tcg,thread=multi" -smp "$smp")
if [ -n "$icount" ]; then
	accel=(-accel "tcg,thread=single" -smp 1 -icount "shift=$icount,sleep=off")
	# The counter counts nanoseconds then.
	khz=1000000
	# A repeated "movsb" would be one instruction for each byte.
	cpu+=,-erms,-fsrm
fi
cmdline+=" tsc_early_khz=$khz"

# The file is opened anew by qemu, so the live port goes through a pipe: a
# terminal or a log of the caller's is neither truncated nor set non-blocking.
mkfifo "$work/live"
tee "$work/live.log" < "$work/live" &
tee_pid=$!
start=$EPOCHREALTIME
timeout -k 5 "$limit" qemu-system-x86_64 -machine q35 "${accel[@]}" \
	-cpu "$cpu" -m "$mem" -display none -nodefaults -no-user-config \
	-no-reboot -kernel "$IMAGE" -initrd "$work/initrd" -append "$cmdline" \
	-chardev "file,id=console,path=$work/console" -serial chardev:console \
	-chardev "file,id=live,path=$work/live" -serial chardev:live \
	-chardev "file,id=verdict,path=$work/verdict" -serial chardev:verdict \
	-drive "file=$work/disk,format=raw,if=virtio,cache=unsafe" \
	< /dev/null 2> "$work/qemu.err" &
qemu_pid=$!
if [ -n "$idle" ]; then
	while sleep 2 && kill -0 $qemu_pid; do
		[ $(($(date +%s) - $(stat -c %Y "$work/live.log"))) -ge "$idle" ] || continue
		touch "$work/idle"
		kill "$qemu_pid"
		break
	done > /dev/null 2>&1 &
fi
wait "$qemu_pid"
rc=$?
qemu_pid=
# Nothing opened the pipe if qemu did not come that far.
timeout 5 bash -c ": >> '$work/live'" &
wait "$tee_pid"
took=$(((${EPOCHREALTIME/./} - ${start/./}) / 100000))
took=${took%?}.${took: -1}

mkdir -p "$(dirname "$log")"
cp "$work/console" "$log" 2>/dev/null || : > "$log"

# The console is believed more than the guest's own word.
hurt='Kernel panic|WARNING: |BUG: |Oops: |general protection fault|Call Trace:|KASAN: |UBSAN: '
verdict=$(sed -n 's/^verdict: //p' "$work/verdict" 2>/dev/null | tail -n 1)
status=$(sed -n 's/^status //p' "$work/verdict" 2>/dev/null | tail -n 1)

uptime=$(sed -n 's/^uptime \([0-9]*\).*/\1/p' "$work/verdict" 2>/dev/null)
[ -n "$icount" ] || [ "${uptime:-0}" -le $((${took%.*} + 5)) ] ||
	echo "# run.sh: the guest's clock ran too fast: $uptime s instead of $took s" >&2

if grep -aqE "$hurt" "$log"; then
	result=121
	why="the kernel crashed or warned: $(grep -aE "$hurt" "$log" | head -n 1)"
elif [ $rc -eq 124 ] || [ $rc -eq 137 ]; then
	result=122
	why="no end after $took s"
elif [ -e "$work/idle" ]; then
	result=122
	why="no word for $idle s"
elif [ $rc -ne 0 ]; then
	result=3
	why="qemu failed: $(tail -n 1 "$work/qemu.err")"
elif [ -z "$verdict" ]; then
	result=123
	why="the guest stopped without a verdict"
elif [ "$verdict" != pass ]; then
	result=120
	why=$verdict
else
	[[ $status =~ ^[0-9]+$ ]] && result=$status || result=123
	why="status $status"
fi

if [ -n "$out" ]; then
	mkdir -p "$out"
	# An untouched disk is all holes.
	if [ "$(stat -c %b "$work/disk")" -gt 0 ]; then
		tar -C "$out" -xf "$work/disk" --no-same-owner ||
			{ [ "$result" -ne 0 ] || { result=120; why="results unreadable"; }; }
	fi
fi

if [ "$result" -ge 120 ]; then
	# From the first cry on, else the end.
	lines=${CONSOLE_LINES:-50}
	from=$(grep -anE "$hurt" "$log" | head -n 1 | cut -d: -f1)
	from=${from:-$(($(wc -l < "$log") - 15))}
	echo "# run.sh: the console ($log):"
	sed -n "$((from > 5 ? from - 5 : 1)),\$p" "$log" | head -n "$lines" |
		sed 's/^/#   /'
fi >&2
[ -n "$quiet" ] && [ "$result" -eq 0 ] ||
	echo "# run.sh: $RELEASE ${took} s: $([ "$result" -eq 0 ] && echo pass || echo "FAIL ($result)"): $why" >&2
exit "$result"
