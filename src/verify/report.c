/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/report.h"

static const struct {
	bool bad;
	const char *text;
} verdicts[] = {
#define X(name, bad, text) { bad, text },
	VERDICT_LIST(X)
#undef X
};

bool verdict_is_bad(enum verdict verdict)
{
	return verdict < VERDICT_COUNT && verdicts[verdict].bad;
}

const char *verdict_text(enum verdict verdict)
{
	return verdict < VERDICT_COUNT ? verdicts[verdict].text : "?";
}

uint64_t report_disagreements(const struct report *report)
{
	uint64_t nr = 0;

	for (unsigned int i = 0; i < VERDICT_COUNT; i++) {
		if (verdicts[i].bad)
			nr += report->nr[i];
	}
	return nr;
}

void report_add(struct report *into, const struct report *from)
{
	for (size_t i = 0; i < VERDICT_COUNT; i++)
		into->nr[i] += from->nr[i];
	into->pcs += from->pcs;
	into->fdes += from->fdes;
	into->rows += from->rows;
	into->cpu_ns += from->cpu_ns;
}
