/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/frame_pointer.h"

#include <errno.h>

#include "unwind/arch_x86_64.h"

/* The questions of one object during one pass through its rows; both ascend. */
struct pass {
	struct frame_question *questions; /* [nr], ascending, so their functions ascend as well */
	size_t nr;
	size_t next;	/* all before it lie below the rows to come */
	size_t started; /* the functions of all questions before it begin at or below the row */
};

/* rbp points to the frame: [rbp] is the caller's, [rbp + 8] the return address. */
static bool has_frame_pointer(const struct cfi_row *row)
{
	if (row->cfa_reg != ARCH_FRAME_POINTER)
		return false;
	/* Functions that realign the stack keep the CFA beside the frame that rbp points to. */
	return row->cfa == FPL_CFA_DEREF || (row->cfa == FPL_CFA_REG && row->cfa_off == 16);
}

/* The questions whose pc is in a row. */
static void see_pcs(struct pass *pass, const struct cfi_row *row, bool frame_pointer)
{
	for (; pass->next < pass->nr; pass->next++) {
		struct frame_question *question = &pass->questions[pass->next];

		if (question->vaddr >= row->end)
			break;
		if (question->vaddr < row->start)
			continue;
		question->known = true;
		question->here = frame_pointer;
	}
}

/* Mark the last question in the row's function; spread() tells the others. */
static void see_function(struct pass *pass, const struct cfi_row *row, bool frame_pointer)
{
	const struct frame_question *questions = pass->questions;

	while (pass->started < pass->nr && questions[pass->started].start <= row->start)
		pass->started++;
	if (pass->started && questions[pass->started - 1].end > row->start)
		pass->questions[pass->started - 1].anywhere |= frame_pointer;
}

static int see_row(const struct cfi_row *row, void *ctx)
{
	struct pass *pass = ctx;
	bool frame_pointer = has_frame_pointer(row);

	see_pcs(pass, row, frame_pointer);
	see_function(pass, row, frame_pointer);
	return row->start >= pass->questions[pass->nr - 1].end ? -ECANCELED : 0;
}

/* A fact about a function holds for every question in it. */
static void spread(struct frame_question *questions, size_t nr)
{
	for (size_t i = nr; i-- > 1;)
		if (questions[i].start == questions[i - 1].start)
			questions[i - 1].anywhere = questions[i].anywhere;
}

int frame_pointer_ask(const struct elf_file *elf, const struct elf_file *debug,
		      struct frame_question *questions, size_t nr, struct fpl_err *err)
{
	struct pass pass = { .questions = questions, .nr = nr };

	if (!nr)
		return 0;
	for (size_t i = 0; i < nr; i++) {
		/* Without an FDE the pc stands for its function: a synthesised row may cover it. */
		if (questions[i].start == questions[i].end) {
			questions[i].start = questions[i].vaddr;
			questions[i].end = questions[i].vaddr + (questions[i].vaddr < UINT64_MAX);
		}
	}

	/* Stacks with frames found by rows made from code are not judged. */
	struct table_limits limits = table_limits_default;

	limits.synth = false;

	int code = cfi_rows_for_each(elf, debug, &limits, see_row, &pass, err);

	spread(questions, nr);
	return code == -ECANCELED ? 0 : code;
}
