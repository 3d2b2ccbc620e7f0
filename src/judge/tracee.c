/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/tracee.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>

enum {
	CS_COMPAT = 0x23, /* the kernel's __USER32_CS */
	DR7 = 7,
	SIGNALS_PEEKED = 32, /* that wait for a thread alone; a trap is forced, so it is among the
				first */
};

bool tracee_registers(pid_t tid, struct registers *ret, bool *ret_compat)
{
	struct user_regs_struct user;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &user) < 0)
		return false;
	*ret = (struct registers){
		.reg = { user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi, user.rbp,
			 user.rsp, user.r8, user.r9, user.r10, user.r11, user.r12, user.r13,
			 user.r14, user.r15 },
		.pc = user.rip,
	};
	*ret_compat = user.cs == CS_COMPAT;
	return true;
}

bool tracee_go(pid_t tid, enum tracee_request request, int signal)
{
	static const enum __ptrace_request requests[] = {
		[TRACEE_RUN] = PTRACE_CONT,
		[TRACEE_STEP] = PTRACE_SINGLESTEP,
		[TRACEE_LISTEN] = PTRACE_LISTEN,
		[TRACEE_LEAVE] = PTRACE_DETACH,
	};

	return ptrace(requests[request], tid, NULL, (void *)(intptr_t)signal) == 0;
}

static bool set_debug_register(pid_t tid, size_t number, uint64_t value)
{
	size_t off = offsetof(struct user, u_debugreg) + number * sizeof(uint64_t);

	return ptrace(PTRACE_POKEUSER, tid, (void *)off, (void *)value) == 0;
}

bool tracee_break_at(pid_t tid, const uint64_t *addresses, size_t nr)
{
	uint64_t control = 0;

	/* an address can only be changed while no breakpoint enables it */
	if (!set_debug_register(tid, DR7, 0))
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (!set_debug_register(tid, i, addresses[i]))
			return false;
		control |= 1ull << (2 * i); /* local enable; execution, one byte */
	}
	return nr == 0 || set_debug_register(tid, DR7, control);
}

bool tracee_signal_code(pid_t tid, int *ret)
{
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) < 0)
		return false;
	*ret = info.si_code;
	return true;
}

bool tracee_has_trap(pid_t tid)
{
	siginfo_t infos[SIGNALS_PEEKED];
	struct __ptrace_peeksiginfo_args args = { .nr = SIGNALS_PEEKED };
	long nr = ptrace(PTRACE_PEEKSIGINFO, tid, &args, infos);

	for (long i = 0; i < nr; i++)
		if (infos[i].si_signo == SIGTRAP &&
		    (infos[i].si_code == TRAP_TRACE || infos[i].si_code == TRAP_BRKPT ||
		     infos[i].si_code == TRAP_HWBKPT))
			return true;
	return false;
}

bool tracee_poke(pid_t tid, uint64_t addr, uint64_t value)
{
	return ptrace(PTRACE_POKEDATA, tid, (void *)addr, (void *)value) == 0;
}
