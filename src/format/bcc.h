/* SPDX-License-Identifier: Apache-2.0 */
/* Output as of tools of bcc. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "recording/recording.h"

enum bcc_tool { BCC_PROFILE, BCC_OFFCPUTIME, BCC_OFFWAKETIME, BCC_WAKEUPTIME, BCC_STACKCOUNT };

struct bcc_output {
	enum bcc_tool tool;
	bool folded, delimited, annotate, user_only, kernel_only;
	bool user_threads, kernel_threads; /* only these, of waits; not both */
	uint64_t hz;			   /* of BCC_PROFILE */
	uint64_t period;		   /* events; 0: it was given as hz */
	uint64_t seconds;		   /* 0: until Ctrl-C */
	int cpu;			   /* -1: all */
	const pid_t *pids;		   /* borrowed [nr_pids], or else */
	size_t nr_pids;
	const pid_t *tids; /* borrowed [nr_tids]; none: all threads */
	size_t nr_tids;

	/* of BCC_STACKCOUNT */
	bool per_process;    /* stacks of the kernel alone, too, are told apart by process */
	bool one_process;    /* it was named: no stack names it again */
	const char *pattern; /* as it was typed; borrowed */
};

/* Write the text before the first sample, unless it is BCC_STACKCOUNT's. Nothing when folded. */
void bcc_head(FILE *to, const struct bcc_output *options);

/*
 * Write the stacks, ascending by count, ties by text; those that weigh waits by microseconds, less
 * than one of which is not shown. Those of one process that read the same are one; of one thread,
 * where @recording has the threads. BCC_WAKEUPTIME's are kernel stacks with the name of the thread
 * that was woken up as their key, and of all processes. BCC_OFFWAKETIME's have those of who ended
 * the wait above them (RECORDING_DELIMITER).
 */
void bcc_write(FILE *to, const struct bcc_output *options, const struct recording *recording);
