/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/go_pclntab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "unwind/go_code.h"
#include "unwind/go_depth.h"

enum {
	/* of abi.FuncFlag */
	FLAG_TOPFRAME = 1,
	FLAG_SPWRITE = 2,
	FLAG_ASM = 4,
};

void go_functions_fini(struct go_functions *functions)
{
	free(functions->list);
	go_table_fini(&functions->table);
	free(functions->code);
	*functions = (struct go_functions){ .nr = 0 };
}

const uint8_t *go_function_code(const struct go_functions *functions,
				const struct go_function *function)
{
	return functions->code + (function->start - functions->code_start);
}

static bool read_function(const struct go_table *table, uint64_t text, uint64_t idx,
			  struct go_function *ret, uint8_t *ret_flags)
{
	uint64_t entry_off = table->functions_off + idx * GO_FUNCTAB_ENTRY;
	uint32_t entry = go_table_u32(table, entry_off);
	uint32_t end = go_table_u32(table, entry_off + GO_FUNCTAB_ENTRY);
	uint64_t record = table->functions_off + go_table_u32(table, entry_off + 4);
	uint64_t flags_off = go_table_record_bytes(table) + 1;

	if (record >= table->size || table->size - record <= flags_off || entry >= end ||
	    go_table_u32(table, record) != entry)
		return false;
	*ret_flags = table->bytes[record + flags_off];
	*ret = (struct go_function){
		.start = text + entry,
		.end = text + end,
		.depths = go_table_u32(table, record + GO_RECORD_DEPTHS),
		.record = (uint32_t)(record - table->functions_off),
		.is_asm = (*ret_flags & FLAG_ASM) != 0,
	};
	return true;
}

/*
 * The code from the first function to the end of the last: in .text, which the file's identity
 * covers (obj/identity.h).
 */
static int read_code(const struct elf_file *elf, const struct go_table *table, uint64_t text,
		     struct budget *budget, struct go_functions *functions, struct fpl_err *err)
{
	const struct elf_section *section = elf_file_section(elf, ".text");
	uint64_t functab = table->functions_off;
	uint64_t first = go_table_u32(table, functab);
	uint64_t end = go_table_u32(table, functab + table->nr_functions * GO_FUNCTAB_ENTRY);

	if (end <= first || text > UINT64_MAX - end || !section || section->type == SHT_NOBITS)
		return -ENODATA;

	uint64_t start = text + first, size = end - first;

	if (start < section->vaddr || start - section->vaddr > section->size ||
	    size > section->size - (start - section->vaddr))
		return -ENODATA;

	int code = budget_memory(budget, size, err);

	if (code)
		return code;
	functions->code_start = start;
	functions->code_size = size;
	functions->code = malloc(size);
	if (!functions->code)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", elf->name);
	if (elf_file_read(elf, section->off + (start - section->vaddr), functions->code, size,
			  NULL))
		return -ENODATA;
	return 0;
}

static int read_list(const struct go_table *table, uint64_t text, struct budget *budget,
		     uint8_t **ret_flags, struct go_functions *functions, struct fpl_err *err)
{
	uint64_t nr = table->nr_functions;
	uint64_t at = functions->code_start, end = at + functions->code_size;
	int code = budget_memory(budget, nr * (sizeof(*functions->list) + 1), err);

	if (code)
		return code;
	functions->list = calloc(nr, sizeof(*functions->list));
	*ret_flags = calloc(nr, 1);
	if (!functions->list || !*ret_flags)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", budget->name);
	for (uint64_t i = 0; i < nr; i++) {
		struct go_function *function = &functions->list[functions->nr];
		uint8_t flags;

		if (!read_function(table, text, i, function, &flags) || function->start < at ||
		    function->end > end) {
			functions->nr_bad++;
			continue;
		}
		at = function->end;
		(*ret_flags)[functions->nr++] = flags;
	}
	return functions->nr ? 0 : -ENODATA;
}

/* Does the code save the frame pointer at the pc where the table says that a frame begins? */
static bool is_placed(const struct go_functions *functions)
{
	size_t nr_framed = 0, nr_saving = 0;

	for (size_t i = 0; i < functions->nr; i++) {
		const struct go_function *function = &functions->list[i];
		struct go_value at = go_depth_begin(functions, function);

		if (function->is_asm || !function->depths)
			continue;
		while (go_depth_next(&at)) {
			struct go_frame frame;

			if (at.value == 0)
				continue;
			nr_framed++;
			nr_saving += go_code_frame(go_function_code(functions, function),
						   function->end - function->start,
						   at.start - function->start, at.value, &frame);
			break;
		}
	}
	return nr_framed > 0 && 2 * nr_saving >= nr_framed;
}

/*
 * Does a function that is marked as outermost return? The signal handler does, to the restorer: it
 * is outermost for Go, which looks at each goroutine by itself. Its last instruction is a return
 * after its frame was given up.
 */
static bool is_returning(const struct go_functions *functions, const struct go_function *function)
{
	struct go_value at = go_depth_begin(functions, function);
	int64_t before = 0, last = 0;
	uint64_t start = 0, end = 0;

	while (go_depth_next(&at)) {
		before = last;
		last = at.value;
		start = at.start;
		end = at.end;
	}
	return before > 0 && last == 0 && end == start + 1 &&
	       go_code_is_return(go_function_code(functions, function)[start - function->start]);
}

static void classify(struct go_functions *functions, const uint8_t *flags, uint64_t entry)
{
	for (size_t i = 0; i < functions->nr; i++) {
		struct go_function *function = &functions->list[i];
		const uint8_t *code = go_function_code(functions, function);
		uint64_t size = function->end - function->start;

		if (go_code_is_sigreturn(code, size)) {
			function->kind = GO_SIGRETURN;
			/* A return address is looked up by the byte before it. */
			if (i > 0 && function[-1].end == function->start &&
			    go_code_is_padding(code[-1])) {
				function[-1].end--;
				function->start--;
			}
		} else if (function->start == entry ||
			   ((flags[i] & FLAG_TOPFRAME) && !is_returning(functions, function))) {
			function->kind = GO_OUTERMOST;
		} else if (flags[i] & FLAG_SPWRITE) {
			function->kind = GO_SWITCH;
			if (!functions->layout.known)
				go_way_layout(code, size, &functions->layout);
		}
	}
}

/* Find the functions of assembly that preserve their caller's g. */
static int find_keepers(struct go_functions *functions, const char *name, struct fpl_err *err)
{
	struct synth_decoder *decoder = synth_decoder_create();
	enum {
		SIZE_MOST = 1024, /* the functions used by the system stack are shorter */
		REG_G = 14,
	};

	if (!decoder)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", name);
	for (size_t i = 0; i < functions->nr; i++) {
		struct go_function *function = &functions->list[i];
		uint64_t size = function->end - function->start;

		function->keeps_g =
			function->is_asm && size <= SIZE_MOST &&
			go_code_keeps(decoder, go_function_code(functions, function), size, REG_G);
	}
	synth_decoder_destroy(decoder);
	return 0;
}

/* Assume that the functions begin at @text, unless their code refutes it. */
static int read_at(const struct elf_file *elf, uint64_t text, bool all, struct budget *budget,
		   struct go_functions *functions, struct fpl_err *err)
{
	AUTO_FREE uint8_t *flags = NULL;
	int code = read_code(elf, &functions->table, text, budget, functions, err);

	if (code == 0)
		code = read_list(&functions->table, text, budget, &flags, functions, err);
	if (code == 0 && !is_placed(functions))
		code = -ENODATA;
	if (code == 0 && !all)
		return 0;
	if (code == 0) {
		classify(functions, flags, elf->entry);
		return find_keepers(functions, elf->name, err);
	}
	budget->memory_bytes -= functions->code ? functions->code_size : 0;
	free(functions->code);
	free(functions->list);
	functions->code = NULL;
	functions->list = NULL;
	functions->nr = 0;
	return code;
}

/* Read the functions; with @all also what their frames need. */
static int read_functions(const struct elf_file *elf, bool all, struct budget *budget,
			  struct go_functions *ret, struct fpl_err *err)
{
	const struct elf_section *text = elf_file_section(elf, ".text");

	*ret = (struct go_functions){ .nr = 0 };

	int code = go_table_find(elf, budget, &ret->table, err);

	if (code == 0) {
		const uint64_t places[] = { ret->table.text, go_table_text(elf, &ret->table),
					    text ? text->vaddr : 0 };

		code = -ENODATA;
		for (size_t i = 0; i < ARRAY_SIZE(places) && code == -ENODATA; i++)
			if (places[i])
				code = read_at(elf, places[i], all, budget, ret, err);
	}
	if (code == 0)
		return 0;
	go_functions_fini(ret);
	return code == -EFBIG || code == -ENOMEM ? code : 0;
}

int go_functions_read(const struct elf_file *elf, struct budget *budget, struct go_functions *ret,
		      struct fpl_err *err)
{
	return read_functions(elf, true, budget, ret, err);
}

int go_functions_list(const struct elf_file *elf, struct budget *budget, struct go_functions *ret,
		      struct fpl_err *err)
{
	return read_functions(elf, false, budget, ret, err);
}
