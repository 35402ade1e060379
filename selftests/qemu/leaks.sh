# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced in the guest: is the kernel as clean as before the test?  Each check
# prints what it found, one line each, and fails if it printed any.

# What a kernel says when it is hurt but goes on.
DMESG_BAD='WARNING:|BUG:|BUG |Oops|Call Trace|general protection|Kernel panic'
DMESG_BAD+='|refcount_t|suspicious RCU|possible (recursive|circular|irq) |INFO: task'
DMESG_BAD+='|(list_add|list_del) corruption|Slab cache still has objects|bad: scheduling'
DMESG_BAD+='|unregister_netdevice: waiting|unreferenced object|rcu.*(stall|detected)'
DMESG_BAD+='|UBSAN:|KASAN:|KCSAN:|inconsistent lock state|sleeping function called'

# dmesg_mark TEXT: lines before the mark are not looked at again
dmesg_mark()
{
	DMESG_MARK="distsnap-mark $1 $RANDOM"
	echo "<6>$DMESG_MARK" > /dev/kmsg
}

dmesg_since_mark()
{
	dmesg | awk -v mark="${DMESG_MARK:-}" '
		{ line[NR] = $0 }
		mark != "" && index($0, mark) { first = NR }
		END { for (i = first + 1; i <= NR; i++) print line[i] }'
}

dmesg_clean()
{
	local found

	found=$(dmesg_since_mark | grep -E "$DMESG_BAD" | head -n 5)
	[ -n "$found" ] || return 0
	while read -r line; do
		echo "kernel log: $line"
	done <<< "$found"
	return 1
}

# A module that cannot go away hangs rmmod for ever, so do not wait for rmmod.
# Refused, it is tried again: what a killed process held takes a moment to go.
module_unload()
{
	local tick rmmod
	# A busy machine may take long to see each of its tasks sleep (RCU tasks).
	local ticks=${DEBUG_KERNEL:+900}
	ticks=${ticks:-200}

	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ -d /sys/module/distsnap ] || return 0
		rmmod distsnap 2> /tmp/rmmod.err &
		rmmod=$!
		for tick in $(seq "$ticks"); do
			kill -0 $rmmod 2>/dev/null || break
			[ "$tick" -lt "$ticks" ] || {
				echo "module: rmmod hangs"
				sed 's/^/module: /' "/proc/$rmmod/stack"
				return 1
			}
			sleep 0.1
		done
		wait $rmmod && return 0
		sleep 0.3
	done
	echo "module: $(cat /tmp/rmmod.err) (refcnt $(cat /sys/module/distsnap/refcnt 2>/dev/null))"
	return 1
}

# The children of kthreadd.  A shared worker keeps the name of the queue that it
# served last after a '-'; a '+' says that it still does.
threads_gone()
{
	local found

	# A pooled kworker goes on to show the name of its last work queue.
	found=$(ps -o pid=,comm= --ppid 2 | grep distsnap | grep -v kworker)
	[ -n "$found" ] || return 0
	echo "kernel threads left: $(xargs <<< "$found")"
	return 1
}

# Caches are named distsnap*; a debug kernel does not merge them.
caches_gone()
{
	local found

	found=$(grep -o '^distsnap[^ ]*' /proc/slabinfo 2>/dev/null | xargs)
	[ -n "$found" ] || return 0
	echo "slab caches left: $found"
	return 1
}

# Once, before the verdict, as it takes half a minute: who has lost an object is in its
# trace.  Twice, as an object is reported only when a second scan misses it too.
kmemleak_clean()
{
	local file=/sys/kernel/debug/kmemleak

	[ -w $file ] || return 0
	echo scan > $file 2>/dev/null || return 0
	sleep 5
	echo scan > $file
	[ -s $file ] || return 0
	grep -q . $file || return 0
	sed 's/^/kmemleak: /' $file | head -n 60
	return 1
}

# leak_check: unload the module and look for whatever stayed behind
leak_check()
{
	local ret=0

	module_unload || ret=1
	threads_gone || ret=1
	caches_gone || ret=1
	dmesg_clean || ret=1
	return $ret
}

# hang_report: who waits for what
hang_report()
{
	local pid

	ps -N --ppid 2 -p 2 -o pid,ppid,stat,wchan:24,args | sed 's/^/#   /'
	for pid in $(ps -eo pid=,stat=,comm= | awk '$2 ~ /^D/ || $3 ~ /distsnap/ { print $1 }'); do
		echo "# stack of $pid ($(cat "/proc/$pid/comm")):"
		sed 's/^/#   /' "/proc/$pid/stack"
	done 2>/dev/null
	echo "# kernel log:"
	dmesg | tail -n 30 | sed 's/^/#   /'
}
