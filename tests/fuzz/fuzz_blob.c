/*
 * tests/fuzz/fuzz_blob.c - the plan of a sandbox, as agate-init maps and checks it
 *
 * The supervisor writes it, so it is trusted; but a mistake there must end in a
 * refusal, not in a read beyond the end. With bit 0 of the first byte the fields
 * that every plan has right are put right, so that the rest is looked at. What
 * is accepted is then read whole, as the stage and the broker do.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/filter.h>

#include "sandbox/init/wire.h"
#include "sandbox/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static unsigned int sum;	/* so that no read is left out */

static void read_bytes(const struct blob_head *b, size_t off, size_t len)
{
	const char *from = (const char *)b + off;

	if (off > b->total || len > b->total - off)
		abort();
	for (size_t i = 0; i < len; i++)
		sum += (unsigned char)from[i];
}

static void read_text(const struct blob_head *b, uint32_t off)
{
	if (off >= b->total || !memchr(wire_text(b, off), '\0', b->total - off))
		abort();
	read_bytes(b, off, strlen(wire_text(b, off)) + 1);
}

static void read_texts(const struct blob_head *b, uint32_t off, uint32_t n, struct names *rules)
{
	const uint32_t *at = (const void *)((const char *)b + off);

	if (n)
		read_bytes(b, off, n * sizeof(*at));
	for (uint32_t i = 0; i < n; i++) {
		read_text(b, at[i]);
		if (rules && i < 64)
			names_add(rules, wire_text(b, at[i]));
	}
}

static void read_all(const struct blob_head *b)
{
	const struct blob_zone *z = (const void *)((const char *)b + b->zones_off);
	struct names rules = { 0 };

	for (uint32_t i = 0; i < b->n_zones; i++) {
		read_bytes(b, b->zones_off + i * sizeof(*z), sizeof(*z));
		if (z[i].kind >= ZONE_NUM)
			abort();
		read_text(b, z[i].path_off);
		read_text(b, z[i].rule_off);
	}
	read_texts(b, b->rules_off, b->n_rules, &rules);
	read_texts(b, b->reads_off, b->n_reads, &rules);
	read_texts(b, b->sockets_off, b->n_sockets, NULL);
	read_texts(b, b->literals_off, b->n_literals, NULL);
	read_texts(b, b->root_only_off, b->n_root_only, NULL);
	read_texts(b, b->closed_off, b->n_closed, NULL);
	read_texts(b, b->shown_off, b->n_shown, NULL);
	for (int i = 0; i < 2; i++)
		if (b->n_filter[i])
			read_bytes(b, b->filter_off[i], b->n_filter[i] * sizeof(struct sock_filter));
	if (b->n_host_ports > PROTO_HOST_PORTS)
		abort();
	names_denied(&rules, "/a/.git/hooks/pre-commit");
	names_done(&rules);
}

/* Fields every plan has right; small numbers elsewhere lead further than random ones. */
static void put_right(unsigned char *copy, size_t len)
{
	struct blob_head head;

	if (len < sizeof(head))
		return;
	memcpy(&head, copy, sizeof(head));
	head.magic = BLOB_MAGIC;
	head.total = (uint32_t)len;
	memcpy(copy, &head, sizeof(head));
	copy[len - 1] = '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	int fd = memfd_create("plan", MFD_CLOEXEC);
	const struct blob_head *b;
	unsigned char *copy;

	if (fd < 0 || !len--) {
		close(fd);
		return 0;
	}
	copy = malloc(len + 1);
	if (!copy)
		abort();
	memcpy(copy, data + 1, len);
	if (data[0] & 1)
		put_right(copy, len);
	if (write(fd, copy, len) != (ssize_t)len)
		abort();
	b = wire_blob(fd);
	if (b) {
		if (b->total != len)
			abort();
		read_all(b);
		munmap((void *)(uintptr_t)b, len);	/* it took the descriptor */
	} else {
		close(fd);
	}
	free(copy);
	return 0;
}
