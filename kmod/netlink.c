// SPDX-License-Identifier: GPL-2.0
/* Generic netlink: requests. */
#include <linux/nsproxy.h>
#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "channel.h"
#include "member.h"
#include "netlink.h"

static const struct nla_policy policy[DISTSNAP_A_MAX + 1] = {
	[DISTSNAP_A_NAME] = { .type = NLA_NUL_STRING, .len = DISTSNAP_NAME_MAX },
	[DISTSNAP_A_ID] = NLA_POLICY_MIN(NLA_U16, 1),
	[DISTSNAP_A_PEERS] = { .type = NLA_NESTED },
	/* A policy's bounds hold 16 bits: limits_ok() looks at the other end. */
	[DISTSNAP_A_PAUSE_MAX] = NLA_POLICY_MIN(NLA_U32, 1),
	[DISTSNAP_A_RECORD_MAX] = NLA_POLICY_MIN(NLA_U32, 1),
	[DISTSNAP_A_SNAP_MAX] = NLA_POLICY_MIN(NLA_U32, 1),
	[DISTSNAP_A_BYTES_MAX] = { .type = NLA_U64 },
	[DISTSNAP_A_EPOCH] = NLA_POLICY_MIN(NLA_U32, 1),
	[DISTSNAP_A_FLAGS] = NLA_POLICY_MASK(NLA_U32, DISTSNAP_F_LIGHT),
	[DISTSNAP_A_PID] = NLA_POLICY_MIN(NLA_U32, 1),
	[DISTSNAP_A_MEMBER] = { .type = NLA_U32 },
	[DISTSNAP_A_MEMBER_NAME] = { .type = NLA_NUL_STRING,
				     .len = DISTSNAP_NAME_MAX },
	[DISTSNAP_A_CHANNEL] = { .type = NLA_U32 },
	[DISTSNAP_A_STATUS] = NLA_POLICY_MAX(NLA_U32, MAX_ERRNO),
	[DISTSNAP_A_MESSAGE] = { .type = NLA_NUL_STRING, .len = 63 },
};

#define MINUTE_MS	60000

/* Names become file names: nothing that could be a path. */
static bool valid_name(const char *s)
{
	if (!*s || *s == '.')
		return false;
	for (; *s; s++)
		if (!isalnum(*s) && !strchr("._-", *s))
			return false;
	return true;
}

static const char *name_of(const struct genl_info *info, int attr)
{
	return info->attrs[attr] ? nla_data(info->attrs[attr]) : NULL;
}

/* The group that the request names; context: ds_mutex. */
static struct ds_group *find_group(struct genl_info *info)
{
	const char *name = name_of(info, DISTSNAP_A_NAME);
	struct ds_group *g;

	lockdep_assert_held(&ds_mutex);
	if (!name) {
		NL_SET_ERR_MSG(info->extack, "no group named");
		return ERR_PTR(-EINVAL);
	}
	g = ds_group_by_name(ds_net(genl_info_net(info)), name);
	if (!g) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[DISTSNAP_A_NAME],
				    "no such group on this node: create it with 'distsnap group'");
		return ERR_PTR(-ENOENT);
	}
	return g;
}

static int parse_peers(struct genl_info *info, struct distsnap_prefix *p,
		       unsigned int *n)
{
	struct nlattr *a;
	int rem;

	*n = 0;
	nla_for_each_nested(a, info->attrs[DISTSNAP_A_PEERS], rem) {
		if (*n == DISTSNAP_PREFIXES_MAX) {
			NL_SET_ERR_MSG_ATTR(info->extack, a, "more than 16 prefixes");
			return -EINVAL;
		}
		if (nla_type(a) != DISTSNAP_A_PREFIX || nla_len(a) != sizeof(*p)) {
			NL_SET_ERR_MSG_ATTR(info->extack, a, "malformed prefix");
			return -EINVAL;
		}
		memcpy(&p[*n], nla_data(a), sizeof(*p));
		if (p[*n].family != AF_INET && p[*n].family != AF_INET6) {
			NL_SET_ERR_MSG_ATTR(info->extack, a,
					    "a prefix is neither IPv4 nor IPv6");
			return -EAFNOSUPPORT;
		}
		if (p[*n].plen > (p[*n].family == AF_INET ? 32 : 128)) {
			NL_SET_ERR_MSG_ATTR(info->extack, a,
					    "prefix length above 32, or 128 for IPv6");
			return -EINVAL;
		}
		(*n)++;
	}
	return 0;
}

static struct ds_group *new_group(struct genl_info *info)
{
	struct ds_net *dn = ds_net(genl_info_net(info));
	const char *name = name_of(info, DISTSNAP_A_NAME);
	struct ds_group *g;
	u16 id;

	if (!name || !valid_name(name)) {
		NL_SET_ERR_MSG(info->extack,
			       "a group's name is letters, digits and . _ -, and does not start with a dot");
		return ERR_PTR(-EINVAL);
	}
	if (!info->attrs[DISTSNAP_A_ID] || !info->attrs[DISTSNAP_A_PEERS]) {
		NL_SET_ERR_MSG(info->extack,
			       "a new group needs an id (the same on every host) and peers");
		return ERR_PTR(-EINVAL);
	}
	id = nla_get_u16(info->attrs[DISTSNAP_A_ID]);
	list_for_each_entry(g, &dn->groups, node) {
		if (g->id == id) {
			NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[DISTSNAP_A_ID],
					    "another group on this node has this id");
			return ERR_PTR(-EEXIST);
		}
	}
	return ds_group_create(dn, name, id);
}

static int limits_ok(struct genl_info *info)
{
	static const int attrs[] = { DISTSNAP_A_PAUSE_MAX, DISTSNAP_A_RECORD_MAX,
				     DISTSNAP_A_SNAP_MAX };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(attrs); i++) {
		struct nlattr *a = info->attrs[attrs[i]];

		if (a && nla_get_u32(a) > MINUTE_MS) {
			NL_SET_ERR_MSG_ATTR(info->extack, a, "limit above one minute");
			return -ERANGE;
		}
	}
	return 0;
}

static int group_set(struct sk_buff *skb, struct genl_info *info)
{
	struct distsnap_prefix peers[DISTSNAP_PREFIXES_MAX];
	const char *name = name_of(info, DISTSNAP_A_NAME);
	struct nlattr **a = info->attrs;
	struct ds_group *g = NULL;
	bool created = false;
	unsigned int n = 0;
	int err;

	err = limits_ok(info);
	if (!err && a[DISTSNAP_A_PEERS])
		err = parse_peers(info, peers, &n);
	if (err)
		return err;
	mutex_lock(&ds_mutex);
	if (name)
		g = ds_group_by_name(ds_net(genl_info_net(info)), name);
	if (!g) {
		g = new_group(info);
		created = true;
	} else if (a[DISTSNAP_A_ID] && nla_get_u16(a[DISTSNAP_A_ID]) != g->id) {
		NL_SET_ERR_MSG_ATTR(info->extack, a[DISTSNAP_A_ID],
				    "the group exists with another id");
		g = ERR_PTR(-EEXIST);
	}
	if (IS_ERR(g)) {
		err = PTR_ERR(g);
		goto out;
	}
	if (a[DISTSNAP_A_PEERS])
		err = ds_group_set_prefixes(g, peers, n);
	if (err) {
		if (created)
			ds_group_destroy(g);
		goto out;
	}
	if (a[DISTSNAP_A_PAUSE_MAX])
		WRITE_ONCE(g->limits.pause_max, nla_get_u32(a[DISTSNAP_A_PAUSE_MAX]));
	if (a[DISTSNAP_A_RECORD_MAX])
		WRITE_ONCE(g->limits.record_max, nla_get_u32(a[DISTSNAP_A_RECORD_MAX]));
	if (a[DISTSNAP_A_SNAP_MAX])
		WRITE_ONCE(g->limits.snap_max, nla_get_u32(a[DISTSNAP_A_SNAP_MAX]));
	if (a[DISTSNAP_A_BYTES_MAX])
		WRITE_ONCE(g->limits.bytes_max, nla_get_u64(a[DISTSNAP_A_BYTES_MAX]));
	if (a[DISTSNAP_A_EPOCH]) {
		u32 epoch = nla_get_u32(a[DISTSNAP_A_EPOCH]);

		spin_lock_bh(&g->lock);
		ds_group_raise(g, epoch, false, 0);
		spin_unlock_bh(&g->lock);
	}
out:
	mutex_unlock(&ds_mutex);
	return err;
}

static int group_del(struct sk_buff *skb, struct genl_info *info)
{
	struct ds_group *g;
	int err = 0;

	mutex_lock(&ds_mutex);
	g = find_group(info);
	if (IS_ERR(g)) {
		err = PTR_ERR(g);
	} else if (READ_ONCE(g->n_members)) {
		NL_SET_ERR_MSG(info->extack, "the group has members: let them leave first");
		err = -EBUSY;
	} else {
		ds_group_destroy(g);
	}
	mutex_unlock(&ds_mutex);
	return err;
}

static struct sk_buff *new_reply(struct genl_info *info, u8 cmd, void **hdr)
{
	struct sk_buff *msg = nlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);

	if (!msg)
		return NULL;
	*hdr = genlmsg_put_reply(msg, info, &ds_genl_family, 0, cmd);
	if (!*hdr) {
		nlmsg_free(msg);
		return NULL;
	}
	return msg;
}

static int group_get(struct sk_buff *skb, struct genl_info *info)
{
	struct ds_group *g;
	struct sk_buff *msg;
	void *hdr;
	int err;

	msg = new_reply(info, DISTSNAP_CMD_GROUP_GET, &hdr);
	if (!msg)
		return -ENOMEM;
	mutex_lock(&ds_mutex);
	g = find_group(info);
	err = PTR_ERR_OR_ZERO(g);
	if (!err) {
		mutex_lock(&g->mutex);
		err = ds_fill_group(msg, g);
		mutex_unlock(&g->mutex);
	}
	mutex_unlock(&ds_mutex);
	if (err) {
		nlmsg_free(msg);
		return err;
	}
	genlmsg_end(msg, hdr);
	return genlmsg_reply(msg, info);
}

static int reply_u32(struct genl_info *info, u8 cmd, int attr, u32 value)
{
	struct sk_buff *msg;
	void *hdr;

	msg = new_reply(info, cmd, &hdr);
	if (!msg)
		return -ENOMEM;
	if (nla_put_u32(msg, attr, value)) {
		nlmsg_free(msg);
		return -EMSGSIZE;
	}
	genlmsg_end(msg, hdr);
	return genlmsg_reply(msg, info);
}

/* May this process be a member of a group in @net?  Says why not. */
static int may_join(struct task_struct *t, const struct net *net,
		    struct netlink_ext_ack *extack)
{
	struct user_namespace *ns;
	bool here;

	if (t->flags & PF_KTHREAD) {
		NL_SET_ERR_MSG(extack, "a kernel thread cannot be a member");
		return -EINVAL;
	}
	if (!thread_group_leader(t)) {
		NL_SET_ERR_MSG(extack, "this is a thread: name its process");
		return -EINVAL;
	}
	if (READ_ONCE(t->exit_state)) {
		NL_SET_ERR_MSG(extack, "the process has ended");
		return -ESRCH;
	}
	if (test_tsk_thread_flag(t, TIF_ADDR32)) {
		NL_SET_ERR_MSG(extack, "32-bit processes are not supported");
		return -EOPNOTSUPP;
	}
	task_lock(t);
	here = t->nsproxy && net_eq(t->nsproxy->net_ns, net);
	task_unlock(t);
	if (!here) {
		NL_SET_ERR_MSG(extack,
			       "the process lives in another network namespace: join it from there");
		return -EXDEV;
	}
	rcu_read_lock();
	ns = get_user_ns(__task_cred(t)->user_ns);
	rcu_read_unlock();
	here = ns_capable(ns, CAP_SYS_PTRACE);
	put_user_ns(ns);
	if (!here) {
		NL_SET_ERR_MSG(extack, "needs CAP_SYS_PTRACE over the process");
		return -EPERM;
	}
	return 0;
}

static bool name_taken(const struct ds_group *g, const char *name)
{
	const struct ds_member *m;

	list_for_each_entry(m, &g->members, node)
		if (!strcmp(m->name, name))
			return true;
	return false;
}

/* Is it a member of any group on this node?  Context: ds_mutex. */
static bool is_member(struct ds_net *dn, struct pid *pid)
{
	struct ds_group *g;
	bool found = false;

	list_for_each_entry(g, &dn->groups, node) {
		mutex_lock(&g->mutex);
		found |= !!ds_member_by_pid(g, pid);
		mutex_unlock(&g->mutex);
	}
	return found;
}

static void default_name(char *name, const struct task_struct *t, u32 pid)
{
	char comm[TASK_COMM_LEN];
	char *p;

	strscpy(comm, t->comm, sizeof(comm));
	for (p = comm; *p; p++)
		if (!isalnum(*p) && !strchr("_-", *p))
			*p = '_';
	snprintf(name, DISTSNAP_NAME_MAX + 1, "%s.%u", comm, pid);
}

static int join(struct sk_buff *skb, struct genl_info *info)
{
	struct net *net = genl_info_net(info);
	char name[DISTSNAP_NAME_MAX + 1];
	struct task_struct *t = NULL;
	struct pid *pid = NULL;
	struct ds_member *m;
	struct ds_group *g;
	u32 nr, id = 0;
	int err;

	if (!info->attrs[DISTSNAP_A_PID]) {
		NL_SET_ERR_MSG(info->extack, "no process named");
		return -EINVAL;
	}
	nr = nla_get_u32(info->attrs[DISTSNAP_A_PID]);
	mutex_lock(&ds_mutex);
	g = find_group(info);
	if (IS_ERR(g)) {
		err = PTR_ERR(g);
		goto out;
	}
	pid = find_get_pid(nr);
	t = get_pid_task(pid, PIDTYPE_PID);
	if (!t) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[DISTSNAP_A_PID],
				    "no such process");
		err = -ESRCH;
		goto out;
	}
	err = may_join(t, net, info->extack);
	if (err)
		goto out;
	if (is_member(ds_net(net), pid)) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[DISTSNAP_A_PID],
				    "the process is a member already");
		err = -EEXIST;
		goto out;
	}
	if (info->attrs[DISTSNAP_A_MEMBER_NAME])
		strscpy(name, name_of(info, DISTSNAP_A_MEMBER_NAME), sizeof(name));
	else
		default_name(name, t, nr);
	mutex_lock(&g->mutex);
	if (!valid_name(name)) {
		NL_SET_ERR_MSG(info->extack,
			       "a member's name is letters, digits and . _ -, and does not start with a dot");
		err = -EINVAL;
	} else if (name_taken(g, name)) {
		NL_SET_ERR_MSG(info->extack, "another member on this node has this name");
		err = -EEXIST;
	} else {
		m = ds_member_join(g, pid, name);
		err = PTR_ERR_OR_ZERO(m);
		if (!err)
			id = m->id;
		else if (err == -EBUSY)
			NL_SET_ERR_MSG(info->extack,
				       "the process shares a connection with another member");
		else if (err == -EAGAIN)
			NL_SET_ERR_MSG(info->extack,
				       "a connection is busy at this moment: try again");
	}
	mutex_unlock(&g->mutex);
out:
	mutex_unlock(&ds_mutex);
	if (t)
		put_task_struct(t);
	put_pid(pid);
	return err ?: reply_u32(info, DISTSNAP_CMD_JOIN, DISTSNAP_A_MEMBER, id);
}

static int leave(struct sk_buff *skb, struct genl_info *info)
{
	struct ds_member *m = NULL;
	struct ds_group *g;
	struct pid *pid;
	int err = 0;

	if (!info->attrs[DISTSNAP_A_PID]) {
		NL_SET_ERR_MSG(info->extack, "no process named");
		return -EINVAL;
	}
	mutex_lock(&ds_mutex);
	g = find_group(info);
	if (IS_ERR(g)) {
		err = PTR_ERR(g);
		goto out;
	}
	pid = find_get_pid(nla_get_u32(info->attrs[DISTSNAP_A_PID]));
	mutex_lock(&g->mutex);
	if (pid)
		m = ds_member_by_pid(g, pid);
	if (m) {
		ds_member_leave(m);
	} else {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[DISTSNAP_A_PID],
				    "no member of this group has this pid");
		err = -ESRCH;
	}
	mutex_unlock(&g->mutex);
	put_pid(pid);
out:
	mutex_unlock(&ds_mutex);
	return err;
}

static int agent(struct sk_buff *skb, struct genl_info *info)
{
	struct pid *pid = get_task_pid(current, PIDTYPE_TGID);
	struct ds_group *g;
	int err = 0;

	mutex_lock(&ds_mutex);
	g = find_group(info);
	if (IS_ERR(g)) {
		err = PTR_ERR(g);
		goto out;
	}
	spin_lock_bh(&g->lock);
	if (g->agent && g->agent != info->snd_portid) {
		err = -EBUSY;
	} else {
		g->agent = info->snd_portid;
		swap(g->agent_pid, pid);
	}
	spin_unlock_bh(&g->lock);
	if (err)
		NL_SET_ERR_MSG(info->extack, "the group has an agent on this node already");
out:
	mutex_unlock(&ds_mutex);
	put_pid(pid);
	return err;
}

/* Begin an epoch here; context: group->mutex. */
static int begin(struct ds_group *g, u32 epoch, u32 flags,
		 struct netlink_ext_ack *extack, u32 *out)
{
	bool far;
	u32 last;

	if (list_empty(&g->members)) {
		NL_SET_ERR_MSG(extack,
			       "nothing to photograph: the group has no members on this node, use 'distsnap join'");
		return -ENOENT;
	}
	ds_group_begin(g);	/* what a marker has triggered just now comes first */
	if (ds_group_has_open(g)) {
		NL_SET_ERR_MSG(extack, "a snapshot is open on this node: wait until it is done");
		return -EBUSY;
	}
	spin_lock_bh(&g->lock);
	last = g->last;
	if (!epoch)
		epoch = ds_epoch_next(last);
	far = last && (s32)(epoch - last) > DS_EPOCH_JUMP_MAX;
	if (ds_epoch_after(epoch, last) && !far) {
		ds_group_raise(g, epoch, flags & DISTSNAP_F_LIGHT,
			       ds_group_snap_max(g));
		g->want = epoch;
		g->want_flags = flags | DISTSNAP_F_INITIATOR;
	}
	spin_unlock_bh(&g->lock);
	if (!ds_epoch_after(epoch, last)) {
		NL_SET_ERR_MSG(extack, "this epoch is not newer than the last one");
		return -ESTALE;
	}
	if (far) {
		NL_SET_ERR_MSG(extack,
			       "this epoch is more than 65536 ahead: other hosts would not record it");
		return -ERANGE;
	}
	ds_group_wake(g, 0);
	ds_group_begin(g);
	*out = epoch;
	return 0;
}

static int take(struct sk_buff *skb, struct genl_info *info)
{
	u32 epoch = 0, flags = 0;
	struct ds_group *g;
	int err;

	if (info->attrs[DISTSNAP_A_EPOCH])
		epoch = nla_get_u32(info->attrs[DISTSNAP_A_EPOCH]);
	if (info->attrs[DISTSNAP_A_FLAGS])
		flags = nla_get_u32(info->attrs[DISTSNAP_A_FLAGS]);
	mutex_lock(&ds_mutex);
	g = find_group(info);
	if (IS_ERR(g)) {
		err = PTR_ERR(g);
	} else {
		mutex_lock(&g->mutex);
		err = begin(g, epoch, flags, info->extack, &epoch);
		mutex_unlock(&g->mutex);
	}
	mutex_unlock(&ds_mutex);
	return err ?: reply_u32(info, DISTSNAP_CMD_TAKE, DISTSNAP_A_EPOCH, epoch);
}

/* The snapshot that the request names; context: group->mutex. */
static struct ds_snap *find_snap(struct ds_group *g, struct genl_info *info)
{
	struct ds_snap *snap = NULL;

	if (info->attrs[DISTSNAP_A_EPOCH])
		snap = ds_snap_find(g, nla_get_u32(info->attrs[DISTSNAP_A_EPOCH]));
	if (!snap)
		NL_SET_ERR_MSG(info->extack, "no such epoch is kept on this node");
	return snap;
}

static int drop(struct sk_buff *skb, struct genl_info *info)
{
	struct ds_snap *snap;
	struct ds_group *g;
	int err = 0;

	mutex_lock(&ds_mutex);
	g = find_group(info);
	if (IS_ERR(g)) {
		err = PTR_ERR(g);
		goto out;
	}
	mutex_lock(&g->mutex);
	snap = find_snap(g, info);
	if (!snap) {
		err = -ENOENT;
	} else if (ds_snap_is_open(snap)) {
		NL_SET_ERR_MSG(info->extack, "the snapshot is still open");
		err = -EBUSY;
	} else {
		ds_snap_free(snap);
	}
	mutex_unlock(&g->mutex);
out:
	mutex_unlock(&ds_mutex);
	return err;
}

/* The member that the request names, with a reference. */
static struct ds_member *get_member(struct genl_info *info)
{
	struct ds_member *m = NULL;
	struct ds_group *g;

	mutex_lock(&ds_mutex);
	g = find_group(info);
	if (IS_ERR(g)) {
		mutex_unlock(&ds_mutex);
		return ERR_CAST(g);
	}
	mutex_lock(&g->mutex);
	if (info->attrs[DISTSNAP_A_MEMBER])
		m = ds_member_by_id(g, nla_get_u32(info->attrs[DISTSNAP_A_MEMBER]));
	if (m)
		ds_member_get(m);
	mutex_unlock(&g->mutex);
	mutex_unlock(&ds_mutex);
	if (!m)
		NL_SET_ERR_MSG(info->extack, "no such member on this node");
	return m ?: ERR_PTR(-ENOENT);
}

static int recorded(struct sk_buff *skb, struct genl_info *info)
{
	const char *message = name_of(info, DISTSNAP_A_MESSAGE);
	struct ds_member *m;
	unsigned int round;
	u32 epoch;
	bool ok;

	if (!info->attrs[DISTSNAP_A_EPOCH] || !info->attrs[DISTSNAP_A_STATUS]) {
		NL_SET_ERR_MSG(info->extack, "epoch or status is missing");
		return -EINVAL;
	}
	epoch = nla_get_u32(info->attrs[DISTSNAP_A_EPOCH]);
	m = get_member(info);
	if (IS_ERR(m))
		return PTR_ERR(m);
	spin_lock_bh(&m->lock);
	round = m->round;
	ok = m->asking && m->group->agent == info->snd_portid &&
	     m->colour.current_epoch == epoch;
	if (ok) {
		m->asking = false;
		m->status = nla_get_u32(info->attrs[DISTSNAP_A_STATUS]);
		strscpy(m->message, message ?: "", sizeof(m->message));
		complete(&m->answered);
	}
	spin_unlock_bh(&m->lock);
	if (ok) {
		wait_event(m->ended, READ_ONCE(m->round) != round);
		/* A failure of the agent's own is no news to it. */
		ok = nla_get_u32(info->attrs[DISTSNAP_A_STATUS]) ||
		     !ds_epoch_after(epoch, READ_ONCE(m->colour.recorded));
	}
	if (!ok)
		NL_SET_ERR_MSG(info->extack, "this recording was given up meanwhile");
	ds_member_put(m);
	return ok ? 0 : -ESTALE;
}

static int abort_snap(struct sk_buff *skb, struct genl_info *info)
{
	struct ds_snap *snap;
	struct ds_member *m;
	struct ds_group *g;
	int err = 0;

	mutex_lock(&ds_mutex);
	g = find_group(info);
	if (IS_ERR(g)) {
		err = PTR_ERR(g);
		goto out;
	}
	mutex_lock(&g->mutex);
	snap = find_snap(g, info);
	if (!snap) {
		err = -ENOENT;
	} else if (ds_snap_is_open(snap)) {
		list_for_each_entry(m, &g->members, node)
			ds_member_abort(m, snap->epoch);
		ds_group_wake(g, 0);
	}
	mutex_unlock(&g->mutex);
out:
	mutex_unlock(&ds_mutex);
	return err;
}

#define OP(name, func)							\
	{ .cmd = DISTSNAP_CMD_##name, .doit = func, .flags = GENL_ADMIN_PERM }
#define DUMP(name, func)						\
	{ .cmd = DISTSNAP_CMD_##name, .dumpit = func, .flags = GENL_ADMIN_PERM }

static const struct genl_ops genl_ops[] = {
	OP(GROUP_SET, group_set),
	OP(GROUP_DEL, group_del),
	{
		.cmd = DISTSNAP_CMD_GROUP_GET,
		.doit = group_get,
		.dumpit = ds_dump_groups,
		.flags = GENL_ADMIN_PERM,
	},
	OP(JOIN, join),
	OP(LEAVE, leave),
	DUMP(MEMBER_GET, ds_dump_members),
	DUMP(CHANNEL_GET, ds_dump_channels),
	OP(AGENT, agent),
	OP(TAKE, take),
	OP(ABORT, abort_snap),
	OP(RECORDED, recorded),
	DUMP(SNAP_GET, ds_dump_snaps),
	DUMP(RECORD_GET, ds_dump_records),
	DUMP(THREAD_GET, ds_dump_threads),
	DUMP(CUT_GET, ds_dump_cuts),
	DUMP(DATA_GET, ds_dump_data),
	OP(DROP, drop),
	DUMP(COUNTER_GET, ds_dump_counters),
};

struct genl_family ds_genl_family = {
	.name = DISTSNAP_GENL_NAME,
	.version = DISTSNAP_GENL_VERSION,
	.maxattr = DISTSNAP_A_MAX,
	.policy = policy,
	.netnsok = true,
	.parallel_ops = true,
	.module = THIS_MODULE,
	.ops = genl_ops,
	.n_ops = ARRAY_SIZE(genl_ops),
	.resv_start_op = DISTSNAP_CMD_MAX + 1,
};

int ds_netlink_init(void)
{
	int err = genl_register_family(&ds_genl_family);

	if (err)
		return err;
	err = ds_agent_init();
	if (err)
		genl_unregister_family(&ds_genl_family);
	return err;
}

void ds_netlink_exit(void)
{
	ds_agent_exit();
	genl_unregister_family(&ds_genl_family);
}
