/* SPDX-License-Identifier: Apache-2.0 */
#include "output/fp_rules.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "output/arch_x86_64.h"
#include "output/names.h"
#include "symbolize/symbolizer.h"
#include "unwind/rows.h"

struct fp_question {
	uint64_t vaddr; /* lookup pc */
	uint32_t object;
	bool known;	     /* it has a row */
	bool here, anywhere; /* a row that has the CFA by rbp: at the pc, in the function */
	struct function_range function; /* around vaddr; empty: none */
};

const char *fp_rule_key(enum fp_rule rule)
{
	static const char *const keys[FP_RULE_COUNT] = {
#define X(name, key, text) [FP_RULE_##name] = #key,
		FP_RULE_LIST(X)
#undef X
	};

	return keys[rule];
}

const char *fp_rule_text(enum fp_rule rule)
{
	static const char *const texts[FP_RULE_COUNT] = {
#define X(name, key, text) [FP_RULE_##name] = (text),
		FP_RULE_LIST(X)
#undef X
	};

	return texts[rule];
}

void fp_rules_init(struct fp_rules *rules, struct functions *functions)
{
	*rules = (struct fp_rules){ .functions = functions };
}

void fp_rules_fini(struct fp_rules *rules)
{
	free(rules->questions);
}

static struct fp_question question_of(uint64_t frame)
{
	return (struct fp_question){
		.vaddr = frame_lookup_pc(frame_addr(frame), frame_is_exact(frame)),
		.object = frame_is_raw(frame) ? 0 : frame_object(frame),
	};
}

int fp_rules_ask(struct fp_rules *rules, uint64_t frame)
{
	if (rules->nr == rules->room) {
		size_t room = rules->room ? 2 * rules->room : 256;
		struct fp_question *questions =
			reallocarray(rules->questions, room, sizeof(*questions));

		if (!questions)
			return -ENOMEM;
		rules->questions = questions;
		rules->room = room;
	}
	rules->questions[rules->nr++] = question_of(frame);
	return 0;
}

static int compare_questions(const void *left, const void *right)
{
	const struct fp_question *a = left, *b = right;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

/* The questions of one object, on the way through its rows, which ascend as they do. */
struct pass {
	struct fp_question *questions; /* [nr], ascending, so their functions ascend as well */
	size_t nr;
	size_t next;	/* all before it lie below the rows to come */
	size_t started; /* the functions of all before it begin at or below the row */
};

/* rbp points at the frame: [rbp] is the caller's, [rbp + 8] the return address. */
static bool has_frame_pointer(const struct cfi_row *row)
{
	if (row->cfa_reg != ARCH_FRAME_POINTER)
		return false;
	/* Functions that realign the stack keep the CFA beside the frame rbp points at. */
	return row->cfa == FPL_CFA_DEREF || (row->cfa == FPL_CFA_REG && row->cfa_off == 16);
}

/* The questions whose pc is in a row. */
static void see_pcs(struct pass *pass, const struct cfi_row *row, bool frame_pointer)
{
	for (; pass->next < pass->nr; pass->next++) {
		struct fp_question *question = &pass->questions[pass->next];

		if (question->vaddr >= row->end)
			break;
		if (question->vaddr < row->start)
			continue;
		question->known = true;
		question->here = frame_pointer;
	}
}

/* The function a row is in: the last question in it is marked, spread() tells the others. */
static void see_function(struct pass *pass, const struct cfi_row *row, bool frame_pointer)
{
	const struct fp_question *questions = pass->questions;

	while (pass->started < pass->nr && questions[pass->started].function.start <= row->start)
		pass->started++;
	if (pass->started && questions[pass->started - 1].function.end > row->start)
		pass->questions[pass->started - 1].anywhere |= frame_pointer;
}

static int see_row(const struct cfi_row *row, void *ctx)
{
	struct pass *pass = ctx;
	bool frame_pointer = has_frame_pointer(row);

	see_pcs(pass, row, frame_pointer);
	see_function(pass, row, frame_pointer);
	return row->start >= pass->questions[pass->nr - 1].function.end ? -ECANCELED : 0;
}

/* What is known of a function holds for every question in it. */
static void spread(struct fp_question *questions, size_t nr)
{
	for (size_t i = nr; i-- > 1;)
		if (questions[i].function.start == questions[i - 1].function.start)
			questions[i - 1].anywhere = questions[i].anywhere;
}

/* Answer the questions about one object. A file that cannot be read leaves them open. */
static void resolve_object(struct fp_rules *rules, struct fp_question *questions, size_t nr)
{
	struct pass pass = { .questions = questions, .nr = nr };
	const struct elf_file *elf, *debug;
	struct fpl_err err = { 0 };

	for (size_t i = 0; i < nr; i++) {
		struct fp_question *question = &questions[i];

		/* Without an FDE the pc stands for its function: a made-up row may cover it. */
		if (!functions_find(rules->functions, question->object, question->vaddr,
				    &question->function))
			question->function =
				(struct function_range){ question->vaddr, question->vaddr + 1 };
	}
	if (!symbolizer_elf(rules->functions->symbolizer, questions->object, &elf, &debug))
		return;
	int error = cfi_rows_for_each(elf, debug, &table_limits_default, see_row, &pass, &err);
	if (error && error != -ECANCELED)
		fpl_log(FPL_LOG_DEBUG, "frame pointers of an object stay unknown: %s", err.msg);
	spread(questions, nr);
}

void fp_rules_resolve(struct fp_rules *rules)
{
	struct fp_question *questions = rules->questions;
	size_t nr = 0;

	if (!rules->nr)
		return;
	qsort(questions, rules->nr, sizeof(*questions), compare_questions);
	for (size_t i = 0; i < rules->nr; i++)
		if (!nr || compare_questions(&questions[nr - 1], &questions[i]))
			questions[nr++] = questions[i];
	rules->nr = nr;
	for (size_t i = 0, end; i < nr; i = end) {
		for (end = i + 1; end < nr && questions[end].object == questions[i].object;)
			end++;
		if (questions[i].object)
			resolve_object(rules, &questions[i], end - i);
	}
}

enum fp_rule fp_rules_find(const struct fp_rules *rules, uint64_t frame)
{
	struct fp_question key = question_of(frame);
	const struct fp_question *found = NULL;

	if (rules->nr)
		found = bsearch(&key, rules->questions, rules->nr, sizeof(key), compare_questions);
	if (!found || !found->known)
		return FP_RULE_UNKNOWN;
	if (found->here)
		return FP_RULE_FRAME_POINTER;
	return found->anywhere ? FP_RULE_PROLOGUE_OR_EPILOGUE : FP_RULE_NO_FRAME_POINTER;
}
