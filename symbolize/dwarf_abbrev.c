/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf_abbrev.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "symbolize/dwarf_constants.h"

/* A step: what to pass over; of STEP_BYTES, how many above. */
enum step {
	STEP_BYTES,
	STEP_LEB,
	STEP_TEXT,
	STEP_BLOCK1,
	STEP_BLOCK2,
	STEP_BLOCK4,
	STEP_BLOCK,
	STEP_INDIRECT,
	STEP_BAD, /* an unknown form: the entry has no end */
};
#define STEP_SHIFT 4u
#define STEP_MASK  15u

/* The step over a value of @form. */
static uint32_t form_step(uint64_t form, struct form_sizes sizes)
{
	static const uint32_t steps[] = {
		[DW_FORM_addr] = 8u << STEP_SHIFT,
		[DW_FORM_block2] = STEP_BLOCK2,
		[DW_FORM_block4] = STEP_BLOCK4,
		[DW_FORM_data2] = 2u << STEP_SHIFT,
		[DW_FORM_data4] = 4u << STEP_SHIFT,
		[DW_FORM_data8] = 8u << STEP_SHIFT,
		[DW_FORM_string] = STEP_TEXT,
		[DW_FORM_block] = STEP_BLOCK,
		[DW_FORM_block1] = STEP_BLOCK1,
		[DW_FORM_data1] = 1u << STEP_SHIFT,
		[DW_FORM_flag] = 1u << STEP_SHIFT,
		[DW_FORM_sdata] = STEP_LEB,
		[DW_FORM_udata] = STEP_LEB,
		[DW_FORM_ref1] = 1u << STEP_SHIFT,
		[DW_FORM_ref2] = 2u << STEP_SHIFT,
		[DW_FORM_ref4] = 4u << STEP_SHIFT,
		[DW_FORM_ref8] = 8u << STEP_SHIFT,
		[DW_FORM_ref_udata] = STEP_LEB,
		[DW_FORM_indirect] = STEP_INDIRECT,
		[DW_FORM_exprloc] = STEP_BLOCK,
		[DW_FORM_strx] = STEP_LEB,
		[DW_FORM_addrx] = STEP_LEB,
		[DW_FORM_ref_sup4] = 4u << STEP_SHIFT,
		[DW_FORM_data16] = 16u << STEP_SHIFT,
		[DW_FORM_ref_sig8] = 8u << STEP_SHIFT,
		[DW_FORM_loclistx] = STEP_LEB,
		[DW_FORM_rnglistx] = STEP_LEB,
		[DW_FORM_ref_sup8] = 8u << STEP_SHIFT,
		[DW_FORM_strx1] = 1u << STEP_SHIFT,
		[DW_FORM_strx2] = 2u << STEP_SHIFT,
		[DW_FORM_strx3] = 3u << STEP_SHIFT,
		[DW_FORM_strx4] = 4u << STEP_SHIFT,
		[DW_FORM_addrx1] = 1u << STEP_SHIFT,
		[DW_FORM_addrx2] = 2u << STEP_SHIFT,
		[DW_FORM_addrx3] = 3u << STEP_SHIFT,
		[DW_FORM_addrx4] = 4u << STEP_SHIFT,
	};

	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return (uint32_t)sizes.offset << STEP_SHIFT;
	case DW_FORM_ref_addr:
		return (uint32_t)sizes.ref_addr << STEP_SHIFT;
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return STEP_LEB;
	default:
		return form < ARRAY_SIZE(steps) && steps[form] ? steps[form] : STEP_BAD;
	}
}

static inline void skip_leb(struct cursor *c)
{
	while (c->pos < c->end) {
		if (!(*c->pos++ & 0x80))
			return;
	}
	cursor_fail(c);
}

static void skip_step(uint32_t step, struct form_sizes sizes, struct cursor *c)
{
	uint64_t form;

	switch ((enum step)(step & STEP_MASK)) {
	case STEP_BYTES:
		cursor_skip(c, step >> STEP_SHIFT);
		return;
	case STEP_LEB:
		skip_leb(c);
		return;
	case STEP_TEXT:
		(void)cursor_text(c, SIZE_MAX);
		return;
	case STEP_BLOCK1:
		cursor_skip(c, cursor_u8(c));
		return;
	case STEP_BLOCK2:
		cursor_skip(c, cursor_u16(c));
		return;
	case STEP_BLOCK4:
		cursor_skip(c, cursor_u32(c));
		return;
	case STEP_BLOCK:
		cursor_skip(c, cursor_uleb(c));
		return;
	case STEP_INDIRECT:
		form = cursor_uleb(c);
		/* an implicit value stands in an abbreviation, which is missing here */
		if (form == DW_FORM_indirect || form == DW_FORM_implicit_const)
			cursor_fail(c);
		else
			form_skip(form, sizes, c);
		return;
	case STEP_BAD:
		break;
	}
	cursor_fail(c);
}

void form_skip(uint64_t form, struct form_sizes sizes, struct cursor *c)
{
	uint32_t step = form_step(form, sizes);

	/* once more at most: an indirect form is not indirect itself */
	skip_step(step, sizes, c);
}

void abbrev_skip_steps(const struct abbrev_table *table, const struct abbrev *abbrev,
		       struct cursor *c)
{
	const uint32_t *step = table->steps.list + abbrev->first_step;
	const uint32_t *end = step + abbrev->nr_steps;

	for (; step < end; step++)
		skip_step(*step, table->sizes, c);
}

/* All that anybody looks at. */
static bool attr_is_wanted(uint16_t name)
{
	switch (name) {
	case DW_AT_name:
	case DW_AT_stmt_list:
	case DW_AT_low_pc:
	case DW_AT_high_pc:
	case DW_AT_comp_dir:
	case DW_AT_abstract_origin:
	case DW_AT_decl_line:
	case DW_AT_specification:
	case DW_AT_ranges:
	case DW_AT_call_column:
	case DW_AT_call_file:
	case DW_AT_call_line:
	case DW_AT_linkage_name:
	case DW_AT_str_offsets_base:
	case DW_AT_addr_base:
	case DW_AT_rnglists_base:
	case DW_AT_MIPS_linkage_name:
	case DW_AT_GNU_addr_base:
		return true;
	default:
		return false;
	}
}

static int push_attr(struct abbrev_table *table, struct abbrev *abbrev,
		     const struct abbrev_attr *attr)
{
	abbrev->nr_attrs++;
	return vector_push(&table->attrs, *attr);
}

/* Adds @nr bytes that are passed over. */
static int push_passed(struct abbrev_table *table, struct abbrev *abbrev, uint32_t nr)
{
	const struct abbrev_attr attr = { .form = FORM_PASSED, .number = nr };
	struct abbrev_attr *last =
		abbrev->nr_attrs ? &table->attrs.list[table->attrs.nr - 1] : NULL;

	if (!last || last->form != FORM_PASSED || last->number > UINT32_MAX / 2)
		return push_attr(table, abbrev, &attr);
	last->number += nr;
	return 0;
}

/* Adds @step to those of @abbrev; bytes after bytes are one step. */
static int push_step(struct abbrev_table *table, struct abbrev *abbrev, uint32_t step)
{
	uint32_t *last;

	if (step == 0)
		return 0;
	if ((step & STEP_MASK) == STEP_BYTES && abbrev->nr_steps) {
		last = &table->steps.list[table->steps.nr - 1];
		if ((*last & STEP_MASK) == STEP_BYTES && *last < UINT32_MAX / 2) {
			*last += step;
			return 0;
		}
	}
	abbrev->nr_steps++;
	return vector_push(&table->steps, step);
}

static int read_attrs(struct abbrev_table *table, struct abbrev *abbrev, struct cursor *c)
{
	/* section sizes are below DWARF_BYTES_MAX: indexes fit */
	abbrev->first_attr = (uint32_t)table->attrs.nr;
	abbrev->first_step = (uint32_t)table->steps.nr;
	for (;;) {
		uint64_t name = cursor_uleb(c), form = cursor_uleb(c);
		struct abbrev_attr attr = { .name = name > UINT16_MAX ? 0 : (uint16_t)name,
					    .form = form >= FORM_PASSED ? 0 : (uint16_t)form };
		uint32_t step = form_step(form, table->sizes);
		int code = 0;

		if (c->bad || (!name && !form))
			break;
		if (form == DW_FORM_implicit_const) {
			attr.number = (uint32_t)table->values.nr;
			code = vector_push(&table->values, cursor_sleb(c));
		}
		if (!code && !attr_is_wanted(attr.name) && (step & STEP_MASK) == STEP_BYTES)
			code = push_passed(table, abbrev, step >> STEP_SHIFT);
		else if (!code)
			code = push_attr(table, abbrev, &attr);
		if (code || push_step(table, abbrev, step))
			return -ENOMEM;
	}
	return c->bad ? -EINVAL : 0;
}

/* The sum of the steps of @abbrev, as far as that is known. */
static uint32_t fixed_size(const struct abbrev_table *table, const struct abbrev *abbrev)
{
	uint32_t step = abbrev->nr_steps ? table->steps.list[abbrev->first_step] : STEP_BYTES;

	if (abbrev->nr_steps > 1 || (step & STEP_MASK) != STEP_BYTES)
		return ABBREV_VARIES;
	return step >> STEP_SHIFT;
}

static int read_table(struct abbrev_table *table, struct cursor *c)
{
	for (;;) {
		struct abbrev abbrev = { .code = cursor_uleb(c) };
		uint64_t tag;

		if (c->bad || !abbrev.code)
			break;
		tag = cursor_uleb(c);
		abbrev.tag = tag > UINT16_MAX ? 0 : (uint16_t)tag;
		abbrev.has_children = cursor_u8(c);

		int code = read_attrs(table, &abbrev, c);

		if (code)
			return code;
		abbrev.size = fixed_size(table, &abbrev);
		if (vector_push(table, abbrev))
			return -ENOMEM;
		table->is_dense = table->is_dense && abbrev.code == table->nr;
	}
	return c->bad ? -EINVAL : 0;
}

static int compare_codes(const void *left, const void *right)
{
	const struct abbrev *a = left, *b = right;

	if (a->code != b->code)
		return a->code < b->code ? -1 : 1;
	return a->first_attr < b->first_attr ? -1 : a->first_attr > b->first_attr;
}

const struct abbrev *abbrev_find_sparse(const struct abbrev_table *table, uint64_t code)
{
	/* the first of those with one code is the one that counts */
	size_t at = code ? SORTED_UP_TO(table->list, code, table->nr, code - 1) : table->nr;

	return at < table->nr && table->list[at].code == code ? &table->list[at] : NULL;
}

static void cleanup_table(struct abbrev_table **table)
{
	abbrev_table_destroy(*table);
}

int abbrev_table_create(struct dwarf_file *file, uint64_t off, struct form_sizes sizes,
			struct abbrev_table **ret, struct fpl_err *err)
{
	CLEANUP(cleanup_table) struct abbrev_table *table = calloc(1, sizeof(*table));
	struct cursor c = dwarf_at(file, DWARF_ABBREV, off), start = c;
	int code;

	if (!table)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", file->elf->name);
	if (c.bad)
		return dwarf_fail(file, DWARF_ABBREV, off, -EINVAL, "behind the end", err);
	table->off = off;
	table->sizes = sizes;
	table->is_dense = true;
	/* never NULL: an entry may have no attributes at all */
	code = vector_reserve(&table->attrs, 1) || vector_reserve(&table->steps, 1)
		       ? -ENOMEM
		       : read_table(table, &c);
	if (dwarf_work(file, (uint64_t)(c.pos - start.pos), err))
		return -E2BIG;
	if (code == -ENOMEM)
		return fpl_fail(err, code, "%s: out of memory", file->elf->name);
	if (code)
		return dwarf_fail(file, DWARF_ABBREV, off, code, "abbreviations that do not end",
				  err);
	if (!table->is_dense)
		qsort(table->list, table->nr, sizeof(*table->list), compare_codes);
	*ret = TAKE_PTR(table);
	return 0;
}

void abbrev_table_destroy(struct abbrev_table *table)
{
	if (!table)
		return;
	vector_fini(&table->attrs);
	vector_fini(&table->values);
	vector_fini(&table->steps);
	vector_fini(table);
	free(table);
}
