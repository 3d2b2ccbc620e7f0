/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of /proc/PID/maps as hostile bytes, its executable lines put into a mapset. Judged:
 * every line that is taken is a range with a terminated path inside the text, no more are taken
 * than there are lines, and the mapset stays sorted without overlap.
 */
#include <stdlib.h>
#include <string.h>

#include "proc/mapset.h"
#include "proc/proc_maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reading {
	const char *text;
	size_t size, nr;
	struct mapset *set;
};

static int take(const struct proc_map *map, void *ctx)
{
	struct reading *reading = ctx;
	size_t at = (size_t)(map->path - reading->text);
	struct fpl_mapping mapping = { .start = map->start, .end = map->end };

	if (map->start >= map->end || at > reading->size ||
	    strlen(map->path) > reading->size - at || strchr(map->path, '\0') == NULL)
		abort();
	reading->nr++;
	mapping.object = (uint32_t)map->inode;
	if (map->executable && mapset_add(&reading->set, &mapping))
		return 1;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reading reading = { .size = size, .set = mapset_create() };
	char *text = malloc(size + 1);
	size_t nr_lines = 1, nr_bad;

	if (!text || !reading.set)
		abort();
	memcpy(text, data, size);
	reading.text = text;
	for (size_t i = 0; i < size; i++)
		nr_lines += data[i] == '\n';
	if (proc_maps_parse(text, size, take, &reading, &nr_bad) == 0 &&
	    reading.nr + nr_bad > nr_lines)
		abort();
	for (uint32_t i = 0; i < reading.set->nr; i++) {
		const struct fpl_mapping *m = &reading.set->mappings[i];

		if (m->start >= m->end || (i && m[-1].end > m->start) ||
		    mapset_find(reading.set, m->start) != m ||
		    mapset_find(reading.set, m->end - 1) != m)
			abort();
	}
	mapset_put(reading.set);
	free(text);
	return 0;
}
