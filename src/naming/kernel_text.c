/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/kernel_text.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "kernel_name.skel.h"
#include "profile/bpf_log.h"

void kernel_text_fini(struct kernel_text *text)
{
	kernel_name_bpf__destroy(text->skel);
	*text = (struct kernel_text){ 0 };
}

static void load(struct kernel_text *text)
{
	text->tried = true;
	bpf_log_init();
	text->skel = kernel_name_bpf__open_and_load();
	if (!text->skel)
		fpl_log(FPL_LOG_DEBUG, "kernel names by BPF: %s: reading /proc/kallsyms",
			strerror(errno));
}

int kernel_text_ask(struct kernel_text *text, uint64_t addr, char *ret, size_t size)
{
	if (!text->tried)
		load(text);
	if (!text->skel)
		return -EOPNOTSUPP;

	struct kernel_name_bpf__bss *shared = text->skel->bss;
	int fd = bpf_program__fd(text->skel->progs.kernel_name);

	shared->kernel_addr = addr;

	int code = bpf_prog_test_run_opts(fd, NULL);

	if (code)
		return code;
	shared->kernel_text[sizeof(shared->kernel_text) - 1] = '\0';
	snprintf(ret, size, "%s", shared->kernel_text);
	return 0;
}
