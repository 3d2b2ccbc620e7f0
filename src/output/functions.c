/* SPDX-License-Identifier: Apache-2.0 */
#include "output/functions.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "obj/elf_file.h"
#include "unwind/rows.h"

int functions_init(struct functions *functions, struct symbolizer *symbolizer, size_t nr_objects)
{
	*functions = (struct functions){ .symbolizer = symbolizer, .nr_objects = nr_objects };
	functions->objects = calloc(nr_objects + 1, sizeof(*functions->objects));
	return functions->objects ? 0 : -ENOMEM;
}

void functions_fini(struct functions *functions)
{
	for (size_t i = 0; functions->objects && i < functions->nr_objects; i++)
		free(functions->objects[i].ranges);
	free(functions->objects);
}

static int add_range(const struct cfi_fde_info *fde, void *ctx)
{
	struct function_object *object = ctx;

	if (object->nr == object->room) {
		size_t room = object->room ? 2 * object->room : 256;
		struct function_range *ranges = reallocarray(object->ranges, room, sizeof(*ranges));

		if (!ranges)
			return -ENOMEM;
		object->ranges = ranges;
		object->room = room;
	}
	object->ranges[object->nr++] =
		(struct function_range){ .start = fde->start, .end = fde->end };
	return 0;
}

static int compare_starts(const void *left, const void *right)
{
	const struct function_range *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

/* List the FDEs of an object, once. One that cannot be read has none: its code keeps addresses. */
static void read_ranges(struct functions *functions, uint32_t id)
{
	struct function_object *object = &functions->objects[id - 1];
	const struct elf_file *elf, *debug;
	struct fpl_err err = { 0 };

	if (object->read)
		return;
	object->read = true;
	if (!symbolizer_elf(functions->symbolizer, id, &elf, &debug))
		return;
	if (cfi_fdes_for_each(elf, debug, &table_limits_default, add_range, object, &err))
		fpl_log(FPL_LOG_DEBUG, "functions without symbols stay addresses: %s", err.msg);
	if (object->nr)
		qsort(object->ranges, object->nr, sizeof(*object->ranges), compare_starts);
}

bool functions_find(struct functions *functions, uint32_t id, uint64_t vaddr,
		    struct function_range *ret)
{
	if (id == 0 || id > functions->nr_objects)
		return false;
	read_ranges(functions, id);

	/* Invariant: ranges before lo start at or below vaddr, those from hi on above. */
	const struct function_object *object = &functions->objects[id - 1];
	size_t lo = 0, hi = object->nr;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (object->ranges[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || vaddr >= object->ranges[lo - 1].end)
		return false;
	*ret = object->ranges[lo - 1];
	return true;
}
