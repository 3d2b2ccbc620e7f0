/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run a command while empty programs are at the hooks that fpless offcpu needs: the least that any
 * tool with these hooks costs.
 *
 * usage: bench_hooks COMMAND [ARGUMENT...], as root. Exit status: the command's.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

/* A kernel without sched_exit_tp has no third hook. */
static const char *const hooks[] = { "sched_switch", "sched_wakeup", "sched_exit_tp" };

/* Returns a descriptor of a program that does nothing, or -errno. */
static int load_empty(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "empty", "GPL", insns,
			     sizeof(insns) / sizeof(insns[0]), NULL);
}

/* The links end with the process. */
static int attach_all(void)
{
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		int program = load_empty();
		int link = program < 0 ? program : bpf_raw_tracepoint_open(hooks[i], program);

		if (link == -ENOENT)
			continue;
		if (link < 0) {
			fprintf(stderr, "%s: %s\n", hooks[i], strerror(-link));
			return -1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc < 2 || attach_all())
		return 2;
	pid = fork();
	if (!pid) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 2;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
