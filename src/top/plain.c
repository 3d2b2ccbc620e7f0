/* SPDX-License-Identifier: Apache-2.0 */
#include "top/plain.h"

#include <inttypes.h>
#include <time.h>

#include "base/text.h"
#include "recording/keys.h"
#include "view/share.h"

static const char *const views[TABLE_VIEW_COUNT] = {
#define X(name, word) [TABLE_VIEW_##name] = (word),
	TABLE_VIEW_LIST(X)
#undef X
};

static void write_time(FILE *to, uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / 1000000000);
	char text[32] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	fprintf(to, "%s.%03uZ", text, (unsigned)(unix_ns / 1000000 % 1000));
}

static void write_head(FILE *to, const struct plain_block *block, const struct table_query *query,
		       const struct table *table)
{
	const struct engine_look *look = block->look, *before = block->before;

	fprintf(to, "top %u time=", block->number);
	write_time(to, look->unix_ns);
	fprintf(to,
		" seconds=%.3f samples=%" PRIu64 " fired=%" PRIu64 " idle=%" PRIu64
		" filtered=%" PRIu64 " lost=%" PRIu64 " view=%s",
		(double)block->length_ns / 1e9, table->samples, look->fired - before->fired,
		look->idle - before->idle, look->filtered - before->filtered,
		look->lost - before->lost, views[query->view]);
	if (block->event)
		fprintf(to, " event=%s", block->event);
	if (block->measure->weight) {
		char safe[4 * sizeof(block->measure->noun)];

		text_escape(safe, sizeof(safe), block->measure->type, " ");
		fprintf(to, " weight=%" PRIu64 " type=%s unit=%s", table->sum, safe,
			block->measure->unit);
	}
	for (uint8_t i = RECORDING_STATE_ON_CPU; query->by_state && i < RECORDING_STATE_COUNT; i++)
		fprintf(to, " %s=%" PRIu64, state_key(i), table->states[i]);
	putc('\n', to);
}

static void write_function(FILE *to, const struct model *model, const struct table_row *row)
{
	fprintf(to, "%s\t%s", model_place(model, row->index), model_function(model, row->index));
}

static void write_stack(FILE *to, const struct model *model, const struct table_query *query,
			const struct table_row *row)
{
	uint32_t nr;
	const uint32_t *list = model_functions(model, row->index, query->kernel, &nr);

	fprintf(to, "%s\t", model_comm(model, row->index));
	for (uint32_t i = 0; i < nr; i++)
		fprintf(to, "%s%s", i ? ";" : "", model_function(model, list[i]));
}

static void write_row(FILE *to, const struct model *model, const struct table_query *query,
		      const struct table *table, const struct table_row *row)
{
	fprintf(to, "%7.2f\t%7.2f\t%8" PRIu64 "\t%8" PRIu64 "\t",
		share_percent(row->self, table->sum), share_percent(row->total, table->sum),
		row->self, row->total);
	if (row->kind == TABLE_ROW_FUNCTION)
		write_function(to, model, row);
	else if (row->kind == TABLE_ROW_STACK)
		write_stack(to, model, query, row);
	else
		fprintf(to, "%u\t%s", model->recording->stacks[row->index].pid,
			model_comm(model, row->index));
	if (query->by_state)
		fprintf(to, "\t%s", state_key(row->state));
	putc('\n', to);
}

void plain_write(FILE *to, const struct plain_block *block, const struct model *model,
		 const struct table_query *query, const struct table *table)
{
	static const char *const columns[TABLE_VIEW_COUNT] = {
		[TABLE_VIEW_FUNCTIONS] = "OBJECT\tFUNCTION",
		[TABLE_VIEW_STACKS] = "TASK\tSTACK",
		[TABLE_VIEW_PROCESSES] = "PID\tCOMMAND",
		[TABLE_VIEW_NEIGHBOURS] = "OBJECT\tFUNCTION",
		[TABLE_VIEW_FRAMES] = "OBJECT\tFUNCTION",
	};

	write_head(to, block, query, table);
	fprintf(to, "  SELF%%\t TOTAL%%\t    SELF\t   TOTAL\t%s%s\n", columns[query->view],
		query->by_state ? "\tSTATE" : "");
	for (size_t i = 0; i < table->nr && i < block->max_rows; i++) {
		if (table->list[i].kind != TABLE_ROW_HEADING)
			write_row(to, model, query, table, &table->list[i]);
	}
	putc('\n', to);
}
