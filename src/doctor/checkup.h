/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Can fpless run on this machine, with the rights of this process? Facts (proc/host.h) and answers
 * of the kernel (struct probes) are judged one by one, by pure functions; a trial run decides in
 * the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proc/host.h"
#include "profile/features.h"
#include "profile/source_blocked.h"
#include "source/source_spec.h"

/* X(name, text) */
#define CHECK_VERDICT_LIST(X)                                           \
	X(OK, "ok")	/* as wanted, or it makes no difference */      \
	X(WARN, "warn") /* the result is worse, or it cannot be told */ \
	X(FAIL, "fail") /* fpless cannot run */

#define X(name, text) CHECK_##name,
enum check_verdict { CHECK_VERDICT_LIST(X) };
#undef X

#define CHECK_TEXT_MAX 400u

struct check {
	const char *subject; /* static */
	enum check_verdict verdict;
	char fact[CHECK_TEXT_MAX]; /* what was found */
	char cost[CHECK_TEXT_MAX]; /* what it costs; "" where ok */
	char fix[CHECK_TEXT_MAX];  /* what to type; "" where ok */
};

/* An object that this build contains. */
struct probed_object {
	int error;		 /* 0, or negative errno of opening the BPF object in this binary */
	uint32_t version;	 /* its FPL_SHARED_VERSION */
	uint32_t wanted_version; /* the loader's */
	uint32_t nr_programs, nr_maps;
};

/* Answers of the kernel and of this build. */
struct probes {
	struct features features;
	int clock, cycles; /* opening the event on a CPU: 0, or negative errno */
	enum blocked_way waits;
	struct probed_object object;
};

/* A run of the profiler on itself. */
struct trial {
	int code;		     /* 0, or what engine_run returned */
	char said[380];		     /* its message */
	char event[SOURCE_NAME_MAX]; /* "cpu-clock" or "cpu-cycles" */
	uint64_t hz;
	uint64_t nr_samples; /* of a thread that was kept busy */
	uint64_t nr_complete;
	uint64_t startup_ms;
};

#define CHECKUP_CHECKS_MAX 64u

struct checkup {
	struct check checks[CHECKUP_CHECKS_MAX];
	size_t nr;
	bool can_run;
	char summary[CHECK_TEXT_MAX + 64]; /* one line */
};

/* Ask the kernel and examine this build. Cost: about 30 ms. */
void checkup_probe(struct probes *ret);

/*
 * Load the programs, sample a busy thread of this process for a quarter of a second, and clean up.
 * Blocks SIGINT, SIGTERM and SIGCHLD, as every run does. Cost: about 0.5 s.
 */
void checkup_try(const struct host *host, struct trial *ret);

/* Judge. Cost: none to speak of. */
void checkup_judge(const struct host *host, const struct probes *probes, const struct trial *trial,
		   struct checkup *ret);

const char *check_verdict_text(enum check_verdict verdict);
