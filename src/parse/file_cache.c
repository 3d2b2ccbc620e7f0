/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/file_cache.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

void reading_destroy(struct reading *reading)
{
	if (!reading)
		return;
	symtab_destroy(reading->tab);
	debug_index_destroy(reading->index);
	go_lines_close(reading->go_lines);
	function_list_fini(&reading->functions);
	elf_file_close(reading->mini);
	elf_file_close(reading->alt);
	elf_file_close(reading->debug);
	elf_file_close(reading->elf);
	free(reading);
}

struct reading *file_cache_take(struct file_cache *cache, const struct parse_key *key)
{
	for (size_t i = 0; i < cache->nr_files; i++) {
		struct reading **place = &cache->readings[i];

		if (*place && memcmp(&(*place)->key, key, sizeof(*key)) == 0)
			return TAKE_PTR(*place);
	}
	return NULL;
}

size_t file_cache_heap_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static bool is_older(const struct reading *a, const struct reading *b)
{
	return a->last_use_ns < b->last_use_ns;
}

static bool is_larger(const struct reading *a, const struct reading *b)
{
	return a->bytes > b->bytes;
}

/* The place of what goes first; NULL: there is nothing. */
static struct reading **first_by(struct file_cache *cache,
				 bool (*goes_before)(const struct reading *,
						     const struct reading *))
{
	struct reading **ret = NULL;

	for (size_t i = 0; i < cache->nr_files; i++) {
		struct reading **place = &cache->readings[i];

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

static struct reading **free_place(struct file_cache *cache)
{
	for (size_t i = 0; i < cache->nr_files; i++) {
		if (!cache->readings[i])
			return &cache->readings[i];
	}
	return NULL;
}

/* The largest files go until the process has no more than @bytes in use. */
static void shrink(struct file_cache *cache, size_t bytes)
{
	struct reading **place;

	if (file_cache_heap_bytes() <= bytes)
		return;
	while (file_cache_heap_bytes() > bytes && (place = first_by(cache, is_larger)))
		drop(place);
	(void)malloc_trim(0);
}

void file_cache_put(struct file_cache *cache, struct reading *reading, size_t grown)
{
	struct reading **place = free_place(cache);

	if (!cache->nr_files) {
		reading_destroy(reading);
		return;
	}
	if (!place) {
		place = first_by(cache, is_older);
		drop(place);
	}
	reading->bytes += grown;
	reading->last_use_ns = clock_monotonic_ns();
	*place = reading;
	shrink(cache, FILE_CACHE_BYTES);
}

void file_cache_age(struct file_cache *cache)
{
	uint64_t now_ns = clock_monotonic_ns();
	bool has_dropped = false;

	for (size_t i = 0; i < cache->nr_files; i++) {
		struct reading **place = &cache->readings[i];

		if (!*place || now_ns - (*place)->last_use_ns <= FILE_CACHE_AGE_S * NS_PER_S)
			continue;
		drop(place);
		has_dropped = true;
	}
	if (has_dropped)
		(void)malloc_trim(0);
}

void file_cache_rest(struct file_cache *cache)
{
	file_cache_age(cache);
	shrink(cache, FILE_CACHE_REST_BYTES);
}

bool file_cache_is_empty(const struct file_cache *cache)
{
	for (size_t i = 0; i < cache->nr_files; i++) {
		if (cache->readings[i])
			return false;
	}
	return true;
}
