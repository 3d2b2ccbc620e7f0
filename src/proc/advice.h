/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explain why the kernel refused, and what the user can do: these sentences serve the message of a
 * failed run and doctor's line about it.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "proc/host.h"

#define ADVICE_MAX 400u

struct advice {
	char why[ADVICE_MAX]; /* lower case, no full stop */
	char fix[ADVICE_MAX]; /* a command, or a few words around one */
};

/* Does @code (a negative errno) say that a right is missing? */
bool advice_is_refusal(int code);

/*
 * Advice after perf_event_open(2) of an event of all tasks on a CPU was refused. Always fills *ret.
 */
void advice_events(const struct host *host, struct advice *ret);

/* bpf(2) was refused. Always fills *ret. */
void advice_bpf(const struct host *host, struct advice *ret);

/* Lockdown in confidentiality mode keeps programs from reading kernel memory. */
void advice_lockdown(struct advice *ret);

/* Is the BTF of the kernel missing or damaged? False: no, *ret is untouched. */
bool advice_btf(const struct host *host, struct advice *ret);

/* Is the kernel unable to compile BPF programs? False: it can, *ret is untouched. */
bool advice_jit(const struct host *host, struct advice *ret);

/* Does the set-up of this machine's namespaces prevent every run? False: no, *ret is untouched. */
bool advice_namespaces(const struct host *host, struct advice *ret);

/*
 * Record "@what: <strerror of @code>: <why>: <fix>" as advice_events or advice_bpf see it on this
 * machine; returns @code.
 */
int advice_fail_events(struct fpl_err *err, int code, const char *what);
int advice_fail_bpf(struct fpl_err *err, int code, const char *what);

/* The same for a process whose memory map (/proc/PID/maps) may not be read. */
void advice_process(const struct host *host, struct advice *ret);
int advice_fail_process(struct fpl_err *err, int code, pid_t pid);
