/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/uprobe_multi.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MULTI_RETURN 1u /* BPF_F_UPROBE_MULTI_RETURN */

/* The kernel's union bpf_attr, as BPF_LINK_CREATE reads it for such links. */
struct link_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offs, ref_ctr_offs, cookies; /* addresses */
	uint32_t nr, multi_flags;
	uint32_t pid; /* 0: all */
	uint32_t _pad;
};

_Static_assert(sizeof(struct link_attr) == 64, "the kernel reads these bytes");

static int create(int prog_fd, const char *path, const struct uprobe_multi *places, uint32_t pid)
{
	struct link_attr attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = UPROBE_MULTI_ATTACH_TYPE,
		.path = (uintptr_t)path,
		.offs = (uintptr_t)places->offs,
		.ref_ctr_offs = (uintptr_t)places->ref_ctr_offs,
		.cookies = (uintptr_t)places->cookies,
		.nr = (uint32_t)places->nr,
		.multi_flags = places->is_return ? MULTI_RETURN : 0,
		.pid = pid,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

int uprobe_multi_link(int prog_fd, const struct uprobe_multi *places)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", places->file_fd);
	return create(prog_fd, path, places, places->pid < 0 ? 0 : (uint32_t)places->pid);
}

/* Create a link to a folder, which is refused: by which error tells what the kernel looked at. */
static int refusal(int prog_fd, uint32_t pid)
{
	const uint64_t off = 0;
	const struct uprobe_multi nowhere = { .nr = 1, .offs = &off };
	AUTO_FD int fd = create(prog_fd, "/", &nowhere, pid);

	return fd;
}

static bool try_links(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)UPROBE_MULTI_ATTACH_TYPE);
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	AUTO_FD int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", insns,
				       sizeof(insns) / sizeof(insns[0]), &opts);

	/* a kernel that goes by processes refuses the pid before it looks at the file */
	return fd >= 0 && refusal(fd, 0) == -EBADF && refusal(fd, UINT32_MAX) == -EINVAL;
}

bool uprobe_multi_works(void)
{
	static enum { NOT_TRIED, WORKS, FAILS } state;

	if (state == NOT_TRIED)
		state = try_links() ? WORKS : FAILS;
	return state == WORKS;
}
