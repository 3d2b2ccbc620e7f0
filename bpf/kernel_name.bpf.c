// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Has the kernel say what it calls an address of its own, the way it prints its stacks: a lookup in
 * a table it has, where /proc/kallsyms is 120,000 lines to be printed and read.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* What is asked, and the answer: "NAME+0xOFFSET/0xSIZE", " [MODULE]" behind it, or "0xADDRESS". */
__u64 kernel_addr;
char kernel_text[1024];

SEC("syscall")
int kernel_name(void *ctx)
{
	static const char format[] = "%pS";
	__u64 args[] = { kernel_addr };

	bpf_snprintf(kernel_text, sizeof(kernel_text), format, args, sizeof(args));
	return 0;
}
