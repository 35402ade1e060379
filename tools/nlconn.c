// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#include "nlconn.h"
#include "util.h"

#define EVENT_RCVBUF	(4 << 20)
#define MSG_BUF		(64 << 10)
#define DUMP_TRIES	16
#define ANSWER_MAX_MS	30000

struct queued {
	struct queued *next;
	struct ds_event ev;
};

struct ds_conn {
	struct nl_sock *sk;
	struct nl_cb *cb;
	int family;
	char error[512];

	/* The call under way. */
	uint32_t seq;
	int status;
	bool finished, interrupted, lost;
	const struct layout *layout;
	int (*fn)(void *parsed, void *arg);
	void *arg;

	struct queued *events, **last;
};

static const char *errno_words(int err)
{
	switch (err) {
	case EPERM:
	case EACCES:
		return "not permitted: run as root (CAP_NET_ADMIN in the initial user namespace)";
	case ESRCH:
		return "no such process";
	case ENOENT:
		return "no such group, member or epoch";
	case EOPNOTSUPP:
		return "the loaded module is older than this tool and lacks the operation";
	default:
		return strerror(err);
	}
}

static void set_error(struct ds_conn *c, int err, const char *text, int len)
{
	if (text && len > 0 && *text)
		snprintf(c->error, sizeof(c->error), "%.*s", len, text);
	else
		snprintf(c->error, sizeof(c->error), "%s", errno_words(err));
}

/* The end of a call: @err is 0 or negative, @tlvs the extended ACK. */
static void finish(struct ds_conn *c, int err, struct nlattr *tlvs, int len)
{
	struct nlattr *msg = NULL;

	c->finished = true;
	if (!err)
		return;
	if (!c->status)
		c->status = err;
	if (tlvs && len > 0)
		msg = nla_find(tlvs, len, NLMSGERR_ATTR_MSG);
	set_error(c, -err, msg ? nla_data(msg) : NULL, msg ? nla_len(msg) : 0);
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	struct nlmsghdr *h = (struct nlmsghdr *)((char *)e - NLMSG_HDRLEN);
	struct ds_conn *c = arg;
	int skip = sizeof(*e), len;

	(void)from;
	if (e->msg.nlmsg_seq != c->seq)
		return NL_SKIP;
	/* Unless capped, the request comes back between error and words. */
	if (!(h->nlmsg_flags & NLM_F_CAPPED))
		skip += e->msg.nlmsg_len - sizeof(e->msg);
	skip = NLMSG_ALIGN(skip);
	len = (int)h->nlmsg_len - NLMSG_HDRLEN - skip;
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS))
		len = 0;
	finish(c, e->error, (struct nlattr *)((char *)e + skip), len);
	return NL_SKIP;
}

static int on_ack(struct nl_msg *m, void *arg)
{
	struct ds_conn *c = arg;

	if (nlmsg_hdr(m)->nlmsg_seq == c->seq)
		finish(c, 0, NULL, 0);
	return NL_OK;
}

/* A dump that fails ends with an int and, if there are any, the words. */
static int on_finish(struct nl_msg *m, void *arg)
{
	struct nlmsghdr *h = nlmsg_hdr(m);
	struct ds_conn *c = arg;
	int err = 0, len = nlmsg_datalen(h);
	int skip = NLMSG_ALIGN(sizeof(err));

	if (h->nlmsg_seq != c->seq)
		return NL_OK;
	if (len >= (int)sizeof(err))
		memcpy(&err, nlmsg_data(h), sizeof(err));
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS))
		len = 0;
	finish(c, err < 0 ? err : 0,
	       (struct nlattr *)((char *)nlmsg_data(h) + skip), len - skip);
	return NL_OK;
}

static int on_interrupted(struct nl_msg *m, void *arg)
{
	struct ds_conn *c = arg;

	(void)m;
	c->interrupted = true;
	return NL_OK;
}

static void keep_event(struct ds_conn *c, struct genlmsghdr *g, int len)
{
	struct queued *q = xcalloc(1, sizeof(*q));

	layout_parse(&layout_event, genlmsg_attrdata(g, 0), len, &q->ev);
	q->ev.cmd = g->cmd;
	*c->last = q;
	c->last = &q->next;
}

static int on_valid(struct nl_msg *m, void *arg)
{
	struct nlmsghdr *h = nlmsg_hdr(m);
	struct ds_conn *c = arg;
	struct genlmsghdr *g;
	void *out;
	int err;

	if (h->nlmsg_type != c->family || !genlmsg_valid_hdr(h, 0))
		return NL_OK;
	g = nlmsg_data(h);
	if (!h->nlmsg_seq) {
		keep_event(c, g, genlmsg_attrlen(g, 0));
		return NL_OK;
	}
	if (h->nlmsg_seq != c->seq || !c->layout || c->status)
		return NL_OK;
	out = xcalloc(1, c->layout->size);
	layout_parse(c->layout, genlmsg_attrdata(g, 0), genlmsg_attrlen(g, 0),
		     out);
	err = c->fn(out, c->arg);
	free(out);
	if (err < 0) {
		c->status = err;
		set_error(c, -err, NULL, 0);
	}
	return NL_OK;
}

static int any_seq(struct nl_msg *m, void *arg)
{
	(void)m;
	(void)arg;
	return NL_OK;
}

static int conn_setup(struct ds_conn *c)
{
	int one = 1, size = EVENT_RCVBUF, fd;

	if (!c->sk || !c->cb || genl_connect(c->sk) < 0)
		return fail(-1, "netlink: cannot open a socket: %s",
			    strerror(errno));
	fd = nl_socket_get_fd(c->sk);
	/* libnl leaves both off; the first fails only on ancient kernels. */
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	c->family = genl_ctrl_resolve(c->sk, DISTSNAP_GENL_NAME);
	if (c->family < 0)
		return fail(-1, "module not loaded: run 'insmod distsnap.ko'");
	nl_socket_set_nonblocking(c->sk);
	nl_socket_set_msg_buf_size(c->sk, MSG_BUF);
	nl_cb_set(c->cb, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, any_seq, c);
	nl_cb_set(c->cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, c);
	nl_cb_set(c->cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, c);
	nl_cb_set(c->cb, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, c);
	nl_cb_set(c->cb, NL_CB_DUMP_INTR, NL_CB_CUSTOM, on_interrupted, c);
	nl_cb_err(c->cb, NL_CB_CUSTOM, on_error, c);
	return 0;
}

struct ds_conn *ds_open(void)
{
	struct ds_conn *c = xcalloc(1, sizeof(*c));

	c->last = &c->events;
	c->sk = nl_socket_alloc();
	c->cb = nl_cb_alloc(NL_CB_DEFAULT);
	if (conn_setup(c)) {
		ds_close(c);
		return NULL;
	}
	return c;
}

void ds_close(struct ds_conn *c)
{
	struct queued *q;

	while ((q = c->events)) {
		c->events = q->next;
		free(q);
	}
	if (c->cb)
		nl_cb_put(c->cb);
	if (c->sk)
		nl_socket_free(c->sk);
	free(c);
}

int ds_fd(struct ds_conn *c)
{
	return nl_socket_get_fd(c->sk);
}

const char *ds_error(struct ds_conn *c)
{
	return c->error;
}

const char *ds_error_plain(struct ds_conn *c)
{
	static const char words[] = "no such group on this node";

	return strncmp(c->error, words, strlen(words)) ? c->error : words;
}

bool ds_loaded(void)
{
	struct nl_sock *sk = nl_socket_alloc();
	bool loaded = sk && !genl_connect(sk) &&
		      genl_ctrl_resolve(sk, DISTSNAP_GENL_NAME) >= 0;

	if (sk)
		nl_socket_free(sk);
	return loaded;
}

/* Whatever is readable now: 0, -EAGAIN, or why the socket is of no use. */
static int conn_receive(struct ds_conn *c)
{
	int err;

	errno = 0;
	err = nl_recvmsgs(c->sk, c->cb);
	if (err >= 0)
		return 0;
	if (err == -NLE_AGAIN)
		return -EAGAIN;
	/* libnl folds ENOBUFS into NLE_NOMEM. */
	if (err == -NLE_NOMEM)
		err = -ENOBUFS;
	else
		err = errno ? -errno : -EIO;
	set_error(c, -err, NULL, 0);
	return err;
}

struct nl_msg *conn_msg(struct ds_conn *c, uint8_t cmd, int flags)
{
	struct nl_msg *m = nlmsg_alloc();

	if (!m || !genlmsg_put(m, NL_AUTO_PORT, NL_AUTO_SEQ, c->family, 0,
			       flags, cmd, DISTSNAP_GENL_VERSION)) {
		complain("out of memory");
		exit(4);
	}
	return m;
}

static int conn_wait(struct ds_conn *c)
{
	struct pollfd p = { .fd = ds_fd(c), .events = POLLIN };
	int err;

	while (!c->finished) {
		err = conn_receive(c);
		if (err == -EAGAIN) {
			if (!poll(&p, 1, ANSWER_MAX_MS)) {
				set_error(c, ETIMEDOUT, NULL, 0);
				return -ETIMEDOUT;
			}
		} else if (err == -ENOBUFS) {
			c->lost = true;
		} else if (err) {
			return err;
		}
	}
	if (!c->status && c->interrupted) {
		set_error(c, EINTR, NULL, 0);
		return -EINTR;
	}
	return c->status;
}

int conn_call(struct ds_conn *c, struct nl_msg *m, const struct layout *l,
	      int (*fn)(void *parsed, void *arg), void *arg)
{
	int err;

	c->layout = l;
	c->fn = fn;
	c->arg = arg;
	c->status = 0;
	c->finished = false;
	c->interrupted = false;
	c->error[0] = 0;
	nl_complete_msg(c->sk, m);
	c->seq = nlmsg_hdr(m)->nlmsg_seq;
	err = nl_send(c->sk, m) < 0 ? -errno : 0;
	nlmsg_free(m);
	if (err) {
		set_error(c, -err, NULL, 0);
		return err;
	}
	return conn_wait(c);
}

struct list {
	const struct layout *l;
	char *array;
	size_t n;
};

static int list_add(void *parsed, void *arg)
{
	struct list *list = arg;
	size_t size = list->l->size;

	list->array = xrealloc(list->array, (list->n + 1) * size);
	memcpy(list->array + list->n++ * size, parsed, size);
	return 0;
}

static void list_clear(struct list *list)
{
	size_t i;

	for (i = 0; list->l->release && i < list->n; i++)
		list->l->release(list->array + i * list->l->size);
	free(list->array);
	list->array = NULL;
	list->n = 0;
}

/* A dump during which something changed is repeated. */
int conn_list(struct ds_conn *c, struct nl_msg *m, const struct layout *l,
	      void **array, size_t *n)
{
	struct list list = { .l = l };
	struct nl_msg *copy;
	int err, tries = DUMP_TRIES;

	do {
		list_clear(&list);
		copy = nlmsg_convert(nlmsg_hdr(m));
		if (!copy) {
			complain("out of memory");
			exit(4);
		}
		nlmsg_set_proto(copy, NETLINK_GENERIC);
		err = conn_call(c, copy, l, list_add, &list);
	} while (err == -EINTR && --tries);
	nlmsg_free(m);
	if (err)
		list_clear(&list);
	*array = list.array;
	*n = list.n;
	return err;
}

int ds_event(struct ds_conn *c, struct ds_event *ev)
{
	struct queued *q;
	int err;

	if (!c->events && !c->lost) {
		err = conn_receive(c);
		if (err == -EAGAIN)
			return 0;
		if (err && err != -ENOBUFS)
			return err;
		c->lost |= err == -ENOBUFS;
	}
	q = c->events;
	if (!q && c->lost) {
		c->lost = false;
		return -ENOBUFS;
	}
	if (!q)
		return 0;
	*ev = q->ev;
	c->events = q->next;
	if (!c->events)
		c->last = &c->events;
	free(q);
	return 1;
}
