/* SPDX-License-Identifier: Apache-2.0 */
/* From holes to blocks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/synth/explore.h"
#include "unwind/zeroed.h"

static bool begins_block(uint8_t byte)
{
	return (byte & (BYTE_START | BYTE_LEADER)) == (BYTE_START | BYTE_LEADER);
}

/* Number the blocks. */
static int cut(struct synth_graph *graph, struct fpl_err *err)
{
	size_t nr = 0;

	for (uint32_t pos = 1; pos <= graph->nr_bytes; pos++)
		nr += begins_block(graph->bytes[pos]);

	int code = budget_memory(
		graph->budget, nr * sizeof(*graph->blocks) + graph->nr_ops * (sizeof(uint32_t) + 2),
		err);

	if (code)
		return code;
	graph->blocks = calloc(nr + 1, sizeof(*graph->blocks));
	graph->block_of = calloc(graph->nr_ops + 1, sizeof(*graph->block_of));
	graph->reasons = malloc(graph->nr_ops + 1);
	graph->fp_refuted = calloc(graph->nr_ops + 1, sizeof(*graph->fp_refuted));
	if (!graph->blocks || !graph->block_of || !graph->reasons || !graph->fp_refuted)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", graph->budget->name);
	memset(graph->reasons, SYNTH_REASON_NO_ENTRY, graph->nr_ops + 1);
	for (uint32_t pos = 1; pos <= graph->nr_bytes; pos++) {
		if (!begins_block(graph->bytes[pos]))
			continue;
		graph->blocks[graph->nr_blocks++] = (struct synth_block){ .pos = pos };
		graph->block_of[graph->index[pos] - 1] = (uint32_t)graph->nr_blocks;
	}
	return 0;
}

static bool ends_block(uint8_t kind)
{
	return kind >= OP_CALL;
}

/* Find the last instruction of each block. */
static void measure(struct synth_graph *graph)
{
	for (size_t i = 0; i < graph->nr_blocks; i++) {
		uint32_t pos = graph->blocks[i].pos, next = pos;

		do {
			pos = next;
			next = synth_graph_next(graph, pos);
		} while (next && !ends_block(synth_graph_op(graph, pos)->kind) &&
			 synth_graph_op(graph, next) && !synth_graph_block(graph, next));
		graph->blocks[i].last = pos;
	}
}

/* Two instructions that share bytes cannot both be real: neither is trusted. */
static void find_overlaps(struct synth_graph *graph)
{
	uint32_t pos = 1;

	while (pos <= graph->nr_bytes) {
		uint32_t op = graph->index[pos], size;

		if (!op) {
			pos++;
			continue;
		}
		size = graph->ops[op - 1].size;
		for (uint32_t i = 1; i < size && pos + i <= graph->nr_bytes; i++) {
			if (!graph->index[pos + i])
				continue;
			graph->reasons[op - 1] = SYNTH_REASON_OVERLAP;
			graph->reasons[graph->index[pos + i] - 1] = SYNTH_REASON_OVERLAP;
		}
		pos++;
	}
}

static int lay_out(struct synth_graph *graph, struct fpl_err *err)
{
	const struct synth_input *input = graph->input;
	uint64_t total = 0;

	graph->bases = calloc(input->nr_holes + 1, sizeof(*graph->bases));
	if (!graph->bases)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", graph->budget->name);
	for (size_t i = 0; i < input->nr_holes; i++) {
		graph->bases[i] = (uint32_t)total + 1;
		total += input->holes[i].size;
		if (total > SYNTH_BYTES_MAX)
			return fpl_fail(err, -EFBIG, "%s: more than %u MiB of code without CFI",
					graph->budget->name, SYNTH_BYTES_MAX >> 20);
	}
	graph->bases[input->nr_holes] = (uint32_t)total + 1;
	graph->nr_bytes = (uint32_t)total;

	int code = budget_memory(graph->budget, (total + 1) * (sizeof(uint32_t) + 1), err);

	if (code)
		return code;
	graph->index = zeroed_alloc_dense((total + 1) * sizeof(*graph->index));
	graph->bytes = zeroed_alloc_dense(total + 1);
	graph->decoder = synth_decoder_create();
	if (!graph->index || !graph->bytes || !graph->decoder)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", graph->budget->name);
	for (size_t i = 0; i < input->nr_holes; i++)
		graph->bytes[graph->bases[i]] |= BYTE_FIRST;
	return 0;
}

int synth_graph_make(struct synth_graph *graph, const struct synth_input *input,
		     struct budget *budget, struct fpl_err *err)
{
	*graph = (struct synth_graph){ .input = input, .budget = budget };

	int code = lay_out(graph, err);

	if (code == 0)
		code = synth_explore(graph, err);
	if (code == 0)
		code = cut(graph, err);
	if (code)
		return code;
	if (graph->has_overlaps)
		find_overlaps(graph);
	measure(graph);
	return 0;
}
