/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/fp_rules.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "naming/names.h"
#include "symbolize/symbol_place.h"

struct fp_question {
	uint64_t vaddr; /* lookup pc */
	uint32_t object;
	bool known;	     /* it has a row */
	bool here, anywhere; /* a row that has the CFA by rbp: at the pc, in the function */
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

void fp_rules_init(struct fp_rules *rules, struct namer *namer)
{
	*rules = (struct fp_rules){ .namer = namer };
}

void fp_rules_fini(struct fp_rules *rules)
{
	vector_fini(&rules->questions);
}

static struct fp_question question_of(uint64_t frame)
{
	return (struct fp_question){
		.vaddr = frame_lookup_pc(frame_addr(frame), frame_is_exact(frame)),
		.object = frame_is_raw(frame) ? 0 : frame_object(frame),
	};
}

void fp_rules_ask(struct fp_rules *rules, uint64_t frame)
{
	must_push(&rules->questions, question_of(frame));
}

static int compare_questions(const void *left, const void *right)
{
	const struct fp_question *a = left, *b = right;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

/* Ask workers the @questions [@nr] about one object. */
static int ask(struct fp_rules *rules, struct fp_question *questions, size_t nr,
	       struct fpl_err *err)
{
	AUTO_FREE uint64_t *vaddrs = must_calloc(nr, sizeof(*vaddrs));
	AUTO_FREE uint8_t *answers = must_calloc(nr, sizeof(*answers));

	for (size_t i = 0; i < nr; i++)
		vaddrs[i] = questions[i].vaddr;

	int code = namer_frames(rules->namer, questions->object, vaddrs, nr, answers, err);

	for (size_t i = 0; !code && i < nr; i++) {
		questions[i].known = answers[i] & SYMBOL_FRAME_KNOWN;
		questions[i].here = answers[i] & SYMBOL_FRAME_HERE;
		questions[i].anywhere = answers[i] & SYMBOL_FRAME_ANYWHERE;
	}
	return code;
}

/* Answer the questions about one object. A file that cannot be read leaves them open. */
static void resolve_object(struct fp_rules *rules, struct fp_question *questions, size_t nr)
{
	struct fpl_err err = { 0 };
	int code = ask(rules, questions, nr, &err);

	if (code && code != -ENOENT)
		fpl_log(FPL_LOG_DEBUG, "frame pointers of an object stay unknown: %s", err.msg);
}

void fp_rules_resolve(struct fp_rules *rules)
{
	struct fp_question *questions = rules->questions.list;
	size_t nr = 0;

	if (!rules->questions.nr)
		return;
	qsort(questions, rules->questions.nr, sizeof(*questions), compare_questions);
	for (size_t i = 0; i < rules->questions.nr; i++)
		if (!nr || compare_questions(&questions[nr - 1], &questions[i]))
			questions[nr++] = questions[i];
	rules->questions.nr = nr;
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

	if (rules->questions.nr)
		found = bsearch(&key, rules->questions.list, rules->questions.nr, sizeof(key),
				compare_questions);
	if (!found || !found->known)
		return FP_RULE_UNKNOWN;
	if (found->here)
		return FP_RULE_FRAME_POINTER;
	return found->anywhere ? FP_RULE_PROLOGUE_OR_EPILOGUE : FP_RULE_NO_FRAME_POINTER;
}
