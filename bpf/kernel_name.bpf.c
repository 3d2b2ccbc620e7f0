// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ask the kernel for the name of one of its addresses, in the form of its own stack traces, or for
 * the address of a name: one lookup in its table, while /proc/kallsyms is 120,000 lines to print
 * and to read.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * The address, and the answer: "NAME+0xOFFSET/0xSIZE", with " [MODULE]" behind it, or "0xADDRESS".
 */
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

/* Find the name in kernel_text: kernel_addr, 0 where there is no such symbol. */
SEC("syscall")
int kernel_place(void *ctx)
{
	__u64 addr = 0;

	if (bpf_kallsyms_lookup_name(kernel_text, sizeof(kernel_text), 0, &addr))
		addr = 0;
	kernel_addr = addr;
	return 0;
}
