/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/shelf.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void reading_destroy(struct reading *reading)
{
	if (!reading)
		return;
	symtab_destroy(reading->tab);
	debug_index_destroy(reading->index);
	function_list_fini(&reading->functions);
	elf_file_close(reading->mini);
	elf_file_close(reading->alt);
	elf_file_close(reading->debug);
	elf_file_close(reading->elf);
	free(reading);
}

struct reading *shelf_take(struct shelf *shelf, const struct parse_key *key)
{
	for (size_t i = 0; i < shelf->nr_files; i++) {
		struct reading **place = &shelf->readings[i];

		if (*place && memcmp(&(*place)->key, key, sizeof(*key)) == 0)
			return TAKE_PTR(*place);
	}
	return NULL;
}

size_t shelf_heap_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static bool is_older(const struct reading *a, const struct reading *b)
{
	return a->last_use < b->last_use;
}

static bool is_larger(const struct reading *a, const struct reading *b)
{
	return a->bytes > b->bytes;
}

/* The place of what goes first; NULL: there is nothing. */
static struct reading **first_by(struct shelf *shelf, bool (*goes_before)(const struct reading *,
									  const struct reading *))
{
	struct reading **ret = NULL;

	for (size_t i = 0; i < shelf->nr_files; i++) {
		struct reading **place = &shelf->readings[i];

		if (*place && (!ret || goes_before(*place, *ret)))
			ret = place;
	}
	return ret;
}

static void drop(struct reading **place)
{
	reading_destroy(*place);
	*place = NULL;
}

static struct reading **free_place(struct shelf *shelf)
{
	for (size_t i = 0; i < shelf->nr_files; i++) {
		if (!shelf->readings[i])
			return &shelf->readings[i];
	}
	return NULL;
}

void shelf_put(struct shelf *shelf, struct reading *reading, size_t grown)
{
	struct reading **place = free_place(shelf);

	if (!shelf->nr_files) {
		reading_destroy(reading);
		return;
	}
	if (!place) {
		place = first_by(shelf, is_older);
		drop(place);
	}
	reading->bytes += grown;
	reading->last_use = ++shelf->nr_uses;
	*place = reading;
	if (shelf_heap_bytes() <= SHELF_BYTES)
		return;
	while (shelf_heap_bytes() > SHELF_BYTES && (place = first_by(shelf, is_larger)))
		drop(place);
	(void)malloc_trim(0);
}
