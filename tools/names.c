// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include <distsnap.h>

#include "names.h"
#include "util.h"

static const char *pick(const char *const *names, size_t n, uint32_t i)
{
	return i < n && names[i] ? names[i] : "?";
}

const char *state_name(uint32_t state)
{
	static const char *const names[] = {
		[DISTSNAP_S_IDLE] = "idle",
		[DISTSNAP_S_TRIGGERED] = "triggered",
		[DISTSNAP_S_CAPTURED] = "captured",
		[DISTSNAP_S_RECORDED] = "recorded",
		[DISTSNAP_S_DONE] = "done",
		[DISTSNAP_S_EXPIRED] = "expired",
		[DISTSNAP_S_ABORTED] = "aborted",
		[DISTSNAP_S_SUPERSEDED] = "superseded",
	};

	return pick(names, ARRAY_SIZE(names), state);
}

const char *peer_name(uint32_t peer)
{
	static const char *const names[] = {
		[DISTSNAP_PEER_UNKNOWN] = "unknown",
		[DISTSNAP_PEER_MEMBER] = "member",
		[DISTSNAP_PEER_EXTERNAL] = "external",
		[DISTSNAP_PEER_REWRITTEN] = "rewritten",
		[DISTSNAP_PEER_UNSUPPORTED] = "unsupported",
		[DISTSNAP_PEER_CONNECTING] = "connecting",
	};

	return pick(names, ARRAY_SIZE(names), peer);
}

const char *origin_name(uint32_t origin)
{
	static const char *const names[] = {
		[DISTSNAP_ORIGIN_SENDQ] = "sendq",
		[DISTSNAP_ORIGIN_RECVQ] = "recvq",
		[DISTSNAP_ORIGIN_OFO] = "ofo",
		[DISTSNAP_ORIGIN_LOG] = "log",
	};

	return pick(names, ARRAY_SIZE(names), origin);
}

const char *tcp_state_name(uint32_t state)
{
	static const char *const names[] = {
		NULL, "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1",
		"FIN_WAIT2", "TIME_WAIT", "CLOSE", "CLOSE_WAIT", "LAST_ACK",
		"LISTEN", "CLOSING", "NEW_SYN_RECV",
	};

	return pick(names, ARRAY_SIZE(names), state);
}

const char *cut_flag_name(unsigned int bit)
{
	static const char *const names[] = {
		"closed", "acked", "naked", "missed", "fin-out", "fin-in",
		"truncated", "gone", "contradicted", "left", "born",
		"tomb", "short", "reset",
	};

	return bit < ARRAY_SIZE(names) ? names[bit] : NULL;
}

void endpoint_name(uint16_t family, const uint8_t *addr, uint16_t port,
		   char out[ENDPOINT_SIZE])
{
	char text[INET6_ADDRSTRLEN] = "?";

	inet_ntop(family, addr, text, sizeof(text));
	snprintf(out, ENDPOINT_SIZE, family == AF_INET6 ? "[%s]:%u" : "%s:%u",
		 text, ntohs(port));
}
