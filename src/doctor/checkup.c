/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/checkup.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "doctor/judge.h"

const char *check_verdict_text(enum check_verdict verdict)
{
	static const char *const texts[] = {
#define X(name, text) [CHECK_##name] = (text),
		CHECK_VERDICT_LIST(X)
#undef X
	};

	return texts[verdict];
}

#define FORMAT(to)                                             \
	do {                                                   \
		va_list args;                                  \
                                                               \
		va_start(args, fmt);                           \
		(void)!vsnprintf((to), sizeof(to), fmt, args); \
		va_end(args);                                  \
	} while (0)

void check_ok(struct check *check, const char *fmt, ...)
{
	check->verdict = CHECK_OK;
	FORMAT(check->fact);
}

void check_fact(struct check *check, const char *fmt, ...)
{
	FORMAT(check->fact);
}

void check_warn(struct check *check, const char *fmt, ...)
{
	check->verdict = CHECK_WARN;
	FORMAT(check->cost);
}

void check_fail(struct check *check, const char *fmt, ...)
{
	check->verdict = CHECK_FAIL;
	FORMAT(check->cost);
}

void check_fix(struct check *check, const char *fmt, ...)
{
	FORMAT(check->fix);
}

static void run_judges(const struct judge *judges, const struct patient *patient,
		       struct checkup *checkup)
{
	for (; judges->subject && checkup->nr < CHECKUP_CHECKS_MAX; judges++) {
		struct check *check = &checkup->checks[checkup->nr++];

		*check = (struct check){ .subject = judges->subject };
		judges->judge(patient, check);
	}
}

/* The trial decides: a failed check must not forbid a run that works. */
static void summarise(const struct trial *trial, struct checkup *checkup)
{
	size_t nr_warn = 0, nr_fail = 0;

	for (size_t i = 0; i < checkup->nr; i++) {
		nr_warn += checkup->checks[i].verdict == CHECK_WARN;
		nr_fail += checkup->checks[i].verdict == CHECK_FAIL;
	}
	checkup->can_run = trial->code == 0;
	if (!checkup->can_run)
		snprintf(checkup->summary, sizeof(checkup->summary), "fpless cannot run here: %s",
			 trial->said);
	else if (nr_warn || nr_fail)
		snprintf(checkup->summary, sizeof(checkup->summary),
			 "fpless can run here (%zu line%s above say%s how to improve it)",
			 nr_warn + nr_fail, nr_warn + nr_fail == 1 ? "" : "s",
			 nr_warn + nr_fail == 1 ? "s" : "");
	else
		snprintf(checkup->summary, sizeof(checkup->summary), "fpless can run here");
}

void checkup_judge(const struct host *host, const struct probes *probes, const struct trial *trial,
		   struct checkup *ret)
{
	const struct patient patient = { host, probes, trial };

	ret->nr = 0;
	run_judges(judges_kernel, &patient, ret);
	run_judges(judges_rights, &patient, ret);
	run_judges(judges_machine, &patient, ret);
	summarise(trial, ret);
}
