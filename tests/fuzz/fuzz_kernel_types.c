/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of a kernel as hostile bytes. Judged: what is cut out of them is of the names that were
 * asked for alone, and libbpf can read it where it can read the whole.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profile/kernel_types.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

__attribute__((__format__(__printf__, 2, 0))) static int
say_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static struct btf *make_asking(void)
{
	static const char *const members[] = { "a", "b", "c", "d" };
	struct btf *btf = btf__new_empty();

	require(btf != NULL);
	require(btf__add_int(btf, "int", 4, 0) == 1);
	require(btf__add_struct(btf, "one", 4) > 0);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		require(btf__add_field(btf, members[i], 1, 0, 0) == 0);
	require(btf__add_struct(btf, "two", 4) > 0);
	return btf;
}

static void check_type(const struct btf *cut, const struct btf_type *type)
{
	const char *name = btf__name_by_offset(cut, type->name_off);

	require(name != NULL);
	for (uint32_t i = 0; btf_is_composite(type) && i < btf_vlen(type); i++) {
		const struct btf_member *member = btf_members(type) + i;
		const char *text = btf__name_by_offset(cut, member->name_off);

		require(text && (!text[0] || (!text[1] && text[0] >= 'a' && text[0] <= 'd')));
		require(member->type > 0 && member->type < btf__type_cnt(cut));
	}
	require(!btf_is_ptr(type) || type->type == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct btf *asking, *cut = NULL;
	uint8_t *copy = malloc(size ? size : 1);

	require(copy != NULL);
	memcpy(copy, data, size);
	libbpf_set_print(say_nothing);
	asking = make_asking();
	if (!kernel_types_cut(copy, size, asking, &cut)) {
		for (uint32_t id = 1; id < btf__type_cnt(cut); id++)
			check_type(cut, btf__type_by_id(cut, id));

		uint32_t cut_size;
		const void *bytes = btf__raw_data(cut, &cut_size);
		struct btf *again = bytes ? btf__new(bytes, cut_size) : NULL;

		require(!libbpf_get_error(again));
		btf__free(again);
		btf__free(cut);
	}
	btf__free(asking);
	free(copy);
	return 0;
}
