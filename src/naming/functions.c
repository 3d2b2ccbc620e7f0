/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/functions.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"

int functions_init(struct functions *functions, struct symbolizer *symbolizer, size_t nr_objects)
{
	*functions = (struct functions){ .symbolizer = symbolizer, .nr_objects = nr_objects };
	functions->objects = calloc(nr_objects + 1, sizeof(*functions->objects));
	return functions->objects ? 0 : -ENOMEM;
}

void functions_fini(struct functions *functions)
{
	for (size_t i = 0; functions->objects && i < functions->nr_objects; i++)
		function_list_fini(&functions->objects[i].list);
	free(functions->objects);
}

int functions_grow(struct functions *functions, size_t nr_objects)
{
	struct function_object *bigger;

	if (nr_objects <= functions->nr_objects)
		return 0;
	bigger = reallocarray(functions->objects, nr_objects + 1, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	for (size_t i = functions->nr_objects; i < nr_objects; i++)
		bigger[i] = (struct function_object){ .read = false };
	functions->objects = bigger;
	functions->nr_objects = nr_objects;
	return 0;
}

/* List the functions of an object, once. One that cannot be read has none: its code keeps
 * addresses.
 */
static void read_list(struct functions *functions, uint32_t id)
{
	struct function_object *object = &functions->objects[id - 1];
	struct function_list *list = &object->list;
	const struct elf_file *elf, *debug;
	struct fpl_err err = { 0 };

	if (object->read)
		return;
	object->read = true;

	int code = symbolizer_functions(functions->symbolizer, id, &list->ranges, &list->nr, &err);

	if (code == -ENOSYS && symbolizer_elf(functions->symbolizer, id, &elf, &debug))
		code = function_list_read(elf, debug, list, &err);
	if (code && err.code)
		fpl_log(FPL_LOG_DEBUG, "functions without symbols stay addresses: %s", err.msg);
}

bool functions_find(struct functions *functions, uint32_t id, uint64_t vaddr,
		    struct vaddr_range *ret)
{
	if (id == 0 || id > functions->nr_objects)
		return false;
	read_list(functions, id);
	return function_list_find(&functions->objects[id - 1].list, vaddr, ret);
}

bool functions_find_start(struct functions *functions, uint32_t id, uint64_t vaddr, uint64_t *ret)
{
	struct vaddr_range function;
	int code = symbolizer_function_start(functions->symbolizer, id, vaddr, ret);

	if (code != -ENOSYS)
		return !code;
	if (!functions_find(functions, id, vaddr, &function))
		return false;
	*ret = function.start;
	return true;
}
