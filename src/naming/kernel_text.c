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

/* Load the programs, unless that was tried before. Are they there? */
static bool is_loaded(struct kernel_text *text)
{
	if (!text->tried)
		load(text);
	return text->skel;
}

int kernel_text_ask(struct kernel_text *text, uint64_t addr, char *ret, size_t size)
{
	int code;

	if (!is_loaded(text))
		return -EOPNOTSUPP;
	text->skel->bss->kernel_addr = addr;
	code = bpf_prog_test_run_opts(bpf_program__fd(text->skel->progs.kernel_name), NULL);
	if (code)
		return code;
	snprintf(ret, size, "%.*s", (int)sizeof(text->skel->bss->kernel_text),
		 text->skel->bss->kernel_text);
	return 0;
}

int kernel_text_find(struct kernel_text *text, const char *name, uint64_t *ret)
{
	int code;

	if (!is_loaded(text))
		return -EOPNOTSUPP;
	snprintf(text->skel->bss->kernel_text, sizeof(text->skel->bss->kernel_text), "%s", name);
	code = bpf_prog_test_run_opts(bpf_program__fd(text->skel->progs.kernel_place), NULL);
	*ret = text->skel->bss->kernel_addr;
	return code ? code : *ret ? 0 : -ENOENT;
}
