/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/headline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"

/* Functions that are named in a line, and how long a name gets. */
enum { NR_NAMED = 3, NAME_BYTES = 48 };

static struct diff_change change_of(const struct difference *difference, uint32_t item,
				    enum difference_order order)
{
	const struct diff_function function = difference_function(difference, item);

	return order == DIFFERENCE_BY_SELF ? function.self : function.total;
}

static void write_name(FILE *to, const char *name)
{
	size_t length = 0;

	while (name[length] && length < NAME_BYTES) {
		size_t size = text_utf8_length(name + length);

		length += size ? size : 1;
	}
	fprintf(to, "%.*s%s", (int)length, name, name[length] ? "..." : "");
}

/* Lists changes beyond noise and a limit: all, without one. */
struct listing {
	const struct difference *difference;
	const struct growth_limit *limit; /* NULL: without */
	FILE *to;
	size_t nr;
};

/* In per cent of itself before. */
static double own_growth(const struct diff_change *change)
{
	return change->before > 0   ? 100 * change->change / change->before
	       : change->change > 0 ? INFINITY
				    : 0;
}

static bool is_beyond(const struct listing *listing, const struct diff_change *change)
{
	const struct growth_limit *limit = listing->limit;

	if (change->verdict == DIFF_NOISE)
		return false;
	return !limit || 100 * listing->difference->unit * change->change >= limit->of_whole ||
	       (isfinite(limit->of_itself) && own_growth(change) >= limit->of_itself);
}

static void list_change(struct listing *listing, const char *name, const struct diff_change *change)
{
	double percent = 100 * listing->difference->unit * change->change;

	if (!is_beyond(listing, change) || listing->nr++ >= NR_NAMED)
		return;
	fputs(listing->nr > 1 ? ", " : "", listing->to);
	write_name(listing->to, name);
	fprintf(listing->to, " %+.2f%s", percent, listing->limit ? " %" : "");
	if (change->verdict != DIFF_REAL)
		fprintf(listing->to, " (%s)", diff_verdict_key(change->verdict));
	else if (listing->limit && isfinite(listing->limit->of_itself))
		fprintf(listing->to, " (by %.0f %% of itself)", own_growth(change));
}

static void list_functions(struct listing *listing, enum difference_order order)
{
	CLEANUP(difference_list_fini) struct difference_list list;
	const struct pairing *pairing = listing->difference->pairing;

	difference_list_make(listing->difference, order, SIZE_MAX, true, &list);
	for (size_t i = 0; i < list.nr; i++) {
		const struct diff_change change =
			change_of(listing->difference, list.list[i], order);

		if (change.verdict == DIFF_NOISE) /* the real ones come first */
			break;
		list_change(listing, pairing_text(pairing, pairing->items.list[list.list[i]].text),
			    &change);
	}
}

static void end_list(const struct listing *listing)
{
	if (listing->nr > NR_NAMED)
		fprintf(listing->to, " and %zu more", listing->nr - NR_NAMED);
}

double headline_bound(const struct difference *difference)
{
	double most = 0;

	for (size_t i = 0; i < difference->nr_functions; i++) {
		const struct diff_change change =
			change_of(difference, difference->functions[i], DIFFERENCE_BY_SELF);
		double beyond = fabs(change.change) + change.interval;

		if ((change.before > 0 || change.after > 0) && beyond > most)
			most = beyond;
	}
	return 100 * difference->unit * most;
}

/* "of the CPU time before" */
static void write_unit(FILE *to, const struct difference *difference, const char *counted)
{
	fprintf(to, "of the %s %s", difference_unit(difference, counted),
		difference->pairing->options.shares ? "of a side"
		: difference->whole.before > 0	    ? "before"
						    : "after");
}

static void write_changed(FILE *to, const struct difference *difference,
			  enum difference_order order, size_t nr, const char *counted)
{
	struct listing listing = { .difference = difference, .to = to };

	if (order == DIFFERENCE_BY_TOTAL)
		fputs("no function changed by itself, ", to);
	fprintf(to, "%zu%s changed%s: ", nr,
		order == DIFFERENCE_BY_TOTAL ? ""
		: nr == 1		     ? " function"
					     : " functions",
		order == DIFFERENCE_BY_TOTAL ? " with what they call" : "");
	list_functions(&listing, order);
	end_list(&listing);
	fputs(" (in % ", to);
	write_unit(to, difference, counted);
	putc(')', to);
}

char *headline_make(const struct difference *difference, const char *counted)
{
	char *text;
	size_t size, self, total;
	FILE *to = must_memstream(&text, &size);
	double bound = headline_bound(difference);

	difference_count_real(difference, &self, &total);
	if (self) {
		write_changed(to, difference, DIFFERENCE_BY_SELF, self, counted);
	} else if (total) {
		write_changed(to, difference, DIFFERENCE_BY_TOTAL, total, counted);
	} else if (isfinite(bound)) {
		fprintf(to, "no function changed by more than %.2f %% ", bound);
		write_unit(to, difference, counted);
	} else {
		fputs("no function is known to have changed", to);
	}
	must_memstream_close(to);
	return text;
}

char *headline_beyond(const struct difference *difference, const struct growth_limit *limit)
{
	char *text;
	size_t size;
	struct listing listing = {
		.difference = difference,
		.limit = limit,
		.to = must_memstream(&text, &size),
	};

	if (difference->whole_judged)
		list_change(&listing, "the whole", &difference->whole);
	list_functions(&listing, DIFFERENCE_BY_SELF);
	if (!listing.nr)
		list_functions(&listing, DIFFERENCE_BY_TOTAL);
	end_list(&listing);
	must_memstream_close(listing.to);
	if (listing.nr)
		return text;
	free(text);
	return NULL;
}
