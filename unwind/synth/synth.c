/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/synth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/arch_x86_64.h"
#include "unwind/filler.h"
#include "unwind/synth/graph.h"

const char *synth_reason_key(enum synth_reason reason)
{
	static const char *const keys[SYNTH_REASON_COUNT] = {
#define X(name, key, text) [SYNTH_REASON_##name] = #key,
		SYNTH_REASON_LIST(X)
#undef X
	};

	return keys[reason];
}

const char *synth_reason_text(enum synth_reason reason)
{
	static const char *const texts[SYNTH_REASON_COUNT] = {
#define X(name, key, text) [SYNTH_REASON_##name] = (text),
		SYNTH_REASON_LIST(X)
#undef X
	};

	return texts[reason];
}

struct writer {
	const struct synth_graph *graph;
	const struct synth_rows *rows;
	struct synth_result *result;
	size_t room_rows, room_gaps;
	struct fpl_err *err;
};

static int by_pos(const void *a, const void *b)
{
	const struct synth_row *left = a, *right = b;

	return left->pos < right->pos ? -1 : left->pos > right->pos;
}

static struct cfi_row whole_row(const struct writer *writer, const struct synth_row *row)
{
	uint64_t start = synth_graph_vaddr(writer->graph, row->pos);
	struct cfi_row ret;
	uint16_t kept = row->initial & writer->rows->needed[row->group];

	memset(&ret, 0, sizeof(ret)); /* compared as bytes */
	ret.start = start;
	ret.end = start + (row->end - row->pos);
	ret.cfa = row->cfa;
	ret.cfa_reg = row->cfa_reg;
	ret.cfa_off = row->cfa_off;
	ret.cfa_off2 = row->cfa_off2;
	ret.source = CFI_SOURCE_SYNTH;
	for (unsigned i = 0; i < FPL_NR_SAVED; i++)
		ret.reg[arch_saved_regs[i]] = (struct cfi_reg){ .kind = row->saved[i].kind,
								.reg = row->saved[i].reg,
								.off = row->saved[i].off };
	/* "Same" would mean "unknown" of a register that calls may change. */
	for (uint8_t reg = 0; reg < FPL_NR_REGS; reg++)
		if (kept >> reg & 1)
			ret.reg[reg] = (struct cfi_reg){ .kind = CFI_VAL_REG, .reg = reg };
	ret.reg[CFI_RA] = (struct cfi_reg){ .kind = CFI_AT_CFA, .off = ARCH_RA_OFF };
	return ret;
}

static int gap_add(struct writer *writer, uint64_t start, uint64_t end, enum synth_reason reason,
		   bool fp_refuted)
{
	struct synth_result *result = writer->result;
	struct synth_gap *last = result->nr_gaps ? &result->gaps[result->nr_gaps - 1] : NULL;

	if (start == end)
		return 0;
	if (last && last->end == start && last->reason == reason &&
	    last->fp_refuted == fp_refuted) {
		last->end = end;
		return 0;
	}

	int code = budget_grow(writer->graph->budget, &result->gaps, &writer->room_gaps,
			       result->nr_gaps, sizeof(*result->gaps), writer->err);

	if (code == 0)
		result->gaps[result->nr_gaps++] =
			(struct synth_gap){ start, end, reason, fp_refuted };
	return code;
}

static int row_put(struct writer *writer, const struct synth_row *row)
{
	struct synth_result *result = writer->result;
	struct cfi_row fresh = whole_row(writer, row);
	struct cfi_row *last = result->nr_rows ? &result->rows[result->nr_rows - 1] : NULL;

	result->row_bytes += row->end - row->pos;
	result->guess_bytes += row->guess ? row->end - row->pos : 0;
	if (last && last->end == fresh.start) {
		struct cfi_row joined = *last;

		joined.end = fresh.end;
		fresh.start = last->start;
		if (memcmp(&joined, &fresh, sizeof(fresh)) == 0) {
			last->end = fresh.end;
			return 0;
		}
		fresh.start = last->end;
	}

	int code = budget_grow(writer->graph->budget, &result->rows, &writer->room_rows,
			       result->nr_rows, sizeof(*result->rows), writer->err);

	if (code == 0)
		result->rows[result->nr_rows++] = fresh;
	writer->graph->budget->rows++;
	return code;
}

/* No instruction was decoded at @pos: how far in [pos, end) is that so, for the same reason? */
static uint32_t unreached(const struct synth_graph *graph, uint32_t pos, uint32_t end,
			  enum synth_reason *ret)
{
	const struct synth_hole *hole = &graph->input->holes[synth_graph_hole(graph, pos)];
	uint64_t off = synth_graph_vaddr(graph, pos) - hole->start;
	uint32_t next = pos + 1;
	size_t filler;

	while (next < end && !graph->index[next])
		next++;
	filler = filler_size(hole->bytes + off, next - pos, FILLER_ZEROES);
	*ret = filler ? SYNTH_REASON_FILLER : SYNTH_REASON_NO_ENTRY;
	return filler ? pos + (uint32_t)filler : next;
}

/* Why [pos, end), which has no row, has none. */
static int explain(struct writer *writer, uint32_t pos, uint32_t end)
{
	const struct synth_graph *graph = writer->graph;
	int code = 0;

	while (pos < end && code == 0) {
		const struct synth_op *op = synth_graph_op(graph, pos);
		enum synth_reason reason;
		uint64_t vaddr = synth_graph_vaddr(graph, pos);
		bool fp_refuted = false;
		uint32_t next;

		if (op) {
			reason = graph->reasons[graph->index[pos] - 1];
			fp_refuted = graph->fp_refuted[graph->index[pos] - 1];
			next = pos + op->size < end ? pos + op->size : end;
		} else {
			next = unreached(graph, pos, end, &reason);
		}
		code = gap_add(writer, vaddr, vaddr + (next - pos), reason, fp_refuted);
		pos = next;
	}
	return code;
}

static int write_all(struct writer *writer)
{
	const struct synth_graph *graph = writer->graph;
	size_t nr_holes = graph->input->nr_holes, i = 0;
	int code = 0;

	for (size_t hole = 0; hole < nr_holes && code == 0; hole++) {
		uint32_t at = graph->bases[hole], end = graph->bases[hole + 1];

		for (; i < writer->rows->nr && writer->rows->list[i].pos < end && code == 0; i++) {
			const struct synth_row *row = &writer->rows->list[i];

			code = explain(writer, at, row->pos);
			if (code == 0)
				code = row_put(writer, row);
			at = row->end;
		}
		if (code == 0)
			code = explain(writer, at, end);
	}
	return code;
}

static void cleanup_rows(struct synth_rows *rows)
{
	free(rows->list);
	free(rows->needed);
}

int synth_analyse(const struct synth_input *input, struct budget *budget, struct synth_result *ret,
		  struct fpl_err *err)
{
	CLEANUP(synth_graph_fini) struct synth_graph graph = { 0 };
	CLEANUP(cleanup_rows) struct synth_rows rows = { 0 };
	struct writer writer = { .graph = &graph, .rows = &rows, .result = ret, .err = err };

	memset(ret, 0, sizeof(*ret));

	int code = synth_graph_make(&graph, input, budget, err);

	if (code == 0)
		code = synth_flow(&graph, &rows, err);
	if (code)
		return code;
	ret->hole_bytes = graph.nr_bytes;
	ret->instructions = graph.nr_ops;
	ret->label_probes = graph.label_probes;
	if (rows.nr)
		qsort(rows.list, rows.nr, sizeof(*rows.list), by_pos);
	return write_all(&writer);
}

void synth_result_fini(struct synth_result *result)
{
	free(result->rows);
	free(result->gaps);
	*result = (struct synth_result){ 0 };
}
