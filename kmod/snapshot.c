// SPDX-License-Identifier: GPL-2.0
/* The rules of the snapshot algorithm; see snapshot.h. */
#include "mutant.h"
#include "snapshot.h"

/* Is it known what became, or will not become, of @epoch at this member? */
static bool settled(const struct ds_colour *m, u32 epoch)
{
	return epoch != m->current_epoch && !ds_epoch_after(epoch, m->consumed);
}

static unsigned int receive_marker(const struct ds_colour *m, struct ds_ends *c,
				   const struct ds_option *opt)
{
	unsigned int act = 0;

	if (c->in_epoch == opt->epoch) {
		if (c->in_anchor != opt->anchor)
			return DS_ACT_CONTRADICTED;
	} else if (ds_epoch_after(opt->epoch, c->in_epoch)) {
		/* Kept even in the middle of a recording: it triggers later. */
		c->in_epoch = opt->epoch;
		c->in_anchor = opt->anchor;
		c->in_light = opt->flags & DISTSNAP_OPT_LIGHT;
		act |= DS_ACT_CLOSED;
	} else {
		return DS_ACT_STALE;
	}

	if (m->phase == DS_IDLE &&
	    (ds_mutant(old_epoch) || ds_epoch_after(opt->epoch, m->consumed)))
		act |= DS_ACT_TRIGGER;
	/*
	 * "Recorded" is said by who has recorded, and "will not" by who knows
	 * that it will not.  Whoever is still at it says nothing: an early ACK
	 * lets the peer stop marking, and a red byte slips in unmarked.
	 */
	if (ds_mutant(ack_early) || settled(m, opt->epoch)) {
		c->answer_due = true;
		act |= DS_ACT_ANSWER;
	}
	return act;
}

static unsigned int receive_answer(struct ds_ends *c, const struct ds_option *opt)
{
	if (c->out_state != DS_OUT_ARMED)
		return 0;
	if (opt->flags & DISTSNAP_OPT_NAK) {
		if (opt->epoch != c->out_epoch)
			return 0;
		c->out_state = DS_OUT_NAKED;
		return DS_ACT_NAKED;
	}
	if (opt->epoch == c->out_epoch) {
		c->out_state = DS_OUT_ACKED;
		return DS_ACT_ACKED;
	}
	if (!ds_epoch_after(opt->epoch, c->out_epoch))
		return 0;
	c->out_state = DS_OUT_MISSED;
	return DS_ACT_MISSED;
}

/**
 * ds_receive() - take note of the option of an incoming segment
 * @m: the receiving member
 * @c: the connection
 * @opt: the option
 *
 * To be called before ds_is_red() decides about the segment itself.
 *
 * Return: DS_ACT_*.
 */
unsigned int ds_receive(const struct ds_colour *m, struct ds_ends *c,
			const struct ds_option *opt)
{
	unsigned int act = 0;

	if (opt->flags & DISTSNAP_OPT_MARKER)
		act |= receive_marker(m, c, opt);
	/* An answer before our own publication cannot be to our marker. */
	if (opt->flags & (DISTSNAP_OPT_ACK | DISTSNAP_OPT_NAK) &&
	    ds_is_marking(m, c))
		act |= receive_answer(c, opt);
	return act;
}

/**
 * ds_is_red() - must a segment wait until the member is recorded?
 * @m: the receiving member
 * @c: the connection, after ds_receive()
 * @opt: the segment's option, or NULL
 * @end: the sequence number behind its last byte, FIN or urgent byte
 * @reset: it is a RST, which closes the stream wherever it stands
 *
 * A white segment never waits, but for resets: nobody knows the colour of one that
 * TCP has sent on its own.  Nothing waits for an epoch that was refused.
 */
bool ds_is_red(const struct ds_colour *m, const struct ds_ends *c,
	       const struct ds_option *opt, u32 end, bool reset)
{
	if (opt && opt->flags & DISTSNAP_OPT_MARKER &&
	    ds_epoch_after(opt->epoch, m->recorded) &&
	    (m->phase != DS_IDLE || ds_epoch_after(opt->epoch, m->consumed)) &&
	    (reset || ds_seq_after(end, opt->anchor)))
		return true;
	if (reset && m->phase != DS_IDLE && !ds_mutant(pass_reset))
		return true;
	/* The option may have been lost on the way: the anchor is known. */
	return m->phase != DS_IDLE && c->in_epoch &&
	       !ds_epoch_after(m->current_epoch, c->in_epoch) &&
	       ds_seq_after(end, c->in_anchor);
}

/**
 * ds_trigger() - begin to record an epoch
 * @m: the member
 * @epoch: the epoch
 *
 * Return: false when the member is busy or @epoch is not new to it.
 */
bool ds_trigger(struct ds_colour *m, u32 epoch)
{
	if (m->phase != DS_IDLE ||
	    (!ds_mutant(old_epoch) && !ds_epoch_after(epoch, m->consumed)))
		return false;
	m->consumed = epoch;
	m->current_epoch = epoch;
	m->phase = DS_TRIGGERED;
	return true;
}

static void arm(struct ds_ends *c, u32 epoch, u32 anchor, bool light)
{
	c->out_light = light;
	c->out_epoch = epoch;
	c->out_anchor = anchor;
	c->out_state = DS_OUT_ARMED;
}

/**
 * ds_arm() - fix the anchor of the epoch being recorded
 * @m: the member, being recorded
 * @c: the connection
 * @anchor: write_seq, under the socket's lock
 * @light: the recording is one without images
 */
void ds_arm(const struct ds_colour *m, struct ds_ends *c, u32 anchor, bool light)
{
	arm(c, m->current_epoch, anchor, light);
}

/**
 * ds_arm_late() - the marker of a connection that was born after the recording
 * @m: the member, recorded
 * @c: the connection, to a peer that may not have recorded yet
 * @anchor: where it begins
 * @light: the recording was one without images
 */
void ds_arm_late(const struct ds_colour *m, struct ds_ends *c, u32 anchor, bool light)
{
	arm(c, m->recorded, anchor, light);
}

/* ds_disarm() - forget the anchor: the recording was aborted or starts over */
void ds_disarm(struct ds_ends *c)
{
	c->out_state = DS_OUT_CLEAR;
	c->out_epoch = 0;
}

/**
 * ds_is_gated() - must an outgoing segment wait for the publication?
 * @m: the sending member
 * @c: the connection
 * @end: the sequence number behind its last byte, FIN or urgent byte
 * @reset: it is a RST
 */
bool ds_is_gated(const struct ds_colour *m, const struct ds_ends *c, u32 end,
		 bool reset)
{
	return m->phase != DS_IDLE && c->out_state == DS_OUT_ARMED &&
	       c->out_epoch == m->current_epoch &&
	       (reset || ds_seq_after(end, c->out_anchor));
}

/* ds_publish() - the member is recorded: all its anchors are markers now */
void ds_publish(struct ds_colour *m)
{
	m->recorded = m->current_epoch;
	m->level = m->current_epoch;
	m->current_epoch = 0;
	m->phase = DS_IDLE;
}

/**
 * ds_answer_kept() - after ds_publish() or ds_abort(): owe what could not be said
 * @m: the member
 * @c: one of its connections
 * @epoch: the epoch that was published or aborted
 *
 * Return: the epoch that the peer marked if it is one still to be recorded
 * (a newer marker that came during the recording), else 0.
 */
u32 ds_answer_kept(const struct ds_colour *m, struct ds_ends *c, u32 epoch)
{
	if (c->in_epoch == epoch)
		c->answer_due = true;
	if (ds_mutant(no_newer))
		return 0;
	return c->in_epoch && !settled(m, c->in_epoch) ? c->in_epoch : 0;
}

/* ds_skip() - an idle member will not record @epoch, nor any before it */
void ds_skip(struct ds_colour *m, u32 epoch)
{
	if (m->phase == DS_IDLE && ds_epoch_after(epoch, m->consumed))
		m->consumed = m->level = epoch;
}

/**
 * ds_level() - may a connection be born between a member and its peer?
 * @m: the member
 * @epoch: what the peer showed in the handshake: behind it, or marked; 0 none
 * @open: that epoch can still be recorded
 *
 * A connection never joins two colours: neither its bytes nor its opening can
 * then cross the cut.  The side that is ahead need not do anything.
 */
enum ds_handshake ds_level(const struct ds_colour *m, u32 epoch, bool open)
{
	if (m->phase != DS_IDLE)
		return DS_WAIT;
	if (ds_mutant(no_levelling) || !ds_epoch_after(epoch, m->level))
		return DS_GO_ON;
	return open ? DS_RECORD : DS_SKIP;
}

/* ds_abort() - give the recording up; its epoch stays consumed for ever */
void ds_abort(struct ds_colour *m)
{
	m->level = m->current_epoch;
	m->current_epoch = 0;
	m->phase = DS_IDLE;
}

/* ds_is_marking() - does every segment of this channel carry the marker? */
bool ds_is_marking(const struct ds_colour *m, const struct ds_ends *c)
{
	return c->out_state == DS_OUT_ARMED && c->out_epoch == m->recorded;
}

/**
 * ds_compose() - what an outgoing segment has to say about snapshots
 * @m: the member
 * @c: the connection
 * @opt: flags, epoch and anchor are filled in
 *
 * Return: false when there is nothing to say.
 */
bool ds_compose(const struct ds_colour *m, const struct ds_ends *c,
		struct ds_option *opt)
{
	bool ack = c->in_epoch && (ds_mutant(ack_early) || c->in_epoch == m->recorded);

	if (ds_is_marking(m, c)) {
		opt->flags = DISTSNAP_OPT_MARKER | (ack ? DISTSNAP_OPT_ACK : 0) |
			     (c->out_light ? DISTSNAP_OPT_LIGHT : 0);
		opt->epoch = c->out_epoch;
		opt->anchor = c->out_anchor;
		return true;
	}
	if (!c->answer_due)
		return false;
	opt->epoch = c->in_epoch;
	opt->anchor = 0;
	if (ack) {
		opt->flags = DISTSNAP_OPT_ACK;
		return true;
	}
	if (!settled(m, c->in_epoch))
		return false;	/* still at it */
	opt->flags = DISTSNAP_OPT_NAK;
	opt->anchor = c->nak_reason;
	return true;
}

/* ds_answer_waits() - is an answer due that a segment would carry now? */
bool ds_answer_waits(const struct ds_colour *m, const struct ds_ends *c)
{
	struct ds_option opt = { 0 };

	return c->answer_due && ds_compose(m, c, &opt);
}

/**
 * ds_said() - a segment with @opt leaves
 * @c: the connection
 * @opt: from ds_compose()
 *
 * Should it be lost, the peer repeats its marker and the answer is due again.  A
 * marker of a newer epoch is an answer, too.
 */
void ds_said(struct ds_ends *c, const struct ds_option *opt)
{
	if (opt->epoch == c->in_epoch ?
	    opt->flags & (DISTSNAP_OPT_ACK | DISTSNAP_OPT_NAK) :
	    ds_epoch_after(opt->epoch, c->in_epoch))
		c->answer_due = false;
}
