/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/findings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unwind/register_names.h"
#include "verify/rule_eval.h"

void findings_fini(struct findings *findings)
{
	free(findings->objects);
	free(findings->list);
	address_set_fini(&findings->places);
	*findings = (struct findings){ .nr = 0 };
}

static int object_of(struct findings *findings, uint32_t id, struct finding_object **ret)
{
	if (id >= findings->nr_objects) {
		int code = array_reserve(&findings->objects, sizeof(*findings->objects),
					 &findings->room_objects, id + 1u);

		if (code)
			return code;
		memset(findings->objects + findings->nr_objects, 0,
		       (id + 1u - findings->nr_objects) * sizeof(*findings->objects));
		findings->nr_objects = id + 1u;
	}
	*ret = &findings->objects[id];
	return 0;
}

static int add_wrong(struct findings *findings, const struct finding_step *step,
		     enum judge_origin origin)
{
	const struct judgement *judgement = &step->judgement;
	struct finding *finding;

	for (size_t i = 0; i < findings->nr; i++) {
		finding = &findings->list[i];
		if (finding->vaddr == step->vaddr && finding->object == step->object &&
		    finding->wrong == judgement->wrong && finding->origin == origin) {
			finding->count++;
			return 0;
		}
	}
	if (findings->nr == FINDINGS_GROUPS_MAX) {
		findings->left_out++;
		return 0;
	}

	int code = array_reserve(&findings->list, sizeof(*findings->list), &findings->room,
				 findings->nr + 1);

	if (code)
		return code;
	finding = &findings->list[findings->nr++];
	*finding = (struct finding){
		.object = step->object,
		.wrong = judgement->wrong,
		.vaddr = step->vaddr,
		.origin = origin,
		.count = 1,
		.registers.pc = step->machine->pc,
		.expected = judgement->expected,
		.said = judgement->said,
		.cfa = step->frame->cfa,
		.ra = step->frame->ra,
	};
	memcpy(finding->registers.reg, step->machine->reg, sizeof(finding->registers.reg));
	rule_text(step->rule, finding->row, sizeof(finding->row));
	return 0;
}

static void add_counts(struct finding_counts *counts, const struct judgement *judgement)
{
	counts->judged++;
	counts->wrong += judgement->wrong != WRONG_NOTHING;
	counts->lossy += judgement->lost != 0;
	counts->unneeded += judgement->unneeded != 0;
}

/* Is the code without CFI, in a file with a table? */
static bool is_bare(const struct finding_step *step)
{
	return step->rule &&
	       (step->rule->cfa == FPL_CFA_NONE || (step->rule->flags & FPL_RULE_SYNTH));
}

int findings_add(struct findings *findings, const struct finding_step *step)
{
	const struct judgement *judgement = &step->judgement;
	struct finding_object *object;
	int code = object_of(findings, step->object, &object);

	if (code)
		return code;
	findings->steps++;
	object->steps++;
	object->bare_steps += is_bare(step);
	object->bare_rows += is_bare(step) && step->rule->cfa != FPL_CFA_NONE;
	if (judgement->skip != SKIP_NONE) {
		findings->skipped[judgement->skip]++;
		return 0;
	}

	enum judge_origin origin = judge_origin_of(step->rule);

	add_counts(&findings->by_origin[origin], judgement);
	if (origin == JUDGE_ORIGIN_SYNTH) {
		add_counts(&object->bare, judgement);
		object->bare_places += address_set_add(
			&findings->places, (uint64_t)step->object << 40 | (step->vaddr + 1));
	}
	return judgement->wrong == WRONG_NOTHING ? 0 : add_wrong(findings, step, origin);
}

uint64_t findings_judged(const struct findings *findings)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < JUDGE_ORIGIN_COUNT; i++)
		nr += findings->by_origin[i].judged;
	return nr;
}

uint64_t findings_wrong(const struct findings *findings)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < JUDGE_ORIGIN_COUNT; i++)
		nr += findings->by_origin[i].wrong;
	return nr;
}

static int by_place(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return x->wrong < y->wrong ? -1 : x->wrong > y->wrong;
}

void findings_sort(struct findings *findings)
{
	if (findings->nr)
		qsort(findings->list, findings->nr, sizeof(*findings->list), by_place);
}

const char *finding_subject(uint32_t wrong)
{
	if (wrong == WRONG_CFA)
		return "CFA";
	return wrong == WRONG_RA ? "return address" : register_name(wrong);
}

static const struct {
	const char *key, *text;
} skips[] = {
#define X(name, key, text) { #key, text },
	JUDGE_SKIP_LIST(X)
#undef X
};

static const char *const origins[] = {
#define X(name, key) #key,
	JUDGE_ORIGIN_LIST(X)
#undef X
};

const char *judge_skip_key(enum judge_skip skip)
{
	return skip < SKIP_COUNT ? skips[skip].key : "?";
}

const char *judge_skip_text(enum judge_skip skip)
{
	return skip < SKIP_COUNT ? skips[skip].text : "?";
}

const char *judge_origin_key(enum judge_origin origin)
{
	return origin < JUDGE_ORIGIN_COUNT ? origins[origin] : "?";
}
