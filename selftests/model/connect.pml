/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A connection that begins: member 0 connects to member 1; see rules.pml, and
 * kmod/handshake.h.  SYN, SYN-ACK and the first segments of direction 0 are sets, too.
 */
#define CONNECT

/*
 * What a member shows in a probe: 0 it is white, 1 the epoch lies behind it and is
 * open, 2 it lies behind it; ds_probe_compose(), still_open()
 */
#define SHOWS(m)	(!mem[m].level -> 0 : \
			 (mem[m].level == mem[m].recorded && !mem[m].over -> 1 : 2))
bit asked[2];		/* SYN_SENT; a request */
bit greets;		/* the connecting side, until it was heard */
byte synack;		/* the set of those sent, by what they show */

#include "rules.pml"

/* What the option o of a segment shows of its sender: shown() */
#define SHOWN(o)	((o) == 1 || (o) == PROBE + 1 || (o) == PROBE + 2 -> 1 : 0)
#define SHOWN_OPEN(o)	((o) == 1 || (o) == PROBE + 1)

/* ds_level(); a member that is being recorded lets the segment wait. */
#ifdef NO_LEVELLING
#define BEHIND(m, ep)	false
#else
#define BEHIND(m, ep)	((ep) > mem[m].level)
#endif
#ifdef NO_WAIT
#define WAITING(m)	false
#else
#define WAITING(m)	BUSY(m)
#endif

/* ds_skip() */
inline skip_epoch(m, ep) {
	printf("member %d: skips\n", m);
	mem[m].consumed = ep;
	mem[m].level = ep
}

/* ds_handshake_answer_in(), ds_handshake_connected() */
inline connected(trusted) {
	printf("side 0: connected\n");
	asked[0] = 0;
	dir[0].there = 1;
	dir[0].stranger = !(trusted);
	greets = trusted
}

/* peer_is_behind() */
#ifdef NO_BORN_CUT
#define IS_BEHIND(o)	false
#else
#define IS_BEHIND(o)	((o) != 0 && mem[1].recorded && mem[1].recorded == mem[1].level && \
			 ((o) == 1 || SHOWN(o) < mem[1].recorded))
#endif

/* ds_arm_late() */
inline arm_late() {
	dir[1].out_epoch = mem[1].recorded;
	dir[1].out_state = ARMED
}

/* give_birth(), mark(), ds_cut_born(), after_birth() */
inline birth(k, o) {
	printf("side 1: born of element %d, saying %d\n", k, o);
	asked[1] = 0;
	dir[1].there = 1;
	dir[1].stranger = (o) == 0;
	assert((o) != 0 || BARE);
	if
	:: IS_BEHIND(o) && mem[1].cut && !BUSY(1) ->
		printf("side 1: born in the cut\n");
		cut[1].e[1].on = 1;
		dir[0].pending_in = 1;
		dir[1].pending_out = 1;
		arm_late()
	:: IS_BEHIND(o) && !(mem[1].cut && !BUSY(1)) ->
		printf("side 1: born behind the cut\n");
#ifndef NO_LATE_MARKER
		arm_late()
#endif
	:: else
	fi;
	if
	:: (o) == 1 -> receive_marker(0, 1, 1)
	:: else
	fi;
	mem[1].late = 0;
	if
	:: k == 1 -> accept(0, 1, 1)
	:: else
	fi
}

#define SYNACK(p) \
	:: d_step { asked[1] && SHOWS(1) == (p) && !(synack & (1 << (p))) -> \
		synack = synack | (1 << (p)) } \
	:: d_step { \
		(synack & (1 << (p))) && asked[0] && !WAITING(0) -> \
		if \
		:: BEHIND(0, (p) != 0) && (p) == 1 -> trigger(0, 1) \
		:: BEHIND(0, (p) != 0) && (p) == 2 -> skip_epoch(0, 1); connected(true) \
		:: else -> connected(true) \
		fi \
	}

/* ds_handshake_ack_in(): any segment in sequence may complete it */
#define COMPLETE(k, o) \
	:: d_step { \
		(dir[0].net & SEG(k, o)) && asked[1] && !WAITING(1) -> \
		if \
		:: BEHIND(1, SHOWN(o)) && SHOWN_OPEN(o) -> trigger(1, 1) \
		:: BEHIND(1, SHOWN(o)) && !SHOWN_OPEN(o) -> skip_epoch(1, 1); birth(k, o) \
		:: else -> birth(k, o) \
		fi \
	}

proctype Handshake()
{
	bit syn;

end:
	do
	:: d_step { !asked[0] && !dir[0].there -> asked[0] = 1; syn = 1 }
	:: d_step { syn && !asked[1] && !dir[1].there -> asked[1] = 1; syn = 0 }
	SYNACK(0)
	SYNACK(1)
	SYNACK(2)
	/* ds_stream_out(): every segment greets, the first is a pure one. */
	:: d_step {
		dir[0].there && SAYS(0) != 1 && (greets || BARE) && !dir[1].there &&
		!(dir[0].net & SEG(0, SAYS(0))) ->
		dir[0].net = dir[0].net | SEG(0, SAYS(0))
	}
#ifdef NO_GREETING
	:: d_step { greets && dir[0].net -> greets = 0 }
#endif
	/* ds_stream_in(): it was heard. */
	:: d_step { greets && dir[1].there && (dir[0].got || dir[1].got) -> greets = 0 }
	COMPLETE(0, 0)
	COMPLETE(0, 1)
	COMPLETE(0, 2)
	COMPLETE(0, 3)
	COMPLETE(0, 4)
	COMPLETE(1, 0)
	COMPLETE(1, 1)
	COMPLETE(1, 2)
	COMPLETE(1, 3)
	COMPLETE(1, 4)
#if BARE
	:: d_step { synack && asked[0] && !WAITING(0) -> connected(false) }
	:: d_step { dir[0].net && asked[1] && !WAITING(1) -> birth(0, 0) }
#endif
#if LOSSES
	:: d_step { losses && syn -> losses--; syn = 0; asked[0] = 0 }
	:: d_step { losses && synack -> losses--; synack = 0 }
	:: d_step { losses && dir[0].net && !dir[1].there -> losses--; dir[0].net = 0 }
#endif
	od
}

init {
	atomic {
		run Member(0);
		run Member(1);
		run Direction(0, 1, 0, 1);
		run Direction(1, 0, 1, 0);
		run Handshake();
	}
}
