/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/status_line.h"
#include "recording/keys.h"
#include "view/share.h"

#define PERIOD_MS 1000u

/* How a stack's samples are counted. */
enum { STACK_OTHER, STACK_JUDGED, STACK_COMPLETE };

struct progress {
	struct engine_listener listener;
	_Atomic uint32_t look_ms;
	uint64_t duration_ms;
	const char *event; /* as progress_facts */
	bool user;
	uint8_t *stacks; /* owned [nr] */
	size_t nr, room;
	struct progress_facts facts; /* what was shown last */
	struct status_line line;
};

void progress_text(const struct progress_facts *facts, char *buf, size_t size)
{
	char of[32] = "", complete[32] = "", tables[64] = "";

	if (facts->duration_ms)
		snprintf(of, sizeof(of), " of %g s", (double)facts->duration_ms / 1000);
	if (facts->judged)
		snprintf(complete, sizeof(complete), "  %.1f %% complete",
			 share_whole_percent(facts->complete, facts->judged));
	if (facts->nr_tables_made < facts->nr_tables)
		snprintf(tables, sizeof(tables), "  tables: %zu of %zu files",
			 facts->nr_tables_made, facts->nr_tables);
	snprintf(buf, size, "%.0f s%s  %" PRIu64 " samples%s%s%s  lost %" PRIu64 "%s",
		 (double)facts->sampled_ns / 1e9, of, facts->samples, facts->event ? " of " : "",
		 facts->event ? facts->event : "", complete, facts->lost, tables);
}

/* engine_listener.stack */
static void take_stack(void *ctx, const struct profile_stack *stack)
{
	struct progress *progress = ctx;
	uint8_t class = STACK_OTHER;

	if (array_reserve(&progress->stacks, sizeof(*progress->stacks), &progress->room,
			  progress->nr + 1))
		return; /* and nothing more is said of what is complete */
	if (progress->user && !(stack->flags & FPL_SAMPLE_KTHREAD) && stop_is_judged(stack->stop))
		class = stack->stop == FPL_STOP_OUTERMOST ? STACK_COMPLETE : STACK_JUDGED;
	progress->stacks[progress->nr++] = class;
}

static void draw(struct progress *progress)
{
	char text[256];

	progress_text(&progress->facts, text, sizeof(text));
	status_line_draw(&progress->line, text);
}

/* engine_listener.tables */
static void take_tables(void *ctx, size_t nr_made, size_t nr)
{
	struct progress *progress = ctx;

	progress->facts.nr_tables_made = nr_made;
	progress->facts.nr_tables = nr;
	draw(progress);
}

/* engine_listener.look */
static void take_look(void *ctx, const struct engine_look *look)
{
	struct progress *progress = ctx;
	struct progress_facts facts = {
		.sampled_ns = look->sampled_ns,
		.duration_ms = progress->duration_ms,
		.event = progress->event,
		.lost = look->lost,
		.nr_tables_made = look->nr_tables_made,
		.nr_tables = look->nr_tables,
	};

	if (look->last)
		return;
	for (uint32_t i = 0; i < look->nr_stacks; i++) {
		unsigned class =
			progress->nr == look->nr_stacks ? progress->stacks[i] : STACK_OTHER;

		facts.samples += look->counts[i];
		facts.judged += class != STACK_OTHER ? look->counts[i] : 0;
		facts.complete += class == STACK_COMPLETE ? look->counts[i] : 0;
	}
	progress->facts = facts;
	draw(progress);
}

struct progress *progress_create(uint64_t duration_ms, const char *event, bool user,
				 bool beside_command)
{
	struct progress *progress = calloc(1, sizeof(*progress));

	if (!progress)
		return NULL;
	progress->duration_ms = duration_ms;
	progress->event = progress->facts.event = event;
	progress->user = user;
	atomic_init(&progress->look_ms, PERIOD_MS);
	progress->listener = (struct engine_listener){
		.stack = take_stack,
		.look = take_look,
		.tables = take_tables,
		.look_ms = &progress->look_ms,
		.ctx = progress,
		.stop_fd = -1,
	};
	status_line_init(&progress->line, beside_command);
	return progress;
}

const struct engine_listener *progress_listener(const struct progress *progress)
{
	return &progress->listener;
}

void progress_destroy(struct progress *progress)
{
	if (!progress)
		return;
	status_line_fini(&progress->line);
	free(progress->stacks);
	free(progress);
}
