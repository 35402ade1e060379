/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rules: markers, the hold, the gate, answers, aborts and newer epochs.
 * recording.pml and connect.pml include them.
 *
 * Members stand in a line, and a connection is two directions:
 *
 *	member 0  --0-->  member 1  --2-->  member 2
 *	          <--1--            <--3--
 *
 * A stream consists of elements: bytes, and a FIN as the last one.  The network is
 * the set of all that was ever sent: any of it arrives in any order, late, again, or
 * never, and some of it is lost (LOSSES).  Whatever changes nothing when it arrives
 * does not arrive in the model: so every run ends, and "timeout" is its end.
 *
 * What waits in a hold or at a gate stays in the network, or unsent: TCP would
 * repeat it, and what goes on meets the rules again.
 *
 * Acknowledgments of TCP arrive at once: so a sender's queue has as few bytes as it
 * can have.  What has arrived has been read.
 */

#ifndef N
#define N	2	/* members */
#endif
#ifndef EPOCHS
#define EPOCHS	1
#endif
#ifndef BYTES
#define BYTES	1	/* in each direction of DATA */
#endif
#ifndef DATA
#define DATA	3	/* directions with bytes */
#endif
#ifndef FINS
#define FINS	0	/* directions that may end */
#endif
#ifndef TAKE
#define TAKE	1	/* members that may begin a snapshot */
#endif
#ifndef ABORTS
#define ABORTS	0	/* how many recordings may fail */
#endif
#ifndef LOSSES
#define LOSSES	0
#endif
#ifndef KILL
#define KILL	0	/* members that may be killed */
#endif
#ifndef EXPIRE
#define EXPIRE	0	/* members whose deadline may pass at any time */
#endif

#ifndef LATE
#define LATE	0	/* members that do not wait for late births */
#endif
#ifndef BARE
#define BARE	0	/* whether a handshake's options may be lost on the way */
#endif

#define D	(2 * (N - 1))
/* What a segment says: 0 nothing, 1.. the marker of an epoch, then probes. */
#define PROBE	(EPOCHS + 1)
#ifdef CONNECT
#define E	(EPOCHS + 4)
#else
#define E	(EPOCHS + 1)
#endif
#define SRC(d)	(((d) + 1) / 2)
#define DST(d)	SRC((d) ^ 1)
#define MAY(mask, i)	(((mask) >> (i)) & 1)

/* A segment with element k, 0 a pure one, which says e. */
#define SEG(k, e)	(1 << ((k) * E + (e)))
/* An answer to the marker of epoch e. */
#define ACK(e)		(1 << (e))
#define NAK(e)		(1 << (E + (e)))

/* enum ds_phase */
#define IDLE		0
#define TRIGGERED	1
#define CAPTURED	2
/* enum ds_out_state; what was answered needs no name of its own */
#define CLEAR		0
#define ARMED		1
#define ANSWERED	2
/* enum distsnap_state of a record */
#define NONE		0
#define OPEN		1
#define DONE		2
#define BROKEN		3	/* aborted, superseded, expired */

/* DISTSNAP_CUT_* */
#define CUT_ACKED	1
#define CUT_NAKED	2
#define CUT_LEFT	3
#define GAVE_UP		4	/* CUT_LEFT, too; the peer may not have heard */

/* struct ds_colour, and the epoch of the open cuts: of member->rec */
typedef member {
	byte recorded, consumed, level, current, phase;
	byte cut;
	bit late;		/* late_births */
	bit over;		/* the deadline has passed */
	bit dead
};

/* Both directions' halves of struct ds_ends, and of the open struct ds_cut. */
typedef direction {
	byte w;			/* write_seq */
	byte fin;		/* which element is the FIN, 0 none */
	byte got;		/* rcv_nxt of the receiver, snd_una of the sender */
	byte out_state, out_epoch;
	byte in_epoch;
	bit due;		/* answer_due */
	bit pending_out, pending_in;
	bit there, gone;	/* the sender's socket: established, closed */
	bit stranger;		/* ... takes the peer for no member */
	short net;		/* SEG() */
	short answers		/* ACK(), NAK(): they travel against the direction */
};

/* What both ends have recorded of a direction. */
typedef half {
	bit on, strange, tomb;	/* the sender's end is on record, as a stranger's, ended */
	byte sent, una;		/* the sender: write_seq, which is the anchor; snd_una */
	bit finout;
	byte out;		/* CUT_*: what became of the marker */
	byte next, logged;	/* the receiver: rcv_nxt; up to where it is logged */
	bit finin;
	bit closed;
	byte marker
};
typedef cuts { half e[E] };
typedef states { byte e[E] };

member mem[N];
direction dir[D];
cuts cut[D];
states rec[N];
byte aborts = ABORTS, losses = LOSSES;
bit gave_up;		/* somebody did not wait for a peer */
/* Scratch, 0 between steps. */
byte x, y, newer;
bit ok;

/* The sender's socket is one that sends and receives. */
#define UP(d)		(dir[d].there && !dir[d].gone)
/* ds_channel_waits_for_peer() */
#define COUNTS(d)	(UP(d) && !dir[d].stranger)

#define BUSY(m)		(mem[m].phase != IDLE)

/* settled() */
#define SETTLED(m, e)	((e) != mem[m].current && (e) <= mem[m].consumed)

/* ds_is_marking() */
#define MARKING(d)	(dir[d].out_state == ARMED && \
			 dir[d].out_epoch == mem[SRC(d)].recorded)

/* Behind the anchor of an epoch; every element is after 0, where none is sent. */
#define BEYOND(d, k, ep)	((k) > cut[d].e[ep].sent)

/* ds_is_red() */
#ifdef NO_HOLD
#define RED(d, k, ep)	false
#else
#define RED(d, k, ep) \
	(((ep) > mem[DST(d)].recorded && \
	  (BUSY(DST(d)) || (ep) > mem[DST(d)].consumed) && BEYOND(d, k, ep)) || \
	 (BUSY(DST(d)) && dir[d].in_epoch && \
	  mem[DST(d)].current <= dir[d].in_epoch && BEYOND(d, k, dir[d].in_epoch)))
#endif

/* ds_is_gated() */
#ifdef NO_GATE
#define GATED(d, k)	false
#else
#define GATED(d, k) \
	(BUSY(SRC(d)) && dir[d].out_state == ARMED && \
	 dir[d].out_epoch == mem[SRC(d)].current && BEYOND(d, k, dir[d].out_epoch))
#endif

/* Of ds_compose(): is "recorded" said of the marker that came in direction b? */
#ifdef ACK_EARLY
#define ACKS(b)		(dir[b].in_epoch != 0)
#else
#define ACKS(b)		(dir[b].in_epoch && dir[b].in_epoch == mem[DST(b)].recorded)
#endif

/* The cut of member m is captured: capture_channel() */
#define IS_CAPTURED(m)	(mem[m].cut && (mem[m].cut == mem[m].recorded || \
					mem[m].phase == CAPTURED))

/* ds_record_settled(), incoming: closed by a marker, or by a FIN, at pos */
inline close_in(d, pos) {
	if
	:: dir[d].pending_in ->
		dir[d].pending_in = 0;
		cut[d].e[mem[DST(d)].cut].closed = 1;
		cut[d].e[mem[DST(d)].cut].marker = pos
	:: else
	fi
}

/* ds_trigger() */
inline trigger(m, ep) {
	assert(mem[m].phase == IDLE);
	mem[m].current = ep;	/* first: ep may be an expression with the other */
	mem[m].consumed = mem[m].current;
	printf("member %d: triggered, epoch %d\n", m, mem[m].current);
	mem[m].phase = TRIGGERED
}

#ifdef NO_CONSUME
/* What was refused is begun all the same. */
#define IS_NEW(m, ep)	((ep) > mem[m].recorded)
#else
#define IS_NEW(m, ep)	((ep) > mem[m].consumed)
#endif

/* receive_marker(), and what update_cut() makes of it */
inline receive_marker(d, m, ep) {
	dir[d ^ 1].stranger = 0;
	if
	:: ep > dir[d].in_epoch ->
		dir[d].in_epoch = ep;
		if
		:: mem[m].cut == ep -> close_in(d, cut[d].e[ep].sent)
		:: mem[m].cut && mem[m].cut < ep -> dir[d].pending_in = 0	/* missed */
		:: else
		fi
	:: else
	fi;
	if
	:: ep == dir[d].in_epoch ->
#ifdef ACK_EARLY
		dir[d].due = 1;
#else
		if
		:: SETTLED(m, ep) -> dir[d].due = 1
		:: else
		fi;
#endif
		if
		:: !BUSY(m) && IS_NEW(m, ep) -> trigger(m, ep)
		:: else
		fi
	:: else		/* stale */
	fi
}

/*
 * A repeated marker is news if it triggers, or if its answer is neither due nor on
 * its way; a marker of a newer epoch is an answer as well.
 */
#define ANSWERING(d, ep) \
	(dir[d].due || (dir[d].answers & (ACK(ep) | NAK(ep))) || \
	 (MARKING((d) ^ 1) && dir[(d) ^ 1].out_epoch > (ep)))
#define IS_NEWS(d, m, ep) \
	((ep) > dir[d].in_epoch || \
	 ((ep) && (ep) == dir[d].in_epoch && \
	  ((!BUSY(m) && IS_NEW(m, ep)) || (SETTLED(m, ep) && !ANSWERING(d, ep)))))

/* TCP takes an element; ds_log(), ds_channel_ends() */
inline accept(d, m, k) {
	dir[d].got = k;
	printf("direction %d: element %d is received\n", d, k);
	if
	:: IS_CAPTURED(m) && dir[d].pending_in ->
#ifndef NO_LOG
		cut[d].e[mem[m].cut].logged = k;
#endif
		if
		:: k == dir[d].fin -> close_in(d, k)
		:: else
		fi
	:: else
	fi
}

/* ds_stream_in() */
inline arrive(d, m, k, ep) {
	printf("direction %d: element %d arrives, marked %d\n", d, k, ep);
	if
	:: ep -> receive_marker(d, m, ep)
	:: else
	fi;
	if
	:: k == dir[d].got + 1 && !RED(d, k, ep) -> accept(d, m, k)
	:: else
	fi
}

/* ds_record_settled(), outgoing */
inline settle_out(d, ep, how) {
	if
	:: dir[d].pending_out && mem[SRC(d)].cut == ep ->
		dir[d].pending_out = 0;
		cut[d].e[ep].out = how
	:: else
	fi
}

/* receive_answer(), and what update_cut() makes of it */
inline receive_answer(d, ep, nak) {
	printf("direction %d: answered, epoch %d, NAK %d\n", d, ep, nak);
	if
	:: !nak && ep == dir[d].out_epoch ->
		dir[d].out_state = ANSWERED;
		settle_out(d, ep, CUT_ACKED)
	:: nak ->
		dir[d].out_state = ANSWERED;
		settle_out(d, ep, CUT_NAKED);
		if
		:: mem[SRC(d)].cut == ep -> dir[d ^ 1].pending_in = 0
		:: else
		fi
	:: else ->	/* it moved on to a newer epoch */
		dir[d].out_state = ANSWERED;
		dir[d].pending_out = 0
	fi
}
#define IS_ANSWER(d, ep, nak) \
	(MARKING(d) && ((ep) == dir[d].out_epoch || (!(nak) && (ep) > dir[d].out_epoch)))

inline say(b, what) {
	dir[b].answers = dir[b].answers | (what);
	dir[b].due = 0
}

/* ds_compose() and ds_said(), on a pure segment: ds_channel_speak() */
inline speak(d, b) {
	if
	:: MARKING(d) ->
#ifdef NO_REPEAT
		said[d] = 1;
#endif
		dir[d].net = dir[d].net | SEG(0, dir[d].out_epoch);
		if
		:: ACKS(b) && dir[b].in_epoch == dir[d].out_epoch -> say(b, ACK(dir[b].in_epoch))
		:: else
		fi;
		if
		:: dir[d].out_epoch > dir[b].in_epoch -> dir[b].due = 0
		:: else
		fi
	:: else ->
		if
		:: ACKS(b) -> say(b, ACK(dir[b].in_epoch))
		:: else -> say(b, NAK(dir[b].in_epoch))
		fi
	fi
}
#ifdef NO_REPEAT
/* Once, unless an answer is due. */
bit said[D];
#define MAY_REPEAT(d)	(!said[d] || dir[b].due)
#else
#define MAY_REPEAT(d)	true
#endif

/* Is there anything to say that is not on its way? */
#define SPEAKS(d, b) \
	(MARKING(d) -> \
	 !(dir[d].net & SEG(0, dir[d].out_epoch)) || \
	 (dir[b].due && dir[d].out_epoch > dir[b].in_epoch) || \
	 (ACKS(b) && dir[b].in_epoch == dir[d].out_epoch && \
	  (dir[b].due || !(dir[b].answers & ACK(dir[b].in_epoch)))) : \
	 dir[b].due && (ACKS(b) || SETTLED(DST(b), dir[b].in_epoch)))

/* ds_record_detach() */
inline detach(m, how) {
	printf("member %d: record of epoch %d ends, %d\n", m, mem[m].cut, how);
	if
	:: mem[m].cut && mem[m].cut != mem[m].current -> rec[m].e[mem[m].cut] = how
	:: else
	fi;
	mem[m].cut = 0;
	mem[m].late = 0;
	x = 0;
	do
	:: x < D ->
		if
		:: SRC(x) == m ->
			dir[x].pending_out = 0;
			if
			:: dir[x].out_state == ARMED -> dir[x].out_state = ANSWERED
			:: else
			fi
		:: else
		fi;
		if
		:: DST(x) == m -> dir[x].pending_in = 0
		:: else
		fi;
		x++
	:: else -> break
	od;
	x = 0
}

/* record->pending */
#define WAITS(m, d)	((SRC(d) == m && dir[d].pending_out) || \
			 (DST(d) == m && dir[d].pending_in))
#if N > 2
#define PENDING(m)	(WAITS(m, 0) || WAITS(m, 1) || WAITS(m, 2) || WAITS(m, 3))
#else
#define PENDING(m)	(WAITS(m, 0) || WAITS(m, 1) || mem[m].late)
#endif

/* ds_member_record(): a newer epoch ends the older one; observe() begins the cuts. */
inline begin(m) {
	if
	:: mem[m].cut ->
		if
		:: PENDING(m) -> detach(m, BROKEN)
		:: else -> detach(m, DONE)
		fi
	:: else
	fi;
	mem[m].cut = mem[m].current;
	rec[m].e[mem[m].cut] = OPEN;
	x = 0;
	do
	:: x < D ->
		if		/* ds_cut_begin() */
		:: SRC(x) == m && COUNTS(x) -> dir[x].pending_out = 1
		:: else
		fi;
		if
		:: DST(x) == m && COUNTS(x ^ 1) ->
			dir[x].pending_in = 1;
			if
			:: dir[x].in_epoch == mem[m].cut ->
				close_in(x, cut[x].e[mem[m].cut].sent)
			:: dir[x].in_epoch > mem[m].cut -> dir[x].pending_in = 0
			:: else
			fi
		:: else
		fi;
		x++
	:: else -> break
	od;
	x = 0
}

/* ds_capture(), of all sockets at one instant; again if a sleeper woke meanwhile */
inline capture(m) {
	y = mem[m].cut;
	printf("member %d: captured\n", m);
	x = 0;
	do
	:: x < D ->
		if
		:: SRC(x) == m ->
			cut[x].e[y].sent = dir[x].w;
			cut[x].e[y].una = dir[x].got;
			cut[x].e[y].finout = dir[x].fin != 0;
			cut[x].e[y].on = dir[x].there;
			cut[x].e[y].strange = dir[x].stranger;
			if
			:: COUNTS(x) ->		/* ds_arm() */
				dir[x].out_epoch = y;
				dir[x].out_state = ARMED
			:: dir[x].gone ->	/* ds_record_tombs() */
				cut[x].e[y].tomb = 1;
				cut[x].e[y].out = CUT_LEFT
			:: else
			fi
		:: else
		fi;
		if
		:: DST(x) == m ->
			cut[x].e[y].next = dir[x].got;
			cut[x].e[y].logged = dir[x].got;
			cut[x].e[y].finin = dir[x].fin && dir[x].got == dir[x].fin;
			if
			:: cut[x].e[y].finin && dir[x].pending_in -> close_in(x, dir[x].got)
			:: cut[x].e[y].finin && dir[x ^ 1].gone ->
				cut[x].e[y].closed = 1;
				cut[x].e[y].marker = dir[x].got
			:: else
			fi
		:: else
		fi;
		x++
	:: else -> break
	od;
	x = 0;
	y = 0;
	mem[m].phase = CAPTURED
}

#ifdef NO_RECHECK
/* What waits in the hold goes in as it is. */
bit pass[D];
#define HELD(d, k, ep)	((dir[d].net & SEG(k, ep)) && k == dir[d].got + 1 && RED(d, k, ep))
#endif

/*
 * Nothing that was sent behind a cut was received before one of the same epoch.
 * Who has given its snapshot up sends unmarked again: that one cannot be complete.
 */
#define RECORDS(m, ep)	(rec[m].e[ep] == DONE || (rec[m].e[ep] == OPEN && \
						  mem[m].recorded >= (ep)))
inline no_red(m, ep) {
	x = 0;
	do
	:: x < D ->
		assert(BARE || !(DST(x) == m && RECORDS(SRC(x), ep) &&
			 cut[x].e[ep].out != GAVE_UP &&
			 cut[x].e[ep].next > cut[x].e[ep].sent));
		x++
	:: else -> break
	od
}

/* settle(): ds_publish() or ds_abort(), and a newer marker triggers at once */
inline settle(m, publish) {
#ifdef NO_RECHECK
	x = 0;
	do
	:: x < D ->
		pass[x] = DST(x) == m && (HELD(x, 1, 0) || HELD(x, 1, 1) || HELD(x, 1, EPOCHS));
		x++
	:: else -> break
	od;
#endif
	y = mem[m].current;
	if
	:: publish ->
		printf("member %d: published\n", m);
		mem[m].recorded = y;
#if defined(CONNECT) && !defined(NO_LATE_BIRTHS)
		/* ds_handshakes_open() */
		mem[m].late = m == 1 && asked[1];
#endif
	:: else ->
		printf("member %d: aborted\n", m);
		rec[m].e[y] = BROKEN
	fi;
	mem[m].level = y;
	mem[m].current = 0;
	mem[m].phase = IDLE;
	x = 0;
	do
	:: x < D ->
		if
		:: SRC(x) == m && !(publish) ->		/* ds_disarm() */
			dir[x].out_state = CLEAR;
			dir[x].out_epoch = 0
		:: else
		fi;
		if
		:: DST(x) == m && UP(x ^ 1) ->	/* ds_answer_kept() */
			if
			:: dir[x].in_epoch == y -> dir[x].due = 1
			:: else
			fi;
			if
			:: !SETTLED(m, dir[x].in_epoch) && dir[x].in_epoch > newer ->
				newer = dir[x].in_epoch
			:: else
			fi
		:: else
		fi;
		x++
	:: else -> break
	od;
	if
	:: publish -> no_red(m, y)
	:: else -> mem[m].cut = 0; detach(m, BROKEN)
	fi;
	if
	:: newer -> trigger(m, newer)
	:: else
	fi;
#ifdef NO_RECHECK
	x = 0;
	do
	:: x < D ->
		if
		:: pass[x] -> dir[x].got++; pass[x] = 0
		:: else
		fi;
		x++
	:: else -> break
	od;
#endif
	x = 0;
	y = 0;
	newer = 0
}

proctype Member(byte m)
{
end:
	do
	/* TAKE: refused while a snapshot is open here */
	:: d_step {
		MAY(TAKE, m) && !BUSY(m) && !mem[m].dead && !mem[m].cut &&
		mem[m].consumed < EPOCHS ->
		trigger(m, mem[m].consumed + 1)
	}
#if EPOCHS > 1
	/* ... which picks its own number */
	:: d_step {
		MAY(TAKE, m) && !BUSY(m) && !mem[m].dead && !mem[m].cut && !mem[m].consumed ->
		trigger(m, 2)
	}
#endif
	:: d_step { mem[m].phase == TRIGGERED && mem[m].cut != mem[m].current -> begin(m) }
	:: d_step {
		mem[m].phase == TRIGGERED && mem[m].cut == mem[m].current && !mem[m].dead ->
		capture(m)
	}
	:: d_step { mem[m].phase == CAPTURED -> settle(m, true) }
	:: d_step {
		BUSY(m) && mem[m].cut == mem[m].current && (aborts || mem[m].dead) ->
		if
		:: !mem[m].dead -> aborts--
		:: else
		fi;
		settle(m, false)
	}
	/* record_tick(): done, or the deadline has passed */
	:: d_step { mem[m].cut && !BUSY(m) && !PENDING(m) -> detach(m, DONE) }
	:: d_step { MAY(LATE, m) && mem[m].late && !BUSY(m) -> mem[m].late = 0 }
#if EXPIRE
	:: d_step { MAY(EXPIRE, m) && mem[m].recorded && !mem[m].over -> mem[m].over = 1 }
	:: d_step {
		mem[m].cut && !BUSY(m) && mem[m].over && PENDING(m) ->
		gave_up = 1;
		detach(m, BROKEN)
	}
#endif
#if KILL
	/* Its sockets are closed, which sends a FIN. */
	:: d_step {
		MAY(KILL, m) && !mem[m].dead ->
		mem[m].dead = 1;
		printf("member %d: killed\n", m);
		x = 0;
		do
		:: x < D ->
			if
			:: SRC(x) == m && !dir[x].fin -> dir[x].w++; dir[x].fin = dir[x].w
			:: else
			fi;
			x++
		:: else -> break
		od;
		x = 0
	}
#endif
	od
}

/* compose(): a marker, or a probe that greets */
#ifdef CONNECT
#define SAYS(d)	(MARKING(d) -> dir[d].out_epoch : \
		 ((d) == 0 && greets -> PROBE + SHOWS(SRC(d)) : 0))
#else
#define SAYS(d)	(MARKING(d) -> dir[d].out_epoch : 0)
#endif

/* Element k, saying o, which is the marker of epoch ep or of none. */
#define SEND(k, o, ep) \
	:: d_step { \
		(k) > dir[d].got && (k) <= dir[d].w && UP(d) && !GATED(d, k) && \
		SAYS(d) == (o) && \
		!(dir[d].net & SEG(k, o)) -> \
		dir[d].net = dir[d].net | SEG(k, o) \
	}
#define ARRIVE(k, o, ep) \
	:: d_step { \
		(dir[d].net & SEG(k, o)) && UP(b) && \
		(IS_NEWS(d, r, ep) || ((k) == dir[d].got + 1 && !RED(d, k, ep))) -> \
		arrive(d, r, k, ep) \
	}
#define ANSWER(ep, nak, bit) \
	:: d_step { \
		(dir[d].answers & bit) && UP(d) && IS_ANSWER(d, ep, nak) -> \
		receive_answer(d, ep, nak) \
	}
#define LOSE(set, bit) \
	:: d_step { losses && (dir[d].set & bit) -> losses--; dir[d].set = dir[d].set & ~(bit) }

#ifdef CONNECT
#define EACH_EPOCH(X, k)	\
	X(k, 0, 0) X(k, 1, 1) X(k, 2, 0) X(k, 3, 0) X(k, 4, 0)
#elif EPOCHS > 1
#define EACH_EPOCH(X, k)	X(k, 0, 0) X(k, 1, 1) X(k, 2, 2)
#else
#define EACH_EPOCH(X, k)	X(k, 0, 0) X(k, 1, 1)
#endif
#define LAST	(BYTES + (FINS != 0 || KILL != 0))
#if LAST > 2
#define EACH(X)	EACH_EPOCH(X, 1) EACH_EPOCH(X, 2) EACH_EPOCH(X, 3)
#elif LAST > 1
#define EACH(X)	EACH_EPOCH(X, 1) EACH_EPOCH(X, 2)
#else
#define EACH(X)	EACH_EPOCH(X, 1)
#endif

/* A direction, and the rules of its sender's end: b is the other direction. */
proctype Direction(byte d; byte b; byte m; byte r)
{
end:
	do
	/* A thread that sleeps in a call may wake and send even while it is parked. */
	:: d_step {
		MAY(DATA, d) && UP(d) && !dir[d].fin && dir[d].w < BYTES ->
		printf("direction %d: a byte is written\n", d);
		dir[d].w++
	}
	:: d_step {
		MAY(FINS, d) && UP(d) && !dir[d].fin ->
		printf("direction %d: FIN\n", d);
		dir[d].w++;
		dir[d].fin = dir[d].w
	}
	/* ds_capture(): again */
	:: d_step {
		mem[m].phase == CAPTURED && cut[d].e[mem[m].cut].sent != dir[d].w && !mem[m].dead ->
		capture(m)
	}
	EACH(SEND)
	EACH(ARRIVE)
	ARRIVE(0, 1, 1)
#if EPOCHS > 1
	ARRIVE(0, 2, 2)
#endif
	:: d_step { UP(d) && SPEAKS(d, b) && MAY_REPEAT(d) -> speak(d, b) }
	ANSWER(1, 0, ACK(1))
	ANSWER(1, 1, NAK(1))
#if EPOCHS > 1
	ANSWER(2, 0, ACK(2))
	ANSWER(2, 1, NAK(2))
#endif
#if LOSSES
	LOSE(net, SEG(0, 1))
	LOSE(answers, ACK(1))
	LOSE(answers, NAK(1))
	LOSE(net, SEG(1, 0))
	LOSE(net, SEG(1, 1))
#endif
#if FINS || KILL
	/* Both have closed, and our FIN is acknowledged: ds_cut_bury(). */
	:: d_step {
		UP(d) && dir[d].fin && dir[d].got == dir[d].fin &&
		dir[b].fin && dir[b].got == dir[b].fin ->
		printf("direction %d: its socket is closed\n", d);
		dir[d].gone = 1;
		dir[b].due = 0;
		if
		:: IS_CAPTURED(m) -> settle_out(d, mem[m].cut, CUT_LEFT)
		:: else -> dir[d].pending_out = 0; dir[b].pending_in = 0
		fi;
		dir[d].out_state = ANSWERED
	}
	/* ds_channel_tick(): who has closed need not answer for ever */
	:: d_step {
		MARKING(d) && mem[m].cut == dir[d].out_epoch && dir[d].pending_out &&
		!dir[b].pending_in && dir[b].fin && dir[b].got == dir[b].fin ->
		printf("direction %d: gives up\n", d);
		gave_up = 1;
		settle_out(d, mem[m].cut, GAVE_UP)
	}
#endif
	od
}

/*
 * verdict_reach(): complete is what every member on record has done, with both ends
 * of each connection on record, closed, answered and in agreement.
 */
/* judge_channel(), and no byte is missing: it is in the queue or in the log */
#define AGREE(d, ep) \
	(cut[d].e[ep].marker == cut[d].e[ep].sent && \
	 cut[d].e[ep].next <= cut[d].e[ep].sent && \
	 cut[d].e[ep].una <= cut[d].e[ep].logged && \
	 !(cut[d].e[ep].finin && !cut[d].e[ep].finout))
/*
 * Who did not wait for an answer may be alone, as may be who was recorded when its
 * peer had no socket left that could be told.  In all other cases the rules see to it.
 */
#define DOUBT(d, ep) \
	(LATE || BARE || cut[d].e[ep].out == GAVE_UP || \
	 (cut[d].e[ep].out == CUT_LEFT && !cut[d].e[ep].tomb))
#define ON_RECORD(m, ep)	(rec[m].e[ep] != NONE)
inline verdict(ep) {
	ok = 0;
	x = 0;
	do
	:: x < N -> ok = ok || ON_RECORD(x, ep); x++
	:: else -> break
	od;
	x = 0;
	do
	:: x < D ->
		if
		:: ON_RECORD(SRC(x), ep) && rec[SRC(x)].e[ep] != DONE -> ok = 0
		:: ON_RECORD(SRC(x), ep) && cut[x].e[ep].on ->
			ok = ok && !cut[x].e[ep].strange &&
			     cut[x].e[ep].out != 0 && cut[x].e[ep].out != CUT_NAKED &&
			     cut[x ^ 1].e[ep].closed &&
			     (cut[x].e[ep].out != GAVE_UP || AGREE(x, ep)) &&
			     (!DOUBT(x, ep) || cut[x ^ 1].e[ep].on)	/* blame_mate() */
		:: else
		fi;
		x++
	:: else -> break
	od;
	x = 0;
	do
	:: ok && x < D ->	/* the closure, and what lies between */
		assert(!cut[x].e[ep].on || cut[x].e[ep].tomb ||
		       (rec[DST(x)].e[ep] == DONE && cut[x ^ 1].e[ep].on &&
			AGREE(x, ep) && AGREE(x ^ 1, ep)));
		x++
	:: else -> break
	od;
	x = 0;
#ifdef REACHED
	assert(!(ok && ep == EPOCHS && cut[0].e[ep].on));
#endif
	ok = 0
}

/* The deadline is needed only where a peer was not waited for. */
inline ended(m) {
	assert(!BUSY(m));
	assert(!mem[m].cut || gave_up || BARE);
	if
	:: mem[m].cut -> detach(m, BROKEN)
	:: else
	fi
}

/* The end of a run: nothing arrives, nobody has anything to say. */
active proctype End()
{
	timeout;
	d_step {
		ended(0);
		ended(1);
#if N > 2
		ended(2);
#endif
		verdict(1);
#if EPOCHS > 1
		verdict(2);
#endif
	}
}
