#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# demo.sh KERNEL: selftests/demo.sh in the guest, the last snapshot on the host.

set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cd "$top" || exit 1
build=${BUILD:-$top/build}
shown=${build#"$top"/}

rm -rf "$build/demo"
mkdir -p "$build/demo"
echo "Starting Linux $1 in an emulated machine; this takes a few seconds."
"$here/run.sh" --kernel "$1" --quiet --timeout 900 --idle 300 --out "$build/demo" \
	--env "SEED=${SEED:-$((RANDOM * 32768 + RANDOM))}" --log "$build/demo/console.log" \
	-- selftests/demo.sh |
	# The verdict comes last, after where to look.
	while IFS= read -r line; do
		case $line in
		"demo: "*) echo "$line" > "$build/demo/verdict" ;;
		*) printf '%s\n' "$line" ;;
		esac
	done
rc=${PIPESTATUS[0]}

if [ -d "$build/demo/snapshot" ]; then
	core=$(find "$build/demo/snapshot/nodes" -name core 2>/dev/null | sort | head -n 1)
	echo
	echo "The last snapshot is in $shown/demo/snapshot.  Look at it:"
	echo "  $shown/tools/distsnap show $shown/demo/snapshot"
	[ -z "$core" ] ||
		echo "  gdb $shown/selftests/bank ${core#"$top"/}"
	echo
fi
if [ "$rc" -eq 0 ] && [ ! -s "$build/demo/verdict" ]; then
	echo "demo.sh: no verdict; the console is in $shown/demo/console.log" >&2
	rc=123
fi
cat "$build/demo/verdict" 2>/dev/null
exit "$rc"
