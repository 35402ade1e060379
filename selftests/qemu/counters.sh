#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# counters.sh KERNEL TAP: has each counter of the module moved in some test of this
# kernel?  One that never does counts nothing, or no test provokes it.  lib.sh's tests
# say at their end "# moved: NAME...".  The results are those of a test "counters".

set -u

cd "$(dirname "$0")/../.." || exit 1
kernel=$1
tap=$2

# What no test moves on an ordinary kernel, and what it would take.  failslab: memory that
# runs out, which nomem sees to on debug kernels.  The others are demanded nowhere.
NEEDS='
births_missed	failslab
tombs_missed	a thousand connections of one member that end within seconds
gone		a connection that comes to another member while its cut is open
'

needs()
{
	awk -v name="$1" '$1 == name { print $2 }' <<< "$NEEDS"
}

# ran NAME: that test has, to its end, and was not skipped
ran()
{
	awk -v name="$1" '
	$1 == "#" && $2 == "begin" { inside = $3 == name; skipped = 0 }
	inside && /^1\.\.0 # SKIP/ { skipped = 1 }
	$1 == "#" && $2 == "end" && $3 == name { ok = !skipped }
	END { exit !ok }' "$tap"
}

# demanded NAME: by what this kernel has run
demanded()
{
	case $(needs "$1") in
	failslab) [[ $kernel == debug-* ]] && ran nomem ;;
	"") [[ $kernel != debug-* ]] ;;	# few tests run on those
	*) return 1 ;;
	esac
}

moved=" $(sed -n 's/^# moved://p' "$tap" | xargs) "
n=0
echo "# begin counters 1"
while read -r name; do
	demanded "$name" || continue
	n=$((n + 1))
	if [[ $moved == *" $name "* ]]; then
		echo "ok $n - $name has moved"
	else
		echo "not ok $n - $name has moved in no test"
	fi
done < <(sed -n 's/^\tX(\([a-z_]*\)).*/\1/p' kmod/counters.h)
echo "1..$n"
echo "# end counters 0 0"
