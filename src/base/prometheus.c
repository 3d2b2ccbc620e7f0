/* SPDX-License-Identifier: Apache-2.0 */
#include "base/prometheus.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/text.h"

void prometheus_family(FILE *to, const char *name, const char *type, const char *help)
{
	fprintf(to, "# HELP fpless_%s %s\n# TYPE fpless_%s %s\n", name, help, name, type);
}

void prometheus_number(FILE *to, const char *name, const char *type, uint64_t value,
		       const char *help)
{
	prometheus_family(to, name, type, help);
	fprintf(to, "fpless_%s %" PRIu64 "\n", name, value);
}

void prometheus_time(FILE *to, const char *name, const char *type, uint64_t ns, const char *help)
{
	prometheus_family(to, name, type, help);
	fprintf(to, "fpless_%s %llu.%09llu\n", name, ns / NS_PER_S, ns % NS_PER_S);
}

void prometheus_label(const char *text, char ret[static PROMETHEUS_LABEL_SIZE])
{
	text_escape(ret, PROMETHEUS_LABEL_SIZE, text, "\"");
}

/* NAME="TEXT" */
static void write_label(FILE *to, const struct prometheus_label *label)
{
	char text[PROMETHEUS_LABEL_SIZE];

	prometheus_label(label->text, text);
	fprintf(to, "%s=\"", label->name);
	for (const char *at = text; *at; at++) {
		if (*at == '\\')
			fputc('\\', to);
		fputc(*at, to);
	}
	fputc('"', to);
}

void prometheus_series(FILE *to, const char *name, const struct prometheus_label *labels, size_t nr)
{
	fprintf(to, "fpless_%s{", name);
	for (size_t i = 0; i < nr; i++) {
		if (i)
			fputc(',', to);
		write_label(to, &labels[i]);
	}
	fputs("} ", to);
}

void prometheus_labelled(FILE *to, const char *name, const char *label, const char *text,
			 uint64_t value)
{
	const struct prometheus_label only = { label, text };

	prometheus_series(to, name, &only, 1);
	fprintf(to, "%" PRIu64 "\n", value);
}
