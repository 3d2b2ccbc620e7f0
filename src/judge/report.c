/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/report.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "unwind/register_names.h"

enum { PATH_SIZE = 1024, NAME_SIZE = 512 };

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void write_path(FILE *out, const struct code *code, uint32_t object)
{
	char safe[PATH_SIZE];

	text_escape(safe, sizeof(safe), code_path(code, object), "");
	fputs(safe, out);
}

static void write_counts(FILE *out, const char *what, const struct finding_counts *counts)
{
	fprintf(out,
		"  %-12s %12" PRIu64 "  agree %" PRIu64 ", wrong %" PRIu64
		", registers lost in %" PRIu64,
		what, counts->judged, counts->judged - counts->wrong, counts->wrong, counts->lossy);
	if (counts->unneeded)
		fprintf(out, ", unneeded registers wrong in %" PRIu64, counts->unneeded);
	fputc('\n', out);
}

static void write_books(FILE *out, const struct judge_run *run)
{
	const struct findings *findings = &run->findings;
	uint64_t judged = findings_judged(findings);

	fprintf(out, "steps %" PRIu64 " = judged %" PRIu64 " + skipped %" PRIu64 "\n",
		findings->steps, judged, findings->steps - judged);
	fputs("judged, by what the row is made from:\n", out);
	for (size_t i = 0; i < JUDGE_ORIGIN_COUNT; i++)
		if (findings->by_origin[i].judged)
			write_counts(out, judge_origin_key((enum judge_origin)i),
				     &findings->by_origin[i]);
	fputs("skipped:\n", out);
	for (size_t i = 1; i < SKIP_COUNT; i++)
		if (findings->skipped[i])
			fprintf(out, "  %-12s %12" PRIu64 "  %s\n",
				judge_skip_key((enum judge_skip)i), findings->skipped[i],
				judge_skip_text((enum judge_skip)i));
}

static void write_frames(FILE *out, const struct judge_run *run)
{
	static const struct {
		const char *key, *text;
	} ends[] = {
#define X(name, key, text) { #key, text },
		SHADOW_END_LIST(X)
#undef X
	};

	fprintf(out, "frames entered %" PRIu64 ":\n", run->frames_entered);
	for (size_t i = 0; i < SHADOW_END_COUNT; i++)
		if (run->frames_ended[i])
			fprintf(out, "  %-12s %12" PRIu64 "  %s\n", ends[i].key,
				run->frames_ended[i], ends[i].text);
}

static void write_object(FILE *out, const struct judge_run *run, const struct code *code,
			 uint32_t id)
{
	const struct finding_object *object = &run->findings.objects[id];

	fputs("  ", out);
	write_path(out, code, id);
	fprintf(out,
		": %" PRIu64 " steps, %" PRIu64 " without CFI; %" PRIu64
		" of them (%.1f %%) at a row, %" PRIu64 " judged, %" PRIu64
		" different ones, wrong %" PRIu64 ", registers lost in %" PRIu64 "\n",
		object->steps, object->bare_steps, object->bare_rows,
		percent(object->bare_rows, object->bare_steps), object->bare.judged,
		object->bare_places, object->bare.wrong, object->bare.lossy);
}

static void write_objects(FILE *out, const struct judge_run *run, const struct code *code, bool all)
{
	bool begun = false;

	for (uint32_t id = 1; id < run->findings.nr_objects; id++) {
		const struct finding_object *object = &run->findings.objects[id];

		if (!object->bare_steps && !(all && object->steps))
			continue;
		if (!begun)
			fputs("code without CFI, by file:\n", out);
		begun = true;
		write_object(out, run, code, id);
	}
}

/* Findings shown as one: in one function, with the same part wrong. */
struct group {
	const struct finding *first;
	char name[NAME_SIZE]; /* "": it has none */
	uint64_t end;	      /* the last instruction */
	uint64_t count;
};

static void name_of(struct code *code, const struct finding *finding, char ret[NAME_SIZE])
{
	struct symbol symbol;

	code_symbol(code, finding->object, finding->vaddr, &symbol);
	ret[0] = '\0';
	if (symbol.name)
		text_escape(ret, NAME_SIZE, symbol.name, "");
}

static void write_registers(FILE *out, const struct finding *finding)
{
	for (unsigned int i = 0; i < FPL_NR_REGS; i++)
		fprintf(out, "%s%s=0x%" PRIx64, i % 6 ? " " : "\n      ", register_name(i),
			finding->registers.reg[i]);
	fputc('\n', out);
}

static void write_group(FILE *out, const struct code *code, const struct group *group)
{
	const struct finding *finding = group->first;

	fputs("  ", out);
	write_path(out, code, finding->object);
	fprintf(out,
		" %s 0x%" PRIx64 "..0x%" PRIx64 " DISAGREE: %s of a row from %s, %" PRIu64
		" times\n",
		group->name[0] ? group->name : "-", finding->vaddr, group->end,
		finding_subject(finding->wrong),
		finding->origin == JUDGE_ORIGIN_SYNTH ? "code" : judge_origin_key(finding->origin),
		group->count);
	fprintf(out,
		"    at 0x%" PRIx64 ": %s\n    %s is 0x%" PRIx64 ", the row says 0x%" PRIx64
		"; frame: cfa=0x%" PRIx64 " ra=0x%" PRIx64 " pc=0x%" PRIx64,
		finding->vaddr, finding->row, finding_subject(finding->wrong), finding->expected,
		finding->said, finding->cfa, finding->ra, finding->registers.pc);
	write_registers(out, finding);
}

/* Do the name and the wrong part at @finding equal those of @group? */
static bool belongs(const struct group *group, const struct finding *finding, const char *name)
{
	return group->first && group->first->object == finding->object &&
	       group->first->wrong == finding->wrong && group->first->origin == finding->origin &&
	       name[0] && strcmp(group->name, name) == 0;
}

static void write_wrong(FILE *out, struct judge_run *run, struct code *code)
{
	struct findings *findings = &run->findings;
	AUTO_FREE struct group *group = calloc(1, sizeof(*group));

	if (!findings->nr || !group)
		return;
	findings_sort(findings);
	for (size_t i = 0; i < findings->nr; i++)
		code_expect(code, findings->list[i].object, findings->list[i].vaddr);
	fputs("wrong:\n", out);
	for (size_t i = 0; i < findings->nr; i++) {
		const struct finding *finding = &findings->list[i];
		char name[NAME_SIZE];

		name_of(code, finding, name);
		if (!belongs(group, finding, name)) {
			if (group->first)
				write_group(out, code, group);
			*group = (struct group){ .first = finding };
			memcpy(group->name, name, sizeof(name));
		}
		group->end = finding->vaddr;
		group->count += finding->count;
	}
	write_group(out, code, group);
	if (findings->left_out)
		fprintf(out, "  %" PRIu64 " more, beyond %u places\n", findings->left_out,
			FINDINGS_GROUPS_MAX);
}

void judge_report_write(FILE *out, struct judge_run *run, struct code *code, bool objects)
{
	const struct findings *findings = &run->findings;

	fprintf(out,
		"pid %d: %zu thread%s, %" PRIu64 " burst%s, %" PRIu64
		" at a breakpoint, %.1f s; %s\n",
		(int)run->pid, run->nr_threads, run->nr_threads == 1 ? "" : "s", run->bursts,
		run->bursts == 1 ? "" : "s", run->breakpoints_met, (double)run->elapsed_ms / 1000,
		judge_end_text(run->end));
	write_books(out, run);
	write_frames(out, run);
	write_objects(out, run, code, objects);
	write_wrong(out, run, code);
	fprintf(out,
		"total: %" PRIu64 " judged, %" PRIu64 " agreements, %" PRIu64 " disagreements\n",
		findings_judged(findings), findings_judged(findings) - findings_wrong(findings),
		findings_wrong(findings));
}
