/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/function_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/sorted.h"
#include "unwind/rows.h"

static int add_range(const struct cfi_fde_info *fde, void *ctx)
{
	struct function_list *list = ctx;

	if (array_reserve(&list->ranges, sizeof(*list->ranges), &list->room, list->nr + 1))
		return -ENOMEM;
	list->ranges[list->nr++] = (struct vaddr_range){ .start = fde->start, .end = fde->end };
	return 0;
}

static int compare_starts(const void *left, const void *right)
{
	const struct vaddr_range *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

int function_list_read(const struct elf_file *elf, const struct elf_file *debug,
		       struct function_list *ret, struct fpl_err *err)
{
	*ret = (struct function_list){ .nr = 0 };

	int code = cfi_fdes_for_each(elf, debug, &table_limits_default, add_range, ret, err);

	if (ret->nr)
		qsort(ret->ranges, ret->nr, sizeof(*ret->ranges), compare_starts);
	return code;
}

void function_list_fini(struct function_list *list)
{
	free(list->ranges);
}

bool function_list_find(const struct function_list *list, uint64_t vaddr, struct vaddr_range *ret)
{
	size_t lo = SORTED_UP_TO(list->ranges, start, list->nr, vaddr);

	if (lo == 0 || vaddr >= list->ranges[lo - 1].end)
		return false;
	*ret = list->ranges[lo - 1];
	return true;
}

void function_list_narrow(const struct function_list *list, uint64_t vaddr,
			  struct vaddr_range *same)
{
	size_t lo = SORTED_UP_TO(list->ranges, start, list->nr, vaddr);
	uint64_t start = same->start, end = same->end;

	if (lo < list->nr && list->ranges[lo].start < end)
		end = list->ranges[lo].start;
	if (lo) {
		const struct vaddr_range *last = &list->ranges[lo - 1];
		bool holds = vaddr < last->end;
		uint64_t from = holds ? last->start : last->end;

		start = from > start ? from : start;
		end = holds && last->end < end ? last->end : end;
	}
	*same = (struct vaddr_range){ start, end };
}
