/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/verify_file.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "obj/elf_file.h"
#include "unwind/rows.h"
#include "unwind/table.h"
#include "verify/oracle.h"
#include "verify/row_eval.h"
#include "verify/rule_eval.h"

enum {
	GAP_MAX = 15, /* bytes a row of the compact table may run over between FDEs */
	PEEK = 4,     /* FDEs looked ahead: both sections may list a function twice over */
	SPAN = 1u << FPL_SPAN_LOG2,
	PC_ROW_STEPS_MAX = 4096, /* limit of consecutive pcs tried if the CFA depends on the pc */
};

struct sweep {
	struct oracle *oracle;
	const struct elf_file *elf;
	const struct elf_file *debug; /* NULL: no separate debug file */
	const struct table *table;
	struct report *report;
	struct oracle_answer answer; /* holds for [answer_start, answer.end) */
	uint64_t answer_start;
	uint64_t pos;			       /* everything below is judged */
	size_t next_fde;		       /* first of oracle->fdes that starts above pos */
	uint64_t covered_end[FDE_NR_SECTIONS]; /* highest end of the FDEs before it */
	uint64_t overlap_end;	 /* FDEs of one section overlap below this, if it is above pos */
	uint64_t terminated_end; /* likewise: an FDE behind a terminator */
};

/* A stretch of pcs with one answer of libdw and one exact row of ours. */
struct stretch {
	uint64_t start, end;
	const struct cfi_row *row; /* NULL: no exact row */
	uint64_t gap_size;	   /* of the hole in all FDEs it is in; 0: in none */
};

enum { RAX = 0, RBX = 3 };

static bool values_agree(const struct caller_value *table, const struct caller_value *libdw)
{
	if (table->kind == CALLER_UNCLAIMED)
		return libdw->kind == CALLER_UNDEF || libdw->kind == CALLER_UNCLAIMED;
	if (table->kind != libdw->kind)
		return false;
	return table->kind != CALLER_VALUE || table->value == libdw->value;
}

/*
 * libdw 0.188's defaults for this architecture (backends/x86_64_cfi.c) say "same value" for
 * register 0, with the comment "rbx"; rbx is 3, so if the CFI does not mention rbx, libdw calls it
 * undefined, and rax preserved. That is wrong: rbx is callee-saved (psABI, figure 3.4).
 */
static bool is_libdw_default(unsigned int reg, const struct caller_value *table,
			     const struct caller_value *libdw, const struct machine *machine)
{
	if (reg == RAX)
		return table->kind == CALLER_UNCLAIMED && libdw->kind == CALLER_VALUE &&
		       libdw->value == machine->reg[RAX];
	return reg == RBX && libdw->kind == CALLER_UNDEF && table->kind == CALLER_VALUE &&
	       table->value == machine->reg[RBX];
}

static enum verdict compare_registers(const struct caller *table, const struct caller *libdw,
				      const struct machine *machine, uint32_t *ret_reg)
{
	enum verdict verdict = VERDICT_AGREE;

	for (unsigned int i = 0; i < FPL_NR_REGS; i++) {
		const struct caller_value *ours = &table->reg[i], *theirs = &libdw->reg[i];
		bool judged = table->signal || ours->kind != CALLER_UNCLAIMED;

		if (!judged || values_agree(ours, theirs) ||
		    is_libdw_default(i, ours, theirs, machine))
			continue;
		*ret_reg = i;
		if (ours->kind == CALLER_EXPR)
			verdict = VERDICT_EXPR;
		else if (theirs->kind == CALLER_EXPR)
			verdict = VERDICT_UNEVALUATED;
		else
			return VERDICT_REG;
	}
	return verdict;
}

static enum verdict compare_callers(const struct caller *table, const struct caller *libdw,
				    const struct machine *machine, uint32_t *ret_reg)
{
	const struct caller_value *ra = &table->reg[MACHINE_RA];

	if (libdw->status == CALLER_REFUSED)
		return VERDICT_REFUSED;
	if (table->status == CALLER_NONE)
		return VERDICT_MISSING;
	if (table->status == CALLER_GIVEN_UP)
		return VERDICT_EXPR;
	if (libdw->status != CALLER_FOUND)
		return VERDICT_UNEVALUATED;
	if (table->cfa != libdw->cfa)
		return VERDICT_CFA;
	if (ra->kind == CALLER_EXPR)
		return VERDICT_EXPR;
	if (!values_agree(ra, &libdw->reg[MACHINE_RA]))
		return VERDICT_RA;
	if (table->signal != libdw->signal)
		return VERDICT_SIGNAL;
	return compare_registers(table, libdw, machine, ret_reg);
}

static bool is_go(const struct stretch *stretch)
{
	return stretch->row != NULL && stretch->row->source == CFI_SOURCE_GO;
}

/*
 * The verdict on a row of Go's own table. The linker makes .debug_frame from it, too, with the
 * depth of the stack and no more. Facts beyond that are not judged; the CFA and the return address
 * must agree. The compact table must agree with the row in any case.
 */
static enum verdict judge_go(const struct cfi_row *row, const struct caller *table,
			     const struct machine *machine, enum verdict by_libdw)
{
	struct caller caller = { .status = CALLER_NONE };
	uint32_t reg;

	row_eval(row, machine, &caller);
	if (verdict_is_bad(compare_callers(table, &caller, machine, &reg)))
		return VERDICT_ROWS;
	if (row->other_stack || row->signal || row->cfa == FPL_CFA_EXPR ||
	    row->reg[CFI_RA].kind != CFI_AT_CFA)
		return VERDICT_GO;
	return by_libdw == VERDICT_REG ? VERDICT_GO_REGS : by_libdw;
}

/* The verdict on a row that the code corrects: the table must agree with the row. */
static enum verdict judge_mended(const struct cfi_row *row, const struct caller *table,
				 const struct machine *machine)
{
	struct caller caller;
	uint32_t reg;

	row_eval(row, machine, &caller);
	return verdict_is_bad(compare_callers(table, &caller, machine, &reg)) ? VERDICT_ROWS
									      : VERDICT_MENDED;
}

/* The verdict where libdw has no rule. */
static enum verdict judge_without_libdw(const struct sweep *sweep, const struct stretch *stretch,
					const struct fpl_rule *rule)
{
	if (sweep->answer.status == ORACLE_REFUSED)
		return VERDICT_REFUSED;
	if (rule->cfa == FPL_CFA_NONE)
		return VERDICT_NONE;
	if (stretch->row != NULL && stretch->row->source == CFI_SOURCE_SYNTH)
		return VERDICT_SYNTH;
	if (is_go(stretch))
		return VERDICT_GO;
	if (stretch->gap_size != 0 && stretch->gap_size <= GAP_MAX)
		return VERDICT_GAP;
	return VERDICT_EXTRA;
}

static bool is_executable(const struct elf_file *elf, uint64_t pc)
{
	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct elf_segment *segment = &elf->segments[i];

		if (segment->type == PT_LOAD && (segment->flags & PF_X) && pc >= segment->vaddr &&
		    pc - segment->vaddr < segment->mem_size)
			return true;
	}
	return false;
}

/* Replace a difference by its known cause, if it is no fault of the table. */
static enum verdict explain(const struct sweep *sweep, enum verdict verdict, uint64_t pc)
{
	if (!verdict_is_bad(verdict))
		return verdict;
	if (verdict == VERDICT_MISSING && !is_executable(sweep->elf, pc))
		return VERDICT_OUTSIDE;
	if (verdict == VERDICT_EXTRA && pc < sweep->terminated_end)
		return VERDICT_TERMINATED;
	/*
	 * libdw's choice depends on the order of questions: it keeps FDEs in a search tree and
	 * drops an FDE that overlaps one already there.
	 */
	if (pc < sweep->overlap_end)
		return VERDICT_OVERLAP;
	/* libdw searches the index if there is one; the list of the section is the truth */
	if (verdict == VERDICT_EXTRA && pc < sweep->covered_end[FDE_EH_FRAME])
		return VERDICT_UNINDEXED;
	return verdict;
}

static void note_difference(struct sweep *sweep, const struct fpl_rule *rule, uint64_t pc,
			    enum verdict verdict, uint32_t reg)
{
	struct report *report = sweep->report;
	struct report_difference *difference = &report->first[report->nr_first];

	if (report->nr_first == REPORT_FIRST_MAX)
		return;
	report->nr_first++;
	difference->vaddr = pc;
	difference->verdict = verdict;
	difference->reg = reg;
	rule_text(rule, difference->table, sizeof(difference->table));
	oracle_text(&sweep->answer, difference->libdw, sizeof(difference->libdw));
}

/*
 * Undo the facts from code, not from CFI, about the registers @kept: libdw knows the CFI alone.
 * False: @caller does not have them unchanged.
 */
static bool take_back_kept(struct caller *caller, uint16_t kept, const struct machine *machine)
{
	for (unsigned int i = 0; i < FPL_NR_REGS; i++) {
		struct caller_value *value = &caller->reg[i];

		if (!(kept >> i & 1))
			continue;
		if (value->kind != CALLER_VALUE || value->value != machine->reg[i])
			return false;
		*value = (struct caller_value){ .kind = CALLER_UNCLAIMED };
	}
	return true;
}

/*
 * The exact row is made by the general interpreter, the table mostly by the fast one: if the table
 * agrees, the row must agree, too.
 */
static enum verdict judge_row(const struct cfi_row *row, const struct caller *libdw,
			      const struct machine *machine)
{
	struct caller caller = { .status = CALLER_NONE };
	enum verdict verdict;
	uint32_t reg;

	if (row != NULL) {
		row_eval(row, machine, &caller);
		if (!take_back_kept(&caller, row->kept, machine))
			return VERDICT_ROWS;
	}
	verdict = compare_callers(&caller, libdw, machine, &reg);
	return verdict_is_bad(verdict) ? VERDICT_ROWS : VERDICT_AGREE;
}

static enum verdict judge(struct sweep *sweep, const struct stretch *stretch,
			  const struct fpl_rule *rule, uint64_t pc)
{
	struct machine machine;
	struct caller table, libdw;
	uint16_t kept = stretch->row ? stretch->row->kept : 0;
	enum verdict verdict;
	uint32_t reg = 0;

	if (sweep->answer.status != ORACLE_FRAME) {
		verdict = judge_without_libdw(sweep, stretch, rule);
	} else {
		machine_init(&machine, pc, pc);
		rule_eval(rule, &machine, &table);
		oracle_eval(&sweep->answer, &machine, &libdw);
		if (!take_back_kept(&table, kept, &machine))
			verdict = VERDICT_ROWS;
		else
			verdict = compare_callers(&table, &libdw, &machine, &reg);
		if (stretch->row && stretch->row->mended)
			verdict = judge_mended(stretch->row, &table, &machine);
		else if (is_go(stretch))
			verdict = judge_go(stretch->row, &table, &machine, verdict);
		else if (verdict == VERDICT_AGREE)
			verdict = judge_row(stretch->row, &libdw, &machine);
	}
	verdict = explain(sweep, verdict, pc);
	if (verdict_is_bad(verdict))
		note_difference(sweep, rule, pc, verdict, reg);
	return verdict;
}

/* A pc in [start, end), another one in every row. */
static uint64_t pick_inside(uint64_t start, uint64_t end)
{
	return start + (start * 0x9e3779b97f4a7c15ull >> 32) % (end - start);
}

/* The next pc to check behind @pc: the table's next span or, outside the table, its bounds. */
static uint64_t next_span(const struct table *table, uint64_t pc)
{
	uint64_t first = table->first_vaddr;
	uint64_t last = first + ((uint64_t)table->nr_pages << FPL_PAGE_LOG2);

	if (pc < first)
		return first;
	return pc < last ? (pc | (SPAN - 1)) + 1 : UINT64_MAX;
}

/*
 * Judge @stretch at its first pc, its last, one between, and the first of each of the table's
 * spans. If no answer depends on the pc, equal rules are judged once.
 */
static void judge_stretch(struct sweep *sweep, const struct stretch *stretch)
{
	const struct fpl_rule *seen = NULL;
	enum verdict verdict = VERDICT_AGREE;
	uint64_t inside = pick_inside(stretch->start, stretch->end);
	uint64_t pc = stretch->start;
	size_t steps = 0;

	while (pc < stretch->end) {
		const struct fpl_rule *rule = table_find(sweep->table, pc);
		bool by_pc = sweep->answer.uses_pc || rule->cfa == FPL_CFA_PLT;
		uint64_t next = next_span(sweep->table, pc);

		if (rule != seen || by_pc)
			verdict = judge(sweep, stretch, rule, pc);
		seen = rule;
		sweep->report->nr[verdict]++;
		sweep->report->pcs++;
		if (by_pc && ++steps < PC_ROW_STEPS_MAX)
			next = pc + 1;
		if (pc < inside && inside < next)
			next = inside;
		if (pc < stretch->end - 1 && stretch->end - 1 < next)
			next = stretch->end - 1;
		pc = next;
	}
}

static void note_fde(struct sweep *sweep, const struct fde_range *fde)
{
	uint64_t *covered_end = &sweep->covered_end[fde->section];

	if (fde->start < *covered_end && fde->end > sweep->overlap_end)
		sweep->overlap_end = fde->end;
	if (fde->start<*covered_end && * covered_end> sweep->overlap_end)
		sweep->overlap_end = *covered_end;
	if (fde->behind_terminator && fde->end > sweep->terminated_end)
		sweep->terminated_end = fde->end;
}

/* Advance the FDE list to @pc: those that begin at or below it count, the next ones are looked
 * ahead. */
static void follow_fdes(struct sweep *sweep, uint64_t pc)
{
	const struct fde_list *fdes = &sweep->oracle->fdes;

	while (sweep->next_fde < fdes->nr && fdes->ranges[sweep->next_fde].start <= pc) {
		const struct fde_range *fde = &fdes->ranges[sweep->next_fde++];

		note_fde(sweep, fde);
		if (fde->end > sweep->covered_end[fde->section])
			sweep->covered_end[fde->section] = fde->end;
	}
	for (size_t i = sweep->next_fde; i < fdes->nr && i < sweep->next_fde + PEEK; i++) {
		if (fdes->ranges[i].start < sweep->covered_end[fdes->ranges[i].section])
			note_fde(sweep, &fdes->ranges[i]);
	}
}

static uint64_t next_fde_start(const struct sweep *sweep)
{
	const struct fde_list *fdes = &sweep->oracle->fdes;

	return sweep->next_fde < fdes->nr ? fdes->ranges[sweep->next_fde].start : UINT64_MAX;
}

static uint64_t covered_end(const struct sweep *sweep)
{
	uint64_t end = 0;

	for (size_t i = 0; i < FDE_NR_SECTIONS; i++)
		end = sweep->covered_end[i] > end ? sweep->covered_end[i] : end;
	return end;
}

/* Make sweep->answer hold for @pc. */
static void ask(struct sweep *sweep, uint64_t pc)
{
	struct oracle_answer *answer = &sweep->answer;
	uint64_t limit = next_fde_start(sweep); /* where an FDE begins libdw is asked again */

	if (answer->status == ORACLE_FRAME && pc >= sweep->answer_start && pc < answer->end)
		return;
	oracle_answer_fini(answer);
	oracle_ask(sweep->oracle, pc, answer);
	sweep->answer_start = pc;
	/* and at the end of one: libdw's rows may run past it, with an advance past the end */
	for (size_t i = 0; i < FDE_NR_SECTIONS; i++) {
		if (sweep->covered_end[i] > pc && sweep->covered_end[i] < limit)
			limit = sweep->covered_end[i];
	}
	if (answer->status != ORACLE_FRAME || answer->end > limit)
		answer->end = limit;
}

/* Judge [sweep->pos, end), which our exact row @row covers. */
static void judge_range(struct sweep *sweep, uint64_t end, const struct cfi_row *row)
{
	while (sweep->pos < end) {
		struct stretch stretch = { .start = sweep->pos, .row = row };

		follow_fdes(sweep, sweep->pos);
		ask(sweep, sweep->pos);
		stretch.end = sweep->answer.end < end ? sweep->answer.end : end;
		if (covered_end(sweep) != 0 && sweep->pos >= covered_end(sweep))
			stretch.gap_size = next_fde_start(sweep) - covered_end(sweep);
		judge_stretch(sweep, &stretch);
		sweep->pos = stretch.end;
	}
}

static int sweep_row(const struct cfi_row *row, void *ctx)
{
	struct sweep *sweep = ctx;

	sweep->report->rows++;
	judge_range(sweep, row->start, NULL);
	judge_range(sweep, row->end, row);
	return 0;
}

/*
 * The rows are judged while they are read once more, and the time of libdw counts as theirs: some
 * hundred times that of the table, which was compiled within its own limits. The pool's timeout
 * ends a file that takes too long.
 */
static const struct table_limits judged_limits = {
	.cpu_ns = UINT64_MAX,
	.memory_bytes = 256u << 20,
	.rows = 4u << 20,
	.synth = true,
};

/* Judge the table over all addresses that either side covers, and a little beyond both ends. */
static int sweep_all(struct sweep *sweep, struct fpl_err *err)
{
	const struct fde_list *fdes = &sweep->oracle->fdes;
	uint64_t end = 0;
	int rc;

	sweep->pos = fdes->nr != 0 ? fdes->ranges[0].start : 0;
	if (sweep->table->nr_pages != 0 && sweep->pos > sweep->table->first_vaddr)
		sweep->pos = sweep->table->first_vaddr;
	rc = cfi_rows_for_each(sweep->elf, sweep->debug, &judged_limits, sweep_row, sweep, err);
	for (size_t i = 0; i < fdes->nr; i++) {
		if (fdes->ranges[i].end > end)
			end = fdes->ranges[i].end;
	}
	if (rc == 0)
		judge_range(sweep, end, NULL);
	if (rc == 0)
		judge_range(sweep, sweep->pos + SPAN, NULL);
	oracle_answer_fini(&sweep->answer);
	return rc;
}

static void give_up(struct report *report, enum report_status status, const struct fpl_err *err)
{
	report->status = status;
	snprintf(report->message, sizeof(report->message), "%s", err->msg);
}

static void verify_elf(const struct elf_file *elf, const struct elf_file *debug, struct report *ret)
{
	struct fpl_err err = { 0 };
	struct table *table = NULL;
	struct oracle *oracle = NULL;
	struct sweep sweep = { .elf = elf, .debug = debug, .report = ret };
	int rc = table_compile(elf, debug, &table_limits_default, &table, &err);

	if (rc != 0) {
		give_up(ret, rc == -ENODATA ? REPORT_NO_CFI : REPORT_REFUSED, &err);
		return;
	}
	rc = oracle_open(elf, debug, &oracle, &err);
	if (rc == 0) {
		sweep.table = table;
		sweep.oracle = oracle;
		rc = sweep_all(&sweep, &err);
		ret->fdes = oracle->fdes.nr;
		/*
		 * for example, libdw 0.188 does not know the section type of the file's .eh_frame
		 */
		if (rc == 0 && oracle->fdes.nr == 0 && report_disagreements(ret) != 0) {
			memset(ret, 0, sizeof(*ret));
			rc = fpl_fail(&err, -ENODATA, "%s: libdw reads no CFI from it", elf->name);
		}
	}
	if (rc != 0)
		give_up(ret, REPORT_FAILED, &err);
	oracle_close(oracle);
	table_destroy(table);
}

static bool is_judged(const struct elf_file *elf)
{
	return elf->machine == EM_X86_64 && (elf->type == ET_EXEC || elf->type == ET_DYN);
}

void verify_refuse(const struct fpl_err *err, struct report *ret)
{
	memset(ret, 0, sizeof(*ret));
	give_up(ret, err->code == -ENOEXEC ? REPORT_SKIPPED : REPORT_FAILED, err);
}

void verify_file(const char *path, int fd, int debug_fd, struct report *ret)
{
	uint64_t start_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct elf_file *elf = NULL, *debug = NULL;
	struct fpl_err err = { 0 };
	int rc = elf_file_open(fd, path, &elf, &err);

	/* as profile does: the debug file may have CFI of its own */
	if (debug_fd >= 0 && rc == 0)
		rc = elf_file_open(debug_fd, path, &debug, &err);
	memset(ret, 0, sizeof(*ret));
	if (rc != 0)
		verify_refuse(&err, ret);
	else if (!is_judged(elf))
		ret->status = REPORT_SKIPPED;
	else
		verify_elf(elf, debug, ret);
	elf_file_close(debug);
	elf_file_close(elf);
	ret->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns;
}
