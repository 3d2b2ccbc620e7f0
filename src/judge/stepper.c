/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/stepper.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "judge/entry.h"
#include "judge/memory.h"

enum {
	STEP_MS = 200,	  /* limit for a system call: a longer one ends the burst */
	STEP_TRIES = 50,  /* tries for any other instruction, which will be executed */
	DULL_MAX = 20000, /* limit of consecutive steps that do not count */
	TRAP_FLAG = 0x100,
	CLOCK_EVERY = 256, /* steps: some 10 ms */
};

/* Numbers of system calls that change what is mapped. */
static const uint16_t mapping_calls[] = { 9, 10, 11, 25, 30, 67, 216, 329 };

struct stepper {
	struct tracees *tracees; /* borrowed, as all below */
	struct code *code;
	struct findings *findings;
	const struct judge_bounds *bounds;
	struct shadow shadow;
	struct memory memory;
	struct machine_memory machine_memory;
	uint64_t counted;
	bool stale; /* mappings may have changed since they were read */
	/* of the burst at hand */
	pid_t tid;
	struct registers now;
	bool compat;	     /* now is in 32-bit code */
	uint64_t last_pc;    /* of the step before; 0: none */
	enum insn_kind kind; /* of the instruction at now */
	int signal;	     /* to be delivered with the next step */
	uint64_t nr_dull;
};

int stepper_create(struct tracees *tracees, struct code *code, struct findings *findings,
		   const struct judge_bounds *bounds, struct stepper **ret, struct fpl_err *err)
{
	struct stepper *stepper = calloc(1, sizeof(*stepper));

	if (!stepper)
		return fpl_fail(err, -ENOMEM, "out of memory");
	*stepper = (struct stepper){
		.tracees = tracees,
		.code = code,
		.findings = findings,
		.bounds = bounds,
		.memory.pid = tracees->pid,
		.machine_memory = { .read = memory_read, .ctx = &stepper->memory },
	};
	*ret = stepper;
	return 0;
}

void stepper_destroy(struct stepper *stepper)
{
	if (stepper)
		shadow_fini(&stepper->shadow);
	free(stepper);
}

uint64_t stepper_counted(const struct stepper *stepper)
{
	return stepper->counted;
}

const struct shadow *stepper_shadow(const struct stepper *stepper)
{
	return &stepper->shadow;
}

bool stepper_wants(struct stepper *stepper, uint32_t object)
{
	const char *pattern = stepper->bounds->object;
	const char *path = code_path(stepper->code, object);

	return !pattern || (object && (fnmatch(pattern, path, 0) == 0 ||
				       fnmatch(pattern, text_path_name(path), 0) == 0));
}

/* If the mappings cannot be read, the old ones stay: the process is about to end. */
static void scan(struct stepper *stepper)
{
	stepper->stale = false;
	memory_forget(&stepper->memory);
	if (code_scan(stepper->code, stepper->tracees->pid, NULL))
		return;
}

static void find_place(struct stepper *stepper, struct code_place *ret)
{
	if (!code_find(stepper->code, stepper->now.pc, ret) && stepper->stale) {
		scan(stepper);
		code_find(stepper->code, stepper->now.pc, ret);
	}
}

/* Registers that the running function's caller does not need; asked only for wrong rows. */
static uint32_t unneeded_by_caller(struct stepper *stepper)
{
	const struct shadow_frame *frame = shadow_top(&stepper->shadow);
	struct code_place caller;

	if (!frame || frame->signal || !code_find(stepper->code, frame->ra - 1, &caller) ||
	    !caller.table)
		return 0;
	return judge_unneeded(table_find(caller.table, caller.vaddr));
}

static void judge_place(struct stepper *stepper, const struct code_place *place,
			struct finding_step *step)
{
	struct judgement *judgement = &step->judgement;

	if (stepper->compat)
		judgement->skip = SKIP_COMPAT32;
	else if (!place->object)
		judgement->skip = SKIP_NO_OBJECT;
	else if (!place->table)
		judgement->skip = SKIP_NO_TABLE;
	else if (stepper->now.pc == stepper->last_pc)
		judgement->skip = SKIP_REPEATED;
	else
		judge_rule(step->rule, step->machine, &stepper->shadow, 0, judgement);
	if (judgement->skip == SKIP_NONE && judgement->wrong < FPL_NR_REGS)
		judge_rule(step->rule, step->machine, &stepper->shadow, unneeded_by_caller(stepper),
			   judgement);
}

/* Judges what the thread is about to execute. */
static int judge(struct stepper *stepper)
{
	struct machine machine = { .pc = stepper->now.pc, .memory = &stepper->machine_memory };
	struct code_place place;

	find_place(stepper, &place);
	memcpy(machine.reg, stepper->now.reg, sizeof(machine.reg));
	stepper->machine_memory.faulted = false;
	stepper->kind = memory_insn(&stepper->memory, stepper->now.pc, place.object != 0);

	struct finding_step step = {
		.object = place.object,
		.vaddr = place.vaddr,
		.rule = place.table ? table_find(place.table, place.vaddr) : NULL,
		.machine = &machine,
		.frame = shadow_top(&stepper->shadow),
	};

	judge_place(stepper, &place, &step);
	stepper->nr_dull++;
	if (step.judgement.skip == SKIP_NONE && stepper_wants(stepper, place.object) &&
	    (!stepper->bounds->synth_only || judge_origin_of(step.rule) == JUDGE_ORIGIN_SYNTH)) {
		stepper->counted++;
		stepper->nr_dull = 0;
	}
	return findings_add(stepper->findings, &step);
}

static void note_mapping_call(struct stepper *stepper, const struct registers *before)
{
	for (size_t i = 0; i < ARRAY_SIZE(mapping_calls); i++)
		if (before->reg[X86_RAX] == mapping_calls[i])
			stepper->stale = true;
}

/* The flags just pushed contain the trap flag that steps the thread. A later popf, without us,
 * would kill it. */
static void clear_trap_flag(struct stepper *stepper)
{
	uint64_t sp = stepper->now.reg[X86_RSP], flags;

	if (memory_read_word(&stepper->memory, sp, &flags) && (flags & TRAP_FLAG))
		tracee_poke(stepper->tid, sp, flags & ~(uint64_t)TRAP_FLAG);
	memory_step(&stepper->memory, sp);
}

/* Note that the thread has executed an instruction or is at a handler. False: it is gone. */
static bool take_step(struct stepper *stepper, enum tracee_event event, int *ret_error)
{
	struct registers before = stepper->now;

	if (!tracee_registers(stepper->tid, &stepper->now, &stepper->compat))
		return false;
	memory_step(&stepper->memory, stepper->now.reg[X86_RSP]);
	stepper->last_pc = before.pc;
	if (event == TRACEE_HANDLER) {
		*ret_error = shadow_signal(&stepper->shadow, &before, &stepper->now,
					   memory_read_word, &stepper->memory);
		return true;
	}
	*ret_error = shadow_step(&stepper->shadow, stepper->kind, &before, &stepper->now,
				 memory_read_word, &stepper->memory);
	if (stepper->kind == INSN_PUSH_FLAGS)
		clear_trap_flag(stepper);
	if (stepper->kind == INSN_SYSCALL)
		note_mapping_call(stepper, &before);
	return true;
}

/* The thread runs another program: all known facts are void. */
static bool take_other_image(struct stepper *stepper)
{
	shadow_clear(&stepper->shadow);
	stepper->tracees->replaced = false;
	stepper->last_pc = 0;
	scan(stepper);
	return tracee_registers(stepper->tid, &stepper->now, &stepper->compat);
}

/* Only a system call sleeps: other delays come from waiting for a CPU, or for memory. */
static enum tracee_event wait_for_step(struct stepper *stepper)
{
	enum tracee_event event;
	int tries = stepper->kind == INSN_SYSCALL ? 1 : STEP_TRIES;

	do
		event = tracees_wait(stepper->tracees, stepper->tid, STEP_MS, &stepper->signal);
	while (event == TRACEE_NOTHING && --tries);
	return event;
}

/*
 * Executes popf: it is not stepped but runs, up to a breakpoint behind it. Stepped, it would make
 * the kernel take the trap flag of later steps for the program's own (arch/x86/kernel/step.c),
 * which then keeps it after we detach. Returns whether the burst goes on.
 */
static bool execute_pop_flags(struct stepper *stepper, enum burst_end *ret_end, int *ret_error)
{
	uint8_t code[INSN_SIZE_MAX];
	size_t size = memory_read_some(&stepper->memory, stepper->now.pc, sizeof(code), code);
	uint64_t next = stepper->now.pc + insn_prefixes(code, size) + 1;

	*ret_end = BURST_DONE;
	if (!tracees_break_at(stepper->tracees, stepper->tid, &next, 1) ||
	    !tracees_go(stepper->tracees, stepper->tid, TRACEE_RUN, 0))
		return false;

	enum tracee_event event = wait_for_step(stepper);

	tracees_break_at(stepper->tracees, stepper->tid, NULL, 0);
	if (event == TRACEE_GROUP_STOP) {
		*ret_end = BURST_INTERRUPTED;
		tracees_go(stepper->tracees, stepper->tid, TRACEE_LISTEN, 0);
	}
	return event == TRACEE_BREAKPOINT && take_step(stepper, TRACEE_STEPPED, ret_error);
}

/*
 * Execute the current instruction, whatever events come between. Returns whether the burst goes on;
 * else *ret_end is the reason.
 */
static bool execute(struct stepper *stepper, enum burst_end *ret_end, int *ret_error)
{
	if (stepper->kind == INSN_POP_FLAGS)
		return execute_pop_flags(stepper, ret_end, ret_error);
	for (;;) {
		int number = stepper->signal;

		*ret_end = BURST_GONE;
		stepper->signal = 0;
		if (!tracees_go(stepper->tracees, stepper->tid, TRACEE_STEP, number))
			return false;
		switch (wait_for_step(stepper)) {
		case TRACEE_STEPPED:
			return take_step(stepper, TRACEE_STEPPED, ret_error);
		case TRACEE_HANDLER:
			return take_step(stepper, TRACEE_HANDLER, ret_error);
		case TRACEE_OTHER_IMAGE:
			return take_other_image(stepper);
		case TRACEE_GROUP_STOP:
			*ret_end = BURST_INTERRUPTED;
			tracees_go(stepper->tracees, stepper->tid, TRACEE_LISTEN, 0);
			return false;
		case TRACEE_NOTHING:
			*ret_end = BURST_BLOCKED;
			return false;
		case TRACEE_GONE:
			return false;
		case TRACEE_SIGNALLED: /* delivered with the next try */
			break;
		case TRACEE_STOPPED:
		case TRACEE_BREAKPOINT:
		default:
			break;
		}
	}
}

/* Takes up a thread that is stopped somewhere. */
static int begin(struct stepper *stepper, pid_t tid, bool *ret_gone)
{
	uint64_t ra;

	stepper->tid = tid;
	stepper->signal = 0;
	stepper->last_pc = 0;
	stepper->nr_dull = 0;
	stepper->tracees->replaced = false;
	tracees_break_at(stepper->tracees, tid, NULL, 0);
	scan(stepper);
	*ret_gone = !tracee_registers(tid, &stepper->now, &stepper->compat);
	if (*ret_gone)
		return 0;
	memory_step(&stepper->memory, stepper->now.reg[X86_RSP]);
	if (!entry_is_proven(&stepper->now, memory_read, &stepper->memory, &ra))
		return 0;
	return shadow_enter(&stepper->shadow, &stepper->now, ra);
}

static bool is_late(const struct judge_bounds *bounds, uint64_t nr)
{
	return nr % CLOCK_EVERY == 0 && clock_monotonic_ns() >= bounds->end_ns;
}

static bool is_done(const struct stepper *stepper, uint64_t nr)
{
	const struct judge_bounds *bounds = stepper->bounds;

	return nr >= bounds->burst || stepper->counted >= bounds->steps || is_late(bounds, nr) ||
	       ((bounds->object || bounds->synth_only) && stepper->nr_dull >= DULL_MAX);
}

int stepper_burst(struct stepper *stepper, pid_t tid, enum burst_end *ret, struct fpl_err *err)
{
	bool gone;
	int error = begin(stepper, tid, &gone);

	bool goes_on = !error && !gone;

	*ret = gone ? BURST_GONE : BURST_DONE;
	for (uint64_t nr = 0; goes_on && !is_done(stepper, nr); nr++) {
		error = judge(stepper);
		goes_on = !error && execute(stepper, ret, &error) && !error;
		if (goes_on && *stepper->tracees->stop) {
			*ret = BURST_INTERRUPTED;
			goes_on = false;
		}
	}
	if (goes_on)
		*ret = BURST_DONE;
	shadow_clear(&stepper->shadow);
	/* fails where it is stopped no more */
	tracees_go(stepper->tracees, tid, TRACEE_RUN, stepper->signal);
	return error ? fpl_fail(err, error, "out of memory") : 0;
}
