#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "sandbox/calls.h"
#include "sandbox/filter.h"

static void own_filter(scmp_filter_ctx *ctx)
{
	if (*ctx)
		seccomp_release(*ctx);
}

/*
 * seccomp's BPF compares one value at a time, so a condition becomes the list
 * of comparisons of which one has to hold: "(argument & mask) == value", or
 * with mask 0 "argument > value" on all 64 bits.
 */
struct cube {
	uint32_t mask, value;
};

#define MAX_CUBES 256

struct cubes {
	struct cube v[MAX_CUBES];
	size_t n;
};

static int add_cube(struct cubes *to, uint32_t mask, uint32_t value)
{
	if (to->n == MAX_CUBES)
		return -1;
	to->v[to->n++] = (struct cube){ mask, value };
	return 0;
}

/*
 * Cover everything outside @c->set: look at the values whose bits in @fixed are
 * @value; if none is in the set that is one cube, else split on the next bit of
 * @rest, from the top. At most 32 cubes for each member.
 */
static int cover_outside(const struct call_cond *c, uint32_t fixed, uint32_t value, uint32_t rest,
			 struct cubes *to)
{
	uint32_t bit = 1u << 31;
	size_t i = 0;

	while (i < c->n && (c->set[i] & fixed) != value)
		i++;
	if (i == c->n)
		return add_cube(to, fixed, value);
	if (!rest)
		return 0;
	while (!(bit & rest))
		bit >>= 1;
	if (cover_outside(c, fixed | bit, value, rest & ~bit, to) < 0)
		return -1;
	return cover_outside(c, fixed | bit, value | bit, rest & ~bit, to);
}

/* Above the highest member one comparison does for all the high bits; below, cubes. */
static int cover_not_in(const struct call_cond *c, struct cubes *to)
{
	uint32_t low = 0;

	if (c->mask)
		return cover_outside(c, 0, 0, c->mask, to);
	for (size_t i = 0; i < c->n; i++)
		while ((c->set[i] & ~low) != 0)
			low = low << 1 | 1;
	if (cover_outside(c, 0, 0, low, to) < 0)
		return -1;
	return add_cube(to, 0, low);
}

static int cond_cubes(const struct call_cond *c, struct cubes *to)
{
	uint32_t mask = c->mask ? c->mask : UINT32_MAX;

	switch (c->test) {
	case CALL_ANY_ARG:
		return 0;
	case CALL_EQ:
		return add_cube(to, mask, c->value);
	case CALL_HAS_BIT:
		for (uint32_t bit = 1; bit; bit <<= 1)
			if ((c->value & mask & bit) && add_cube(to, bit, bit) < 0)
				return -1;
		return 0;
	case CALL_NOT_IN:
		return cover_not_in(c, to);
	case CALL_ABOVE:
		return add_cube(to, 0, c->value);
	}
	return -1;
}

/* An identical rule twice is no failure: libseccomp answers EEXIST. */
static int add_rule(scmp_filter_ctx ctx, const struct call *row, unsigned int n, struct scmp_arg_cmp *cmp)
{
	uint32_t action = row->kind == CALL_QUIET ? SCMP_ACT_ERRNO((uint32_t)row->err) : SCMP_ACT_NOTIFY;
	int r = seccomp_rule_add_array(ctx, action, row->nr, n, cmp);

	return r == -EEXIST ? 0 : r;
}

static struct scmp_arg_cmp compare(const struct call_cond *c, struct cube q)
{
	if (!q.mask)
		return (struct scmp_arg_cmp){ c->arg, SCMP_CMP_GT, q.value, 0 };
	return (struct scmp_arg_cmp){ c->arg, SCMP_CMP_MASKED_EQ, q.mask, q.value };
}

/* Every pair of cubes of the two conditions is a rule. Return: 0 or -errno */
static int add_row(scmp_filter_ctx ctx, const struct call *row)
{
	struct cubes first = { .n = 0 }, second = { .n = 0 };
	struct scmp_arg_cmp cmp[2];
	int r = 0;

	if (cond_cubes(&row->cond[0], &first) < 0 || cond_cubes(&row->cond[1], &second) < 0)
		return -E2BIG;
	if (!first.n)
		return add_rule(ctx, row, 0, NULL);
	for (size_t i = 0; i < first.n && r == 0; i++) {
		cmp[0] = compare(&row->cond[0], first.v[i]);
		if (!second.n)
			r = add_rule(ctx, row, 1, cmp);
		for (size_t j = 0; j < second.n && r == 0; j++) {
			cmp[1] = compare(&row->cond[1], second.v[j]);
			r = add_rule(ctx, row, 2, cmp);
		}
	}
	return r;
}

static int in_force(const struct call *row, unsigned int flags)
{
	return !row->on || (row->on & flags);
}

/* libseccomp refuses a condition beside an unconditional rule: find such a one first. */
static int is_covered(const struct call *table, size_t n, const struct call *row, unsigned int flags)
{
	if (row->cond[0].test == CALL_ANY_ARG)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (table[i].nr == row->nr && in_force(&table[i], flags) &&
		    table[i].cond[0].test == CALL_ANY_ARG)
			return 1;
	return 0;
}

static int add_table(scmp_filter_ctx ctx, unsigned int flags, struct err *err)
{
	size_t n;
	const struct call *table = calls_table(&n);

	for (size_t i = 0; i < n; i++) {
		int r;

		if (!in_force(&table[i], flags) || is_covered(table, n, &table[i], flags))
			continue;
		r = add_row(ctx, &table[i]);
		if (r < 0)
			return err_set(err, ERR_SYS, -r, "cannot compile the filter's rule for '%s'", table[i].name);
	}
	return 0;
}

/* Refuse numbers nobody knew when the table was written; libseccomp has no rule for a range. */
static int add_prologue(struct buf *bpf)
{
	const struct sock_filter head[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call_arch(), 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, CALL_NEWEST, 0, 2),
		/* x32 numbers, and -1 from a tracer that skips a call, are for what follows */
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	};

	return buf_add(bpf, head, sizeof(head));
}

static int export(scmp_filter_ctx ctx, struct buf *bpf, struct err *err)
{
	OWN(fd) int fd = memfd_create("agate-filter", MFD_CLOEXEC);
	int r;

	if (fd < 0)
		return err_set(err, ERR_SYS, errno, "cannot make a memory file for the filter");
	r = seccomp_export_bpf(ctx, fd);
	if (r < 0)
		return err_set(err, ERR_SYS, -r, "cannot write the filter");
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_set(err, ERR_SYS, errno, "cannot read the filter back");
	if (add_prologue(bpf) < 0)
		return err_set(err, ERR_NOMEM, 0, "no memory for the filter");
	return io_read_fd(fd, BPF_MAXINSNS * sizeof(struct sock_filter) - bpf->len, bpf, err);
}

int filter_compile(unsigned int flags, struct buf *ret_bpf, struct err *err)
{
	OWN(filter) scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	OWN(buf) struct buf bpf = { 0 };
	int r;

	if (!ctx)
		return err_set(err, ERR_NOMEM, 0, "no memory for the filter");
	/* Our own error numbers, and foreign calls told instead of killed: a kill leaves no record. */
	r = seccomp_attr_set(ctx, SCMP_FLTATR_API_SYSRAWRC, 1);
	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_NOTIFY);
	if (r < 0) {
		err_set(err, ERR_MISSING, -r, "this kernel cannot tell a supervisor of system calls");
		return err_hint(err, "Linux 5.9 or newer with CONFIG_SECCOMP_FILTER is needed");
	}
	if (add_table(ctx, flags, err) < 0 || export(ctx, &bpf, err) < 0)
		return -1;
	*ret_bpf = bpf;
	bpf = (struct buf){ 0 };
	return 0;
}
