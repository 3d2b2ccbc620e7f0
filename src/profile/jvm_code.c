/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/jvm_code.h"

#include <errno.h>
#include <string.h>

#include "base/sorted.h"
#include "jit/hotspot.h"
#include "profile/frame.h"

static void forget_met(struct jvm_code *code)
{
	vector_fini(&code->met);
	vector_fini(&code->news);
	id_table_fini(&code->ids);
}

void jvm_code_fini(struct jvm_code *code)
{
	forget_met(code);
	vector_fini(&code->last);
	code_table_fini(&code->all);
}

static void note(struct jvm_code *code, uint32_t at)
{
	struct jvm_met *met = &code->met.list[at];

	if (!met->is_new)
		met->is_new = !vector_push(&code->news, at);
}

static void meet(struct jvm_code *code, uint64_t asked)
{
	uint64_t hash = id_table_hash(0, &asked, sizeof(asked));
	uint32_t at = ID_TABLE_FIND(&code->ids, hash, i, code->met.list[i].asked == asked);

	if (at == ID_TABLE_NONE) {
		at = (uint32_t)code->met.nr;
		if (at >= JVM_MET_MAX || vector_reserve(&code->met, code->met.nr + 1) ||
		    id_table_add(&code->ids, hash, at))
			return;
		code->met.list[code->met.nr++] = (struct jvm_met){ .asked = asked };
	}
	note(code, at);
}

void jvm_code_meet(struct jvm_code *code, const uint64_t *frames, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		bool is_leaf = frame_is_exact(frames[i]);

		if (fpl_frame_is_method(frames[i]))
			meet(code, hotspot_asked(frame_code_addr(frames[i]), HOTSPOT_ASKED_METHOD));
		else if (fpl_frame_is_jit(frames[i]))
			meet(code, hotspot_asked(frame_code_addr(frames[i]) - !is_leaf,
						 is_leaf ? HOTSPOT_ASKED_LEAF : 0));
	}
}

size_t jvm_code_ask(struct jvm_code *code, uint64_t *ret, uint32_t *ret_met, size_t max)
{
	size_t nr = code->news.nr < max ? code->news.nr : max;

	for (size_t i = 0; i < nr; i++) {
		struct jvm_met *met = &code->met.list[code->news.list[i]];

		met->is_new = false;
		ret[i] = met->asked | (met->function ? 0 : HOTSPOT_ASKED_LINES);
		ret_met[i] = code->news.list[i];
	}
	code->news.nr -= nr;
	if (code->news.nr)
		memmove(code->news.list, code->news.list + nr,
			code->news.nr * sizeof(*code->news.list));
	return nr;
}

static const char *name_of(const struct code_table *table, const struct code_entry *entry)
{
	return entry->name_off == CODE_NO_NAME ? "" : table->names + entry->name_off;
}

/* The functions that are known, while those of an answer are put among them. */
struct merging {
	struct jvm_code *code;
	VECTOR(struct jvm_function) next; /* with room for all */
	size_t at;			  /* those of the last reading before it are there */
};

static void keep_up_to(struct merging *merging, uint64_t addr)
{
	while (merging->at < merging->code->last.nr &&
	       merging->code->last.list[merging->at].end <= addr)
		merging->next.list[merging->next.nr++] = merging->code->last.list[merging->at++];
}

/* Put the function @entry of @table there: what it overlaps with is gone. */
static int add_function(struct merging *merging, const struct code_table *table,
			const struct code_entry *entry, size_t *ret_nr)
{
	struct jvm_code *code = merging->code;
	const char *name = name_of(table, entry);
	struct jvm_function function = { .start = entry->start,
					 .end = entry->end,
					 .from_ns = code->read_ns,
					 .seen_ns = code->seen_ns };
	bool is_known = false;
	int rc = 0;

	keep_up_to(merging, entry->start);
	for (size_t i = merging->at; i < code->last.nr && code->last.list[i].start < entry->end;
	     i++)
		if (code->last.list[i].gone_ns)
			return 0; /* it is not known since when this is there instead */
	for (; merging->at < code->last.nr && code->last.list[merging->at].start < entry->end;
	     merging->at++) {
		const struct jvm_function *old = &code->last.list[merging->at];

		if (old->start == entry->start && old->end == entry->end &&
		    !strcmp(code->all.names + old->name_off, name)) {
			function = *old;
			is_known = true;
		}
	}
	if (!is_known) {
		rc = code_table_add(&code->all, entry->start, entry->end - entry->start,
				    function.from_ns, name, strlen(name));
		if (rc)
			return rc;
		function.name_off = code->all.entries[code->all.nr - 1].name_off;
		code->is_changed = true;
		++*ret_nr;
	}
	merging->next.list[merging->next.nr++] = function;
	return 0;
}

static int add_functions(struct jvm_code *code, const struct code_table *table, size_t *ret_nr)
{
	struct merging merging = { .code = code };
	uint64_t end = 0;
	int rc = vector_reserve(&merging.next, code->last.nr + table->nr);

	for (size_t i = 0; !rc && i < table->nr; i++) {
		const struct code_entry *entry = &table->entries[i];

		if (entry->nr_lines || entry->start < end)
			continue;
		rc = add_function(&merging, table, entry, ret_nr);
		end = entry->end;
	}
	if (rc == -ENOMEM && !merging.next.list)
		return rc;
	keep_up_to(&merging, UINT64_MAX);
	vector_fini(&code->last);
	code->last.list = merging.next.list;
	code->last.nr = merging.next.nr;
	code->last.room = merging.next.room;
	return rc;
}

/* Has @table the function @function, as it was? *at: of its entries, where the last search ended.
 */
static bool has_function(const struct jvm_code *code, const struct code_table *table,
			 const struct jvm_function *function, size_t *at)
{
	const struct code_entry *entry;

	while (*at < table->nr && table->entries[*at].start < function->start)
		++*at;
	entry = &table->entries[*at];
	return *at < table->nr && entry->start == function->start && entry->end == function->end &&
	       !strcmp(code->all.names + function->name_off, name_of(table, entry));
}

void jvm_code_drop(struct jvm_code *code, const struct code_table *table, uint64_t mapped_ns,
		   uint64_t now_ns)
{
	size_t nr = 0, at = 0;

	code->seen_ns = now_ns;
	for (size_t i = 0; i < code->last.nr; i++) {
		struct jvm_function *function = &code->last.list[i];
		uint64_t from_ns = 0;

		if (has_function(code, table, function, &at)) {
			function->seen_ns = now_ns;
			function->gone_ns = 0;
		} else if (mapped_ns > function->seen_ns) {
			from_ns = mapped_ns;
		} else if (!function->gone_ns) {
			function->gone_ns = now_ns;
		} else if (now_ns - function->gone_ns > JVM_GONE_NS) {
			from_ns = function->gone_ns;
		}
		if (!from_ns || code_table_add(&code->all, function->start,
					       function->end - function->start, from_ns, NULL, 0))
			code->last.list[nr++] = *function;
		else
			code->is_changed = true;
		if (from_ns > code->dropped_ns)
			code->dropped_ns = from_ns;
	}
	code->last.nr = nr;
	code->read_ns = mapped_ns > code->dropped_ns ? mapped_ns : code->dropped_ns;
}

/* The function that was at @addr when it was asked about last; NULL: none is known. */
static const struct jvm_function *function_at(const struct jvm_code *code, uint64_t addr)
{
	size_t at = SORTED_UP_TO(code->last.list, end, code->last.nr, addr);

	return at < code->last.nr && code->last.list[at].start <= addr ? &code->last.list[at]
								       : NULL;
}

/* Add the lines of @entry of @table, which hold as long as its function does. */
static int add_lines(struct jvm_code *code, const struct code_table *table,
		     const struct code_entry *entry)
{
	const struct jvm_function *function = function_at(code, entry->start);
	struct code_lines lines = code_table_lines(table, entry);
	struct symbol_line list[SYMBOL_LINES_MAX];

	if (!function || function->start != entry->function)
		return 0;
	for (size_t i = 0; i < lines.nr; i++)
		list[i] = code_lines_at(&lines, i);
	code->is_changed = true;
	return code_table_add_lines(&code->all, entry->start, entry->function, function->from_ns,
				    list, lines.nr);
}

int jvm_code_add(struct jvm_code *code, const struct code_table *table, size_t max_bytes,
		 size_t *ret_nr)
{
	int rc;

	*ret_nr = 0;
	code->all.max_bytes = max_bytes;
	rc = add_functions(code, table, ret_nr);
	for (size_t i = 0; !rc && i < table->nr; i++)
		if (table->entries[i].nr_lines)
			rc = add_lines(code, table, &table->entries[i]);
	return rc;
}

void jvm_code_settle(struct jvm_code *code, const uint64_t *asked, const uint32_t *met, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct jvm_function *now = function_at(code, asked[i] >> HOTSPOT_ASKED_SHIFT);
		struct jvm_met *of = &code->met.list[met[i]];
		bool is_same = now && of->function == now->start && of->from_ns == now->from_ns;

		if (asked[i] & HOTSPOT_ASKED_LINES) {
			of->function = now ? now->start : 0;
			of->from_ns = now ? now->from_ns : 0;
		} else if (!is_same) {
			of->function = 0;
			if (now)
				note(code, met[i]);
		}
	}
	if (code->met.nr >= JVM_MET_MAX && !code->news.nr)
		forget_met(code);
}

void jvm_code_forget(struct jvm_code *code)
{
	for (size_t i = 0; i < code->met.nr; i++)
		code->met.list[i].function = 0;
	vector_fini(&code->last);
	code_table_fini(&code->all);
	code->is_changed = false;
}

bool jvm_code_find(const struct jvm_code *code, uint64_t lookup_addr, uint64_t time_ns,
		   struct code_match *ret)
{
	return !code->is_changed && code_table_find(&code->all, lookup_addr, time_ns, ret);
}

int jvm_code_arrange(struct jvm_code *code)
{
	int rc = code->is_changed ? code_table_arrange(&code->all) : 0;

	if (!rc)
		code->is_changed = false;
	return rc;
}
