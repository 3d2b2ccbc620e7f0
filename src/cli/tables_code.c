/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tables_code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "unwind/row_text.h"
#include "verify/audit.h"
#include "view/share.h"

/* Limits for one file: larger ones, since a user asked for it and waits. */
static const struct table_limits patient = {
	.cpu_ns = 120ull * 1000000000,
	.memory_bytes = 4ull << 30,
	.rows = 64u << 20,
};

static void print_rows(const struct synth_result *result)
{
	size_t row = 0;

	for (size_t gap = 0; gap <= result->nr_gaps; gap++) {
		const struct synth_gap *next = gap < result->nr_gaps ? &result->gaps[gap] : NULL;

		for (; row < result->nr_rows && (!next || result->rows[row].start < next->start);
		     row++) {
			char text[ROW_TEXT_SIZE];

			row_text(&result->rows[row], text);
			printf("0x%" PRIx64 " 0x%" PRIx64 " %s\n", result->rows[row].start,
			       result->rows[row].end, text);
		}
		if (next)
			printf("0x%" PRIx64 " 0x%" PRIx64 " none %s\n", next->start, next->end,
			       synth_reason_key(next->reason));
	}
}

static void print_sums(const struct synth_result *result)
{
	uint64_t bytes[SYNTH_REASON_COUNT] = { 0 };

	for (size_t i = 0; i < result->nr_gaps; i++)
		bytes[result->gaps[i].reason] += result->gaps[i].end - result->gaps[i].start;
	printf("# %" PRIu64 " bytes of code without CFI, %" PRIu64 " (%.1f %%) with a row, %" PRIu64
	       " of them by a guess\n",
	       result->hole_bytes, result->row_bytes,
	       share_whole_percent(result->row_bytes, result->hole_bytes), result->guess_bytes);
	for (size_t i = 1; i < SYNTH_REASON_COUNT; i++)
		if (bytes[i])
			printf("# %-9s %" PRIu64 " bytes: %s\n",
			       synth_reason_key((enum synth_reason)i), bytes[i],
			       synth_reason_text((enum synth_reason)i));
}

int print_made_rows(const struct elf_file *elf, const struct elf_file *debug, struct fpl_err *err)
{
	CLEANUP(cfi_file_cleanup) struct cfi_file *cfi = NULL;
	CLEANUP(synth_file_cleanup) struct synth_file *file = NULL;
	CLEANUP(synth_result_fini) struct synth_result result = { 0 };
	int code = cfi_file_open(elf, debug, &patient, &cfi, err);

	if (code == 0)
		code = synth_file_open(elf, debug, cfi, SYNTH_HOLES, &cfi->budget, &file, err);
	if (code == 0)
		code = synth_file_analyse(file, NULL, NULL, &result, err);
	if (code)
		return code;
	print_rows(&result);
	print_sums(&result);
	return 0;
}

int print_audit(const struct elf_file *elf, const struct elf_file *debug, enum synth_scope scope,
		struct fpl_err *err)
{
	CLEANUP(audit_fini) struct audit audit = { 0 };
	int code = audit_file(elf, debug, scope, &patient, &audit, err);

	if (code)
		return code;
	for (size_t i = 0; i < audit.nr_places; i++) {
		const struct audit_place *place = &audit.places[i];
		char cfi[ROW_TEXT_SIZE], made[ROW_TEXT_SIZE];

		row_text(&place->cfi, cfi);
		row_text(&place->made, made);
		printf("0x%" PRIx64 " 0x%" PRIx64 "\n  cfi  %s\n  code %s\n", place->start,
		       place->end, cfi, made);
	}
	if (audit.places_left_out)
		printf("# %" PRIu64 " instructions more, beyond %u places\n", audit.places_left_out,
		       AUDIT_PLACES_MAX);
	printf("# %" PRIu64 " instructions were reached, %" PRIu64 " of them got a row, %" PRIu64
	       " of these have no CFI to judge it by\n",
	       audit.instructions, audit.rows, audit.without_cfi);
	printf("# agree %" PRIu64 ", contradict %" PRIu64 " (%.4f %%), not comparable %" PRIu64
	       "\n",
	       audit.agree, audit.wrong, share_percent(audit.wrong, audit.rows - audit.without_cfi),
	       audit.unjudged);
	return 0;
}
