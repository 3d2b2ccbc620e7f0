/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "profile/kernel_types.h"
#include "tests/support/skip_test.h"

/* The types of a program: three structs by name, and some of their members. */
static struct btf *make_asking(void)
{
	struct btf *btf = btf__new_empty();
	int number, inner;

	assert_non_null(btf);
	number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	inner = btf__add_struct(btf, "inner", 4);
	assert_int_equal(btf__add_field(btf, "deep", number, 0, 0), 0);
	assert_in_range(btf__add_struct(btf, "outer", 12), 1, 100);
	assert_int_equal(btf__add_field(btf, "plain", number, 0, 0), 0);
	assert_int_equal(btf__add_field(btf, "hidden", number, 32, 0), 0);
	assert_int_equal(btf__add_field(btf, "in", inner, 64, 0), 0);
	assert_int_equal(btf__add_field(btf, "bits", number, 96, 0), 0);
	assert_int_equal(btf__add_field(btf, "many", number, 128, 0), 0);
	assert_int_equal(btf__add_field(btf, "to", number, 160, 0), 0);
	assert_in_range(btf__add_struct(btf, "missing", 0), 1, 100);
	return btf;
}

/* A kernel: what is asked for, elsewhere and among much else. */
static struct btf *make_kernel(int nr_strangers)
{
	struct btf *btf = btf__new_empty();
	int number, quoted, named, inner, nameless, array, pointer, bits;
	char name[32];

	assert_non_null(btf);
	number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	bits = btf__add_int(btf, "unsigned int", 4, 0);
	for (int i = 0; i < nr_strangers; i++) {
		snprintf(name, sizeof(name), "stranger%d", i);
		btf__add_struct(btf, name, 8);
		btf__add_field(btf, "plain", number, 0, 0);
		btf__add_field(btf, "other", number, 32, 0);
		btf__add_enum(btf, NULL, 4);
		btf__add_enum_value(btf, name, i);
		btf__add_func_proto(btf, number);
		btf__add_func_param(btf, "x", number);
	}
	inner = btf__add_struct(btf, "inner", 16);
	btf__add_field(btf, "unasked", number, 0, 0);
	btf__add_field(btf, "deep", number, 64, 0);
	quoted = btf__add_const(btf, inner);
	named = btf__add_typedef(btf, "inner_t", quoted);
	nameless = btf__add_union(btf, NULL, 8);
	btf__add_field(btf, "wide", number, 0, 0);
	btf__add_field(btf, "hidden", number, 0, 0);
	array = btf__add_array(btf, number, inner, 3);
	pointer = btf__add_ptr(btf, inner);
	btf__add_struct(btf, "outer", 200);
	btf__add_field(btf, "unasked", number, 0, 0);
	btf__add_field(btf, NULL, nameless, 256, 0);
	btf__add_field(btf, "in", named, 512, 0);
	btf__add_field(btf, "bits", bits, 641, 3);
	btf__add_field(btf, "plain", number, 672, 0);
	btf__add_field(btf, "many", array, 704, 0);
	btf__add_field(btf, "to", pointer, 1152, 0);
	return btf;
}

static const struct btf_member *member_of(const struct btf *btf, const struct btf_type *type,
					  const char *name)
{
	for (uint32_t i = 0; i < btf_vlen(type); i++) {
		if (strcmp(btf__name_by_offset(btf, btf_members(type)[i].name_off), name) == 0)
			return &btf_members(type)[i];
	}
	return NULL;
}

static const struct btf_type *struct_of(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);

	return id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
}

/* Cuts @kernel, and reads the result as libbpf reads it from a file. */
static struct btf *cut_and_read(const struct btf *kernel, const struct btf *asking)
{
	uint32_t size, cut_size;
	const void *bytes = btf__raw_data(kernel, &size);
	struct btf *cut = NULL, *read;

	assert_int_equal(kernel_types_cut(bytes, size, asking, &cut), 0);
	bytes = btf__raw_data(cut, &cut_size);
	read = btf__new(bytes, cut_size);
	assert_int_equal(libbpf_get_error(read), 0);
	btf__free(cut);
	return read;
}

static void requested_members_have_the_kernel_s_offsets(void **state)
{
	static const struct {
		const char *name;
		uint32_t bit_off;
	} cases[] = { { "in", 512 }, { "plain", 672 }, { "many", 704 }, { "to", 1152 } };
	struct btf *asking = make_asking();

	(void)state;
	/* more types than between two marks, and fewer */
	for (int nr = 0; nr < 200; nr += 33) {
		struct btf *kernel = make_kernel(nr), *cut = cut_and_read(kernel, asking);
		const struct btf_type *outer = struct_of(cut, "outer");

		assert_non_null(outer);
		assert_int_equal(outer->size, 200);
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			const struct btf_member *member = member_of(cut, outer, cases[i].name);

			assert_non_null(member);
			assert_int_equal(BTF_MEMBER_BIT_OFFSET(member->offset), cases[i].bit_off);
		}
		assert_null(member_of(cut, outer, "unasked"));

		const struct btf_member *bits = member_of(cut, outer, "bits");

		assert_non_null(bits);
		assert_int_equal(BTF_MEMBER_BIT_OFFSET(bits->offset), 641);
		assert_int_equal(BTF_MEMBER_BITFIELD_SIZE(bits->offset), 3);
		btf__free(cut);
		btf__free(kernel);
	}
	btf__free(asking);
}

static void members_are_found_through_unnamed_types(void **state)
{
	struct btf *asking = make_asking(), *kernel = make_kernel(70);
	struct btf *cut = cut_and_read(kernel, asking);
	const struct btf_type *outer = struct_of(cut, "outer");
	const struct btf_member *nameless = member_of(cut, outer, "");

	(void)state;
	assert_non_null(nameless);
	assert_int_equal(BTF_MEMBER_BIT_OFFSET(nameless->offset), 256);

	const struct btf_type *inside = btf__type_by_id(cut, nameless->type);

	assert_true(btf_is_union(inside));
	assert_non_null(member_of(cut, inside, "hidden"));
	assert_null(member_of(cut, inside, "wide"));
	btf__free(cut);
	btf__free(kernel);
	btf__free(asking);
}

static void types_of_members_are_included(void **state)
{
	struct btf *asking = make_asking(), *kernel = make_kernel(70);
	struct btf *cut = cut_and_read(kernel, asking);
	const struct btf_type *outer = struct_of(cut, "outer");
	const struct btf_type *in = btf__type_by_id(cut, member_of(cut, outer, "in")->type);
	const struct btf_type *many = btf__type_by_id(cut, member_of(cut, outer, "many")->type);
	const struct btf_type *to = btf__type_by_id(cut, member_of(cut, outer, "to")->type);

	(void)state;
	assert_string_equal(btf__name_by_offset(cut, in->name_off), "inner");
	assert_int_equal(in->size, 16);
	assert_int_equal(BTF_MEMBER_BIT_OFFSET(member_of(cut, in, "deep")->offset), 64);
	assert_true(btf_is_array(many));
	assert_int_equal(btf_array(many)->nelems, 3);
	assert_ptr_equal(btf__type_by_id(cut, btf_array(many)->type), in);
	assert_true(btf_is_ptr(to));
	assert_int_equal(to->type, 0);
	assert_null(struct_of(cut, "missing"));
	assert_null(struct_of(cut, "stranger1"));
	btf__free(cut);
	btf__free(kernel);
	btf__free(asking);
}

static void broken_types_are_refused_or_harmless(void **state)
{
	struct btf *asking = make_asking(), *kernel = make_kernel(3);
	uint32_t size;
	const uint8_t *bytes = btf__raw_data(kernel, &size);

	(void)state;
	for (uint32_t i = 0; i <= size; i++) {
		/* exactly as long: a sanitizer sees a read past it */
		uint8_t *part = malloc(i ? i : 1);
		struct btf *cut = NULL;

		assert_non_null(part);
		memcpy(part, bytes, i);
		if (i < size)
			assert_int_equal(kernel_types_cut(part, i, asking, &cut), -EINVAL);
		free(part);
	}
	for (uint32_t i = 0; i < 8 * size; i++) {
		uint8_t *odd = malloc(size);
		struct btf *cut = NULL;

		assert_non_null(odd);
		memcpy(odd, bytes, size);
		odd[i / 8] ^= (uint8_t)(1u << i % 8);
		if (!kernel_types_cut(odd, size, asking, &cut))
			btf__free(cut);
		free(odd);
	}
	btf__free(kernel);
	btf__free(asking);
}

static void chains_without_an_end_are_refused(void **state)
{
	struct btf *asking = make_asking(), *kernel = btf__new_empty(), *cut = NULL;
	uint32_t size;

	(void)state;
	assert_int_equal(btf__add_typedef(kernel, "round", 2), 1);
	assert_int_equal(btf__add_const(kernel, 1), 2);
	btf__add_struct(kernel, "inner", 4);
	btf__add_field(kernel, "deep", 1, 0, 0);

	const void *bytes = btf__raw_data(kernel, &size);

	assert_int_equal(kernel_types_cut(bytes, size, asking, &cut), -EINVAL);
	btf__free(kernel);
	btf__free(asking);
}

/* Members of the running kernel's, asked for by nothing but their names. */
static void the_running_kernel_agrees(void **state)
{
	static const char *const members[] = {
		"flags",	"pid",	      "tgid",		"mm",	       "signal",
		"group_leader", "thread_pid", "start_boottime", "self_exec_id"
	};
	struct btf *whole =
		access("/sys/kernel/btf/vmlinux", R_OK) ? NULL : btf__load_vmlinux_btf();
	struct btf *asking = btf__new_empty();
	struct kernel_types types;
	struct fpl_err err = { 0 };

	(void)state;
	if (!whole) {
		btf__free(asking);
		skip_test("the kernel's types cannot be read");
	}

	int number = btf__add_int(asking, "int", 4, 0);

	btf__add_struct(asking, "task_struct", 4);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		assert_int_equal(btf__add_field(asking, members[i], number, 0, 0), 0);
	assert_int_equal(kernel_types_init(&types, &err), 0);
	if (kernel_types_fill(&types, asking, &err))
		fail_msg("%s", err.msg);

	struct btf *cut = btf__parse(types.path, NULL);

	assert_int_equal(libbpf_get_error(cut), 0);
	assert_in_range(btf__type_cnt(cut), 2, 1000);

	const struct btf_type *here = struct_of(cut, "task_struct");
	const struct btf_type *there = struct_of(whole, "task_struct");

	assert_non_null(here);
	assert_int_equal(here->size, there->size);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const struct btf_member *a = member_of(cut, here, members[i]);
		const struct btf_member *b = member_of(whole, there, members[i]);

		/* a kernel may keep them in a struct without a name */
		assert_int_equal(!a, !b);
		if (a)
			assert_int_equal(a->offset, b->offset);
	}
	btf__free(cut);
	kernel_types_fini(&types);
	btf__free(asking);
	btf__free(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requested_members_have_the_kernel_s_offsets),
		cmocka_unit_test(members_are_found_through_unnamed_types),
		cmocka_unit_test(types_of_members_are_included),
		cmocka_unit_test(broken_types_are_refused_or_harmless),
		cmocka_unit_test(chains_without_an_end_are_refused),
		cmocka_unit_test(the_running_kernel_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
