// SPDX-License-Identifier: GPL-2.0
/*
 * wire FILE: counts what a capture holds of our TCP option, on its own reading of
 * the headers.  One line:
 *
 *	segments=N tagged=N handshake=N probes=N markers=N acks=N naks=N
 *	largest=BYTES red=N bare_red=N
 *
 * largest is the longest IP packet.  red counts segments with data beyond an
 * anchor that their direction has announced, while its marker was not answered
 * yet; bare_red is how many of these did not say so, and how many markers came
 * behind bytes beyond their anchor that had not said so.
 */
#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <pcap/pcap.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "distsnap.h"

#define FLOWS_MAX	4096

/* Without holes, to be compared as memory; IPv4 in the first four bytes. */
struct flow {
	uint8_t saddr[16], daddr[16];
	uint16_t sport, dport;
	uint32_t epoch, anchor, answered;
	uint32_t bare;			/* behind the last byte that came without a marker */
	bool marking, has_bare;
};

static struct flow flows[FLOWS_MAX];
static unsigned int n_flows;

static struct {
	unsigned long segments, tagged, handshake, probes, markers, acks, naks;
	unsigned long largest, red, bare_red;
} count;

static struct flow *flow(const uint8_t *saddr, uint16_t sport, const uint8_t *daddr,
			 uint16_t dport, size_t addr_len)
{
	struct flow key = { .sport = sport, .dport = dport };
	unsigned int i;

	memcpy(key.saddr, saddr, addr_len);
	memcpy(key.daddr, daddr, addr_len);

	for (i = 0; i < n_flows; i++)
		if (!memcmp(&flows[i], &key, offsetof(struct flow, epoch)))
			return &flows[i];
	if (n_flows == FLOWS_MAX) {
		fprintf(stderr, "wire: too many connections\n");
		exit(2);
	}
	flows[n_flows] = key;
	return &flows[n_flows++];
}

/* Our option in an option block, or NULL. */
static const uint8_t *find(const uint8_t *o, unsigned int len)
{
	unsigned int i = 0;

	while (i < len && o[i]) {
		if (o[i] == 1) {
			i++;
			continue;
		}
		if (i + 2 > len || o[i + 1] < 2 || i + o[i + 1] > len)
			return NULL;
		if (o[i] == DISTSNAP_OPT_KIND && o[i + 1] == DISTSNAP_OPT_LEN &&
		    (o[i + 2] << 8 | o[i + 3]) == DISTSNAP_OPT_EXID)
			return o + i;
		i += o[i + 1];
	}
	return NULL;
}

static uint32_t be32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return ntohl(v);
}

static void tally(const uint8_t *opt, bool syn)
{
	if (!opt)
		return;
	if (syn)
		count.handshake++;
	else if (opt[4] & (DISTSNAP_OPT_PROBE | DISTSNAP_OPT_REPLY))
		count.probes++;
	else
		count.tagged++;
	count.markers += !!(opt[4] & DISTSNAP_OPT_MARKER);
	count.acks += !!(opt[4] & DISTSNAP_OPT_ACK);
	count.naks += !!(opt[4] & DISTSNAP_OPT_NAK);
}

static void segment(const uint8_t *p, unsigned int len)
{
	const uint8_t *saddr, *daddr, *opt;
	unsigned int hdr, total, addr_len;
	struct flow *f, *back;
	struct tcphdr tcp;
	uint32_t end;

	/* No extension headers here: an own reading may be a simple one. */
	if (len >= sizeof(struct iphdr) && p[0] >> 4 == 4 && p[9] == IPPROTO_TCP) {
		hdr = (p[0] & 15) * 4;
		total = p[2] << 8 | p[3];
		saddr = p + 12;
		daddr = p + 16;
		addr_len = 4;
	} else if (len >= sizeof(struct ip6_hdr) && p[0] >> 4 == 6 && p[6] == IPPROTO_TCP) {
		hdr = sizeof(struct ip6_hdr);
		total = hdr + (p[4] << 8 | p[5]);
		saddr = p + 8;
		daddr = p + 24;
		addr_len = 16;
	} else {
		return;
	}
	if (len < hdr + sizeof(tcp))
		return;
	memcpy(&tcp, p + hdr, sizeof(tcp));
	if (len < hdr + tcp.doff * 4u)
		return;
	count.segments++;
	if (total > count.largest)
		count.largest = total;
	opt = find(p + hdr + sizeof(tcp), tcp.doff * 4 - sizeof(tcp));
	tally(opt, tcp.syn);

	f = flow(saddr, tcp.source, daddr, tcp.dest, addr_len);
	back = flow(daddr, tcp.dest, saddr, tcp.source, addr_len);
	end = ntohl(tcp.seq) + total - hdr - tcp.doff * 4 + tcp.fin;
	/* One that comes late, behind its answer, announces nothing. */
	if (opt && opt[4] & DISTSNAP_OPT_MARKER && be32(opt + 8) != f->answered) {
		count.bare_red += (int32_t)(be32(opt + 8) - f->epoch) > 0 && f->has_bare &&
				  (int32_t)(f->bare - be32(opt + 12)) > 0;
		f->marking = true;
		f->epoch = be32(opt + 8);
		f->anchor = be32(opt + 12);
	}
	if (f->marking && end != ntohl(tcp.seq) && (int32_t)(end - f->anchor) > 0) {
		count.red++;
		count.bare_red += !opt || !(opt[4] & DISTSNAP_OPT_MARKER);
	}
	if (!(opt && opt[4] & DISTSNAP_OPT_MARKER) && end != ntohl(tcp.seq) && !tcp.syn &&
	    (!f->has_bare || (int32_t)(end - f->bare) > 0)) {
		f->bare = end;
		f->has_bare = true;
	}
	/* The sender may stop as soon as it sees the answer. */
	if (opt && opt[4] & (DISTSNAP_OPT_ACK | DISTSNAP_OPT_NAK) &&
	    be32(opt + 8) == back->epoch) {
		back->marking = false;
		back->answered = back->epoch;
	}
}

int main(int argc, char **argv)
{
	char err[PCAP_ERRBUF_SIZE];
	struct pcap_pkthdr *h;
	const uint8_t *p;
	pcap_t *cap;
	int skip, ret;

	if (argc != 2) {
		fprintf(stderr, "usage: wire FILE\n");
		return 2;
	}
	cap = pcap_open_offline(argv[1], err);
	if (!cap) {
		fprintf(stderr, "wire: %s\n", err);
		return 2;
	}
	skip = pcap_datalink(cap) == DLT_EN10MB ? 14 : 0;
	while ((ret = pcap_next_ex(cap, &h, &p)) == 1)
		if (h->caplen > (unsigned int)skip)
			segment(p + skip, h->caplen - skip);
	if (ret == PCAP_ERROR) {
		fprintf(stderr, "wire: %s\n", pcap_geterr(cap));
		return 2;
	}
	pcap_close(cap);
	printf("segments=%lu tagged=%lu handshake=%lu probes=%lu markers=%lu acks=%lu naks=%lu largest=%lu red=%lu bare_red=%lu\n",
	       count.segments, count.tagged, count.handshake, count.probes,
	       count.markers, count.acks, count.naks, count.largest, count.red,
	       count.bare_red);
	return 0;
}
