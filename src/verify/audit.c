/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/audit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "unwind/synth/state.h"

struct auditor {
	struct audit *audit;
	struct synth_file *file;
	bool out_of_memory;
};

static void note_place(struct auditor *auditor, uint64_t start, uint64_t end,
		       const struct cfi_row *cfi, const struct synth_state *state)
{
	struct audit *audit = auditor->audit;
	struct audit_place *last = audit->nr_places ? &audit->places[audit->nr_places - 1] : NULL;

	if (last && last->end == start) {
		last->end = end;
		return;
	}
	if (audit->nr_places == AUDIT_PLACES_MAX) {
		audit->places_left_out++;
		return;
	}
	if (array_reserve(&audit->places, sizeof(*audit->places), &audit->room_places,
			  audit->nr_places + 1)) {
		auditor->out_of_memory = true;
		return;
	}

	struct audit_place *place = &audit->places[audit->nr_places++];

	memset(place, 0, sizeof(*place));
	place->start = start;
	place->end = end;
	place->cfi = *cfi;
	if (!synth_state_row(state, &place->made))
		audit->nr_places--;
}

static void visit(void *ctx, uint64_t vaddr, unsigned size, const struct synth_state *state,
		  enum synth_reason reason)
{
	struct auditor *auditor = ctx;
	struct audit *audit = auditor->audit;

	audit->instructions++;
	audit->by_reason[reason]++;
	if (reason != SYNTH_REASON_NONE)
		return;
	audit->rows++;

	const struct cfi_row *row = synth_file_cfi(auditor->file, vaddr);

	if (!row) {
		audit->without_cfi++;
		return;
	}
	switch (synth_state_judge(state, row)) {
	case OPINION_AGREE:
		audit->agree++;
		break;
	case OPINION_NONE:
		audit->unjudged++;
		break;
	case OPINION_WRONG:
		audit->wrong++;
		note_place(auditor, vaddr, vaddr + size, row, state);
	}
}

int audit_file(const struct elf_file *elf, const struct elf_file *debug, enum synth_scope scope,
	       const struct table_limits *limits, struct audit *ret, struct fpl_err *err)
{
	CLEANUP(cfi_file_cleanup) struct cfi_file *cfi = NULL;
	CLEANUP(synth_file_cleanup) struct synth_file *file = NULL;
	struct auditor auditor = { .audit = ret };
	struct synth_result result = { 0 };

	memset(ret, 0, sizeof(*ret));

	int code = cfi_file_open(elf, debug, limits, &cfi, err);
	uint64_t start_ns = code ? 0 : budget_spent_ns(&cfi->budget);

	if (code == 0)
		code = synth_file_open(elf, debug, cfi, scope, &cfi->budget, &file, err);
	auditor.file = file;
	if (code == 0)
		code = synth_file_analyse(file, scope == SYNTH_HOLES ? NULL : visit, &auditor,
					  &result, err);
	if (cfi)
		ret->cpu_ns = budget_spent_ns(&cfi->budget) - start_ns;
	ret->hole_bytes = result.hole_bytes;
	ret->row_bytes = result.row_bytes;
	ret->guess_bytes = result.guess_bytes;
	synth_result_fini(&result);
	if (code == 0 && auditor.out_of_memory)
		code = fpl_fail(err, -ENOMEM, "%s: out of memory", elf->name);
	return code;
}

void audit_fini(struct audit *audit)
{
	free(audit->places);
	*audit = (struct audit){ 0 };
}
