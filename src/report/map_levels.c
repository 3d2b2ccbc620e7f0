/* SPDX-License-Identifier: Apache-2.0 */
#include "report/map_levels.h"

#include <inttypes.h>

static bool is_scarce(const struct profile_map *map)
{
	return map->refused || (map->grows && map->entries > map->max / 10 * 9);
}

static void write_level(FILE *to, const struct profile_map *map)
{
	fprintf(to, "  map          %s: %" PRIu64 " of %" PRIu64 ", %.1f MiB", map->name,
		map->entries, map->max, (double)map->bytes / (1 << 20));
	if (map->refused)
		fprintf(to, ", no room %" PRIu64 " times", map->refused);
	if (is_scarce(map) && map->option)
		fprintf(to, ": more %s", map->option);
	putc('\n', to);
}

void map_levels_write(FILE *to, const struct profile *profile, bool all)
{
	for (size_t i = 0; i < profile->nr_maps; i++) {
		if (all || is_scarce(&profile->maps[i]))
			write_level(to, &profile->maps[i]);
	}
}
