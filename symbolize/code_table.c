/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/code_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/sorted.h"

void code_table_init(struct code_table *table, size_t max_bytes)
{
	*table = (struct code_table){ .max_bytes = max_bytes };
}

void code_table_fini(struct code_table *table)
{
	free(table->entries);
	free(table->names);
	free(table->lines);
	free(table->segments);
	id_table_fini(&table->texts);
	*table = (struct code_table){ .max_bytes = table->max_bytes };
}

size_t code_table_bytes(const struct code_table *table)
{
	return table->room * sizeof(*table->entries) + table->names_room +
	       table->lines_room * sizeof(*table->lines) +
	       table->nr_segments * sizeof(*table->segments);
}

/* How much there may be of each part. */
struct amounts {
	size_t nr, nr_lines, names_size;
};

/* Does a table of so much fit when arranged? */
static bool fits(const struct code_table *table, const struct amounts *amounts)
{
	size_t left = table->max_bytes;

	if (amounts->nr >= UINT32_MAX || amounts->names_size >= CODE_NO_NAME ||
	    amounts->names_size > left)
		return false;
	left -= amounts->names_size;
	if (amounts->nr_lines > left / sizeof(*table->lines))
		return false;
	left -= amounts->nr_lines * sizeof(*table->lines);
	return amounts->nr <= left / CODE_ENTRY_CHARGE;
}

/*
 * Make room in *@list, which has *@room of @amounts for entries of @size bytes, for @wanted of
 * them: for half as many more, at least @spare, where that fits.
 */
static int grow(const struct code_table *table, void *list, size_t size, size_t wanted,
		size_t spare, struct amounts *amounts, size_t *room)
{
	void **to = list;
	size_t more = *room + *room / 2;

	if (wanted <= *room)
		return 0;
	*room = more > wanted + spare ? more : wanted + spare;
	if (!fits(table, amounts))
		*room = wanted;

	void *grown = reallocarray(*to, *room, size);

	if (!grown)
		return -ENOMEM;
	*to = grown;
	return 0;
}

/* Make room for @nr more entries, @nr_lines more lines and @name_size more bytes of names. Rooms
 * are within the budget, too, so these arrays do not grow by array_reserve(). */
static int reserve(struct code_table *table, size_t nr, size_t nr_lines, size_t name_size)
{
	const struct amounts wanted = { table->nr + nr, table->nr_lines + nr_lines,
					table->names_size + name_size };
	struct amounts rooms = { table->room, table->lines_room, table->names_room };
	int code = fits(table, &wanted) ? 0 : -ENOSPC;

	if (!code)
		code = grow(table, &table->entries, sizeof(*table->entries), wanted.nr, 63, &rooms,
			    &rooms.nr);
	if (!code) {
		table->room = rooms.nr;
		code = grow(table, &table->lines, sizeof(*table->lines), wanted.nr_lines, 63,
			    &rooms, &rooms.nr_lines);
	}
	if (!code) {
		table->lines_room = rooms.nr_lines;
		code = grow(table, &table->names, 1, wanted.names_size, 4096, &rooms,
			    &rooms.names_size);
	}
	if (!code)
		table->names_room = rooms.names_size;
	return code;
}

int code_table_add(struct code_table *table, uint64_t start, uint64_t size, uint64_t from_ns,
		   const char *name, size_t name_size)
{
	uint64_t end;
	size_t kept = name_size < CODE_NAME_MAX ? name_size : CODE_NAME_MAX;

	if (size == 0 || __builtin_add_overflow(start, size, &end))
		return -EINVAL;

	int code = reserve(table, 1, 0, name ? kept + 1 : 0);

	if (code)
		return code;
	table->entries[table->nr] = (struct code_entry){
		.start = start,
		.end = end,
		.from_ns = from_ns,
		.function = start,
		.name_off = name ? (uint32_t)table->names_size : CODE_NO_NAME,
		.seq = (uint32_t)table->nr,
	};
	table->nr++;
	if (name) {
		memcpy(table->names + table->names_size, name, kept);
		table->names[table->names_size + kept] = '\0';
		table->names_size += kept + 1;
	}
	if (size > table->longest)
		table->longest = size;
	return 0;
}

/* The place in names of @text, cut off, which is added at first sight. NULL: CODE_NO_NAME. */
static int intern(struct code_table *table, const char *text, uint32_t *ret)
{
	size_t size = text ? strnlen(text, CODE_NAME_MAX) : 0;
	uint64_t hash = id_table_hash(0, text ? text : "", size);

	*ret = CODE_NO_NAME;
	if (!text)
		return 0;
	*ret = ID_TABLE_FIND(&table->texts, hash, off,
			     !strncmp(table->names + off, text, size) && !table->names[off + size]);
	if (*ret != ID_TABLE_NONE)
		return 0;

	int code = reserve(table, 0, 0, size + 1);

	if (!code)
		code = id_table_add(&table->texts, hash, (uint32_t)table->names_size);
	if (code)
		return code;
	*ret = (uint32_t)table->names_size;
	memcpy(table->names + table->names_size, text, size);
	table->names[table->names_size + size] = '\0';
	table->names_size += size + 1;
	return 0;
}

int code_table_add_lines(struct code_table *table, uint64_t addr, uint64_t function,
			 uint64_t from_ns, const struct symbol_line *lines, size_t nr_lines)
{
	struct code_line added[SYMBOL_LINES_MAX];
	int code = 0;

	if (!nr_lines || nr_lines > SYMBOL_LINES_MAX || function > addr || addr == UINT64_MAX)
		return -EINVAL;
	for (size_t i = 0; !code && i < nr_lines; i++) {
		if (!lines[i].name)
			return -EINVAL;
		added[i].line = lines[i].line;
		code = intern(table, lines[i].name, &added[i].name_off);
		if (!code)
			code = intern(table, lines[i].file, &added[i].file_off);
	}
	if (!code)
		code = reserve(table, 1, nr_lines, 0);
	if (code)
		return code;
	table->entries[table->nr] = (struct code_entry){
		.start = addr,
		.end = addr + 1,
		.from_ns = from_ns,
		.function = function,
		.name_off = added[nr_lines - 1].name_off,
		.seq = (uint32_t)table->nr,
		.first_line = (uint32_t)table->nr_lines,
		.nr_lines = (uint32_t)nr_lines,
	};
	table->nr++;
	memcpy(table->lines + table->nr_lines, added, nr_lines * sizeof(*added));
	table->nr_lines += nr_lines;
	if (!table->longest)
		table->longest = 1;
	return 0;
}

struct symbol_line code_lines_at(const struct code_lines *lines, size_t idx)
{
	const struct code_table *table = lines->table;
	const struct code_line *line = &table->lines[lines->first + idx];

	return (struct symbol_line){
		.name = table->names + line->name_off,
		.file = line->file_off == CODE_NO_NAME ? NULL : table->names + line->file_off,
		.line = line->line,
	};
}

struct code_lines code_table_lines(const struct code_table *table, const struct code_entry *entry)
{
	return (struct code_lines){ table, entry->first_line, entry->nr_lines };
}

const char *code_table_last_at(const struct code_table *table, uint64_t start, uint64_t *steps)
{
	for (size_t i = table->nr; i-- > 0 && *steps > 0;) {
		const struct code_entry *entry = &table->entries[i];

		--*steps;
		if (entry->start == start)
			return entry->name_off == CODE_NO_NAME ? NULL
							       : table->names + entry->name_off;
	}
	return NULL;
}

static int compare_entries(const void *left, const void *right)
{
	const struct code_entry *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

/* Indexes of entries, the one added last on top. */
struct heap {
	const struct code_entry *entries;
	uint32_t *places; /* owned [nr] */
	size_t nr;
};

static bool above(const struct heap *heap, size_t a, size_t b)
{
	return heap->entries[heap->places[a]].seq > heap->entries[heap->places[b]].seq;
}

static void swap_places(struct heap *heap, size_t a, size_t b)
{
	uint32_t kept = heap->places[a];

	heap->places[a] = heap->places[b];
	heap->places[b] = kept;
}

static void heap_push(struct heap *heap, uint32_t entry)
{
	size_t at = heap->nr++;

	heap->places[at] = entry;
	for (; at > 0 && above(heap, at, (at - 1) / 2); at = (at - 1) / 2)
		swap_places(heap, at, (at - 1) / 2);
}

static void heap_pop(struct heap *heap)
{
	size_t at = 0;

	heap->places[0] = heap->places[--heap->nr];
	for (;;) {
		size_t top = at, child = 2 * at + 1;

		if (child < heap->nr && above(heap, child, top))
			top = child;
		if (child + 1 < heap->nr && above(heap, child + 1, top))
			top = child + 1;
		if (top == at)
			return;
		swap_places(heap, at, top);
		at = top;
	}
}

static void add_segment(struct code_table *table, uint64_t start, uint64_t end, uint32_t entry)
{
	struct code_segment *last =
		table->nr_segments ? &table->segments[table->nr_segments - 1] : NULL;

	if (last && last->entry == entry && last->end == start)
		last->end = end;
	else
		table->segments[table->nr_segments++] =
			(struct code_segment){ .start = start, .end = end, .entry = entry };
}

/*
 * Sweep over the addresses: from each place where an entry begins, or the one on top ends, to the
 * next such place the entry added last among those that cover it is the answer. So there are at
 * most 2 * nr segments.
 */
static void sweep(struct code_table *table, struct heap *heap)
{
	const struct code_entry *entries = table->entries;
	uint64_t pos = 0;
	size_t next = 0;

	while (heap->nr || next < table->nr) {
		if (!heap->nr)
			pos = entries[next].start;
		while (next < table->nr && entries[next].start <= pos)
			heap_push(heap, (uint32_t)next++);
		while (heap->nr && entries[heap->places[0]].end <= pos)
			heap_pop(heap);
		if (!heap->nr)
			continue;

		uint64_t end = entries[heap->places[0]].end;

		if (next < table->nr && entries[next].start < end)
			end = entries[next].start;
		add_segment(table, pos, end, heap->places[0]);
		pos = end;
	}
}

int code_table_arrange(struct code_table *table)
{
	size_t room = 2 * table->nr + 1;
	AUTO_FREE uint32_t *places = malloc((table->nr + 1) * sizeof(*places));
	struct code_segment *segments = malloc(room * sizeof(*segments));
	struct heap heap = { .places = places };

	if (!places || !segments) {
		free(segments);
		return -ENOMEM;
	}
	if (table->nr)
		qsort(table->entries, table->nr, sizeof(*table->entries), compare_entries);
	free(table->segments);
	table->segments = segments;
	table->nr_segments = 0;
	heap.entries = table->entries;
	sweep(table, &heap);
	id_table_fini(&table->texts);
	array_trim(&table->entries, sizeof(*table->entries), &table->room, table->nr);
	array_trim(&table->lines, sizeof(*table->lines), &table->lines_room, table->nr_lines);
	array_trim(&table->names, 1, &table->names_room, table->names_size);
	array_trim(&table->segments, sizeof(*segments), &room, table->nr_segments);
	return 0;
}

/* Every text in @names ends, and none is longer than names are. */
static bool names_are_sound(const char *names, size_t size)
{
	for (size_t at = 0; at < size;) {
		size_t left = size - at;
		const char *end = memchr(names + at, '\0',
					 left < CODE_NAME_MAX + 1 ? left : CODE_NAME_MAX + 1);

		if (!end)
			return false;
		at = (size_t)(end - names) + 1;
	}
	return true;
}

static bool entries_are_sound(const struct code_table *table)
{
	for (size_t i = 0; i < table->nr; i++) {
		const struct code_entry *entry = &table->entries[i];

		if (entry->end <= entry->start || entry->function > entry->start ||
		    entry->nr_lines > SYMBOL_LINES_MAX || entry->first_line > table->nr_lines ||
		    entry->nr_lines > table->nr_lines - entry->first_line ||
		    (entry->name_off != CODE_NO_NAME && entry->name_off >= table->names_size) ||
		    (i && compare_entries(entry - 1, entry) >= 0))
			return false;
	}
	return true;
}

static bool lines_are_sound(const struct code_table *table)
{
	for (size_t i = 0; i < table->nr_lines; i++) {
		const struct code_line *line = &table->lines[i];

		if (line->name_off >= table->names_size ||
		    (line->file_off != CODE_NO_NAME && line->file_off >= table->names_size))
			return false;
	}
	return true;
}

static bool segments_are_sound(const struct code_table *table)
{
	uint64_t end = 0;

	for (size_t i = 0; i < table->nr_segments; i++) {
		const struct code_segment *segment = &table->segments[i];

		if (segment->start < end || segment->end <= segment->start ||
		    segment->entry >= table->nr ||
		    segment->start < table->entries[segment->entry].start ||
		    segment->end > table->entries[segment->entry].end)
			return false;
		end = segment->end;
	}
	return true;
}

bool code_table_check(struct code_table *table)
{
	const struct amounts amounts = { table->nr, table->nr_lines, table->names_size };

	if (!fits(table, &amounts) || table->nr_segments > 2 * table->nr ||
	    !names_are_sound(table->names, table->names_size) || !entries_are_sound(table) ||
	    !lines_are_sound(table) || !segments_are_sound(table))
		return false;
	table->longest = 0;
	for (size_t i = 0; i < table->nr; i++) {
		const struct code_entry *entry = &table->entries[i];

		if (entry->end - entry->start > table->longest)
			table->longest = entry->end - entry->start;
	}
	return true;
}

static const struct code_segment *find_segment(const struct code_table *table, uint64_t addr)
{
	size_t lo = SORTED_UP_TO(table->segments, end, table->nr_segments, addr);

	return lo < table->nr_segments && table->segments[lo].start <= addr ? &table->segments[lo]
									    : NULL;
}

/*
 * The last entry that covers @addr of a time up to @time_ns; if all are later, the first one:
 * code may run a moment before it is written down. NULL: no entry was met.
 */
static const struct code_entry *find_at_time(const struct code_table *table, uint64_t addr,
					     uint64_t time_ns)
{
	const struct code_entry *found = NULL, *first = NULL;
	size_t lo = SORTED_UP_TO(table->entries, start, table->nr, addr);

	for (size_t nr = 0; lo > 0 && nr < CODE_SCAN_MAX; nr++) {
		const struct code_entry *entry = &table->entries[--lo];

		if (addr - entry->start >= table->longest)
			break;
		if (addr >= entry->end)
			continue;
		if (entry->from_ns <= time_ns && (!found || entry->seq > found->seq))
			found = entry;
		if (!first || entry->seq < first->seq)
			first = entry;
	}
	return found ? found : first;
}

bool code_table_find(const struct code_table *table, uint64_t addr, uint64_t time_ns,
		     struct code_match *ret)
{
	const struct code_segment *segment = find_segment(table, addr);

	if (!segment)
		return false;

	const struct code_entry *entry = &table->entries[segment->entry];
	const struct code_entry *last = entry;

	if (last->from_ns > time_ns)
		entry = find_at_time(table, addr, time_ns);
	if (!entry)
		entry = last;
	if (entry->name_off == CODE_NO_NAME)
		return false;
	*ret = (struct code_match){
		.name = table->names + entry->name_off,
		.start = entry->function,
		.was_replaced = entry != last,
		.lines = code_table_lines(table, entry),
	};
	return true;
}
