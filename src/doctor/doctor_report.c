/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/doctor_report.h"

#include <string.h>

#include "base/style.h"
#include "base/text.h"

static void put_safe(FILE *to, const char *before, const char *text)
{
	char safe[4 * CHECK_TEXT_MAX];

	text_escape(safe, sizeof(safe), text, "");
	fprintf(to, "%s%s", before, safe);
}

/* The check before @idx that has the same fix, or NULL. */
static const struct check *same_fix(const struct checkup *checkup, size_t idx)
{
	for (size_t i = 0; i < idx; i++) {
		if (checkup->checks[i].verdict != CHECK_OK &&
		    !strcmp(checkup->checks[i].fix, checkup->checks[idx].fix))
			return &checkup->checks[i];
	}
	return NULL;
}

static void put_check(FILE *to, const struct checkup *checkup, size_t idx)
{
	const struct check *check = &checkup->checks[idx];

	put_safe(to, "", check->fact);
	if (check->verdict != CHECK_OK) {
		const struct check *same = same_fix(checkup, idx);

		put_safe(to, ": ", check->cost);
		if (same)
			fprintf(to, "; fix: as for %s", same->subject);
		else
			put_safe(to, "; fix: ", check->fix);
	}
	putc('\n', to);
}

static enum style verdict_style(enum check_verdict verdict)
{
	return verdict == CHECK_OK ? STYLE_GREEN : verdict == CHECK_WARN ? STYLE_YELLOW : STYLE_RED;
}

void doctor_report_verdict(FILE *to, enum check_verdict verdict, bool colour)
{
	fprintf(to, "%s%-4s%s", style_text(colour, verdict_style(verdict)),
		check_verdict_text(verdict), style_text(colour, STYLE_END));
}

void doctor_report_checkup(FILE *to, const struct checkup *checkup, bool colour)
{
	int width = 0;

	for (size_t i = 0; i < checkup->nr; i++) {
		int length = (int)strlen(checkup->checks[i].subject);

		width = length > width ? length : width;
	}
	for (size_t i = 0; i < checkup->nr; i++) {
		const struct check *check = &checkup->checks[i];

		doctor_report_verdict(to, check->verdict, colour);
		fprintf(to, "  %-*s  ", width, check->subject);
		put_check(to, checkup, i);
	}
	put_safe(to, "\n", checkup->summary);
	putc('\n', to);
}
