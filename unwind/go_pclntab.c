/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/go_pclntab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "unwind/go_code.h"
#include "unwind/go_depth.h"

enum {
	HEADER_SIZE = 72,
	FUNCTAB_ENTRY = 8,	 /* offsets of the entry, and of the function's record */
	MAGIC_118 = 0xfffffff0u, /* Go 1.18 and 1.19 */
	MAGIC_120 = 0xfffffff1u, /* since */
	MODULE_TABLE = 0,	 /* in struct moduledata: address of the table */
	MODULE_TEXT = 176,	 /* address of the first function: the table's own since Go 1.26 */
	/* of abi.FuncFlag */
	FLAG_TOPFRAME = 1,
	FLAG_SPWRITE = 2,
	FLAG_ASM = 4,
};

/* The header, runtime.pcHeader. Offsets count from it. */
struct header {
	const uint8_t *bytes; /* [size]: the table, to the end of its section */
	size_t size;
	uint64_t vaddr;
	uint32_t magic;
	uint64_t nr_functions;
	uint64_t text; /* 0: not said here */
	uint64_t depths_off, functions_off;
};

void go_functions_fini(struct go_functions *functions)
{
	free(functions->list);
	free(functions->bytes);
	free(functions->code);
	*functions = (struct go_functions){ .nr = 0 };
}

const uint8_t *go_function_code(const struct go_functions *functions,
				const struct go_function *function)
{
	return functions->code + (function->start - functions->code_start);
}

static bool read_header(const uint8_t *bytes, size_t size, uint64_t vaddr, struct header *ret)
{
	static const uint8_t fixed[4] = { 0, 0, 1, 8 }; /* padding, pc quantum, pointer size */
	struct cursor c = cursor_make(bytes, size);

	*ret = (struct header){ .bytes = bytes, .size = size, .vaddr = vaddr };
	ret->magic = cursor_u32(&c);
	if (size < HEADER_SIZE || (ret->magic != MAGIC_118 && ret->magic != MAGIC_120) ||
	    memcmp(cursor_skip(&c, sizeof(fixed)), fixed, sizeof(fixed)) != 0)
		return false;
	ret->nr_functions = cursor_u64(&c);
	cursor_skip(&c, 8); /* files */
	ret->text = cursor_u64(&c);
	cursor_skip(&c, 3 * 8ull); /* names, units, paths */
	ret->depths_off = cursor_u64(&c);
	ret->functions_off = cursor_u64(&c);
	return ret->depths_off < size && ret->functions_off < size && ret->nr_functions > 0 &&
	       ret->nr_functions < (size - ret->functions_off) / FUNCTAB_ENTRY;
}

/* The section that holds the table: its own, or that of relocated read-only data. */
static const struct elf_section *table_section(const struct elf_file *elf)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct elf_section *section = elf_file_section(elf, names[i]);

		if (section)
			return section;
	}
	return elf_file_section(elf, ".go.buildinfo") ? elf_file_section(elf, ".data.rel.ro")
						      : NULL;
}

/* Find the header: at the beginning of a section of its own, else at some multiple of 8. */
static int find_header(const struct elf_file *elf, struct budget *budget,
		       struct go_functions *functions, struct header *ret, struct fpl_err *err)
{
	const struct elf_section *section = table_section(elf);
	size_t size;

	if (!section || section->type == SHT_NOBITS)
		return -ENODATA;

	int code = elf_file_section_bytes(elf, section, (size_t)budget_memory_left(budget),
					  &functions->bytes, &size, err);

	if (code)
		return code;
	code = budget_memory(budget, size, err);
	for (size_t at = 0; code == 0 && at + HEADER_SIZE <= size; at += 8)
		if (read_header(functions->bytes + at, size - at, section->vaddr + at, ret))
			return 0;
	return code ? code : -ENODATA;
}

/* Since Go 1.26 only the run time's own record of the module holds the functions' address. */
static uint64_t module_text(const struct elf_file *elf, const struct header *header)
{
	const struct elf_section *section = elf_file_section(elf, ".go.module");
	uint64_t table, text;

	if (!section || section->type == SHT_NOBITS || section->size < MODULE_TEXT + sizeof(text) ||
	    elf_file_read(elf, section->off + MODULE_TABLE, &table, sizeof(table), NULL) ||
	    elf_file_read(elf, section->off + MODULE_TEXT, &text, sizeof(text), NULL))
		return 0;
	return table == header->vaddr ? text : 0;
}

static uint32_t u32_at(const struct header *header, uint64_t off)
{
	uint32_t value = 0;

	if (off <= header->size - sizeof(value))
		memcpy(&value, header->bytes + off, sizeof(value));
	return value;
}

/* Read the record of a function, struct _func of runtime/runtime2.go. */
static bool read_function(const struct header *header, uint64_t text, uint64_t idx,
			  struct go_function *ret, uint8_t *ret_flags)
{
	uint64_t entry_off = header->functions_off + idx * FUNCTAB_ENTRY;
	uint32_t entry = u32_at(header, entry_off), end = u32_at(header, entry_off + FUNCTAB_ENTRY);
	uint64_t record = header->functions_off + u32_at(header, entry_off + 4);
	/* Go 1.20 put the function's first line before the fields of single bytes. */
	uint64_t flags_off = header->magic == MAGIC_118 ? 37 : 41;
	enum { RECORD_DEPTHS = 16 };

	if (record >= header->size || header->size - record <= flags_off || entry >= end ||
	    u32_at(header, record) != entry)
		return false;
	*ret_flags = header->bytes[record + flags_off];
	*ret = (struct go_function){
		.start = text + entry,
		.end = text + end,
		.depths = u32_at(header, record + RECORD_DEPTHS),
		.is_asm = (*ret_flags & FLAG_ASM) != 0,
	};
	return true;
}

/*
 * The code from the first function to the end of the last: in .text, which the file's identity
 * covers (obj/identity.h).
 */
static int read_code(const struct elf_file *elf, const struct header *header, uint64_t text,
		     struct budget *budget, struct go_functions *functions, struct fpl_err *err)
{
	const struct elf_section *section = elf_file_section(elf, ".text");
	uint64_t functab = header->functions_off;
	uint64_t first = u32_at(header, functab);
	uint64_t end = u32_at(header, functab + header->nr_functions * FUNCTAB_ENTRY);

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

static int read_list(const struct header *header, uint64_t text, struct budget *budget,
		     uint8_t **ret_flags, struct go_functions *functions, struct fpl_err *err)
{
	uint64_t nr = header->nr_functions;
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

		if (!read_function(header, text, i, function, &flags) || function->start < at ||
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
		struct go_depth at = go_depth_begin(functions, function);

		if (function->is_asm || !function->depths)
			continue;
		while (go_depth_next(&at)) {
			struct go_frame frame;

			if (at.depth == 0)
				continue;
			nr_framed++;
			nr_saving += go_code_frame(go_function_code(functions, function),
						   function->end - function->start,
						   at.start - function->start, at.depth, &frame);
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
	struct go_depth at = go_depth_begin(functions, function);
	int64_t before = 0, last = 0;
	uint64_t start = 0, end = 0;

	while (go_depth_next(&at)) {
		before = last;
		last = at.depth;
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
static int read_at(const struct elf_file *elf, const struct header *header, uint64_t text,
		   struct budget *budget, struct go_functions *functions, struct fpl_err *err)
{
	AUTO_FREE uint8_t *flags = NULL;
	int code = read_code(elf, header, text, budget, functions, err);

	if (code == 0)
		code = read_list(header, text, budget, &flags, functions, err);
	if (code == 0 && !is_placed(functions))
		code = -ENODATA;
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

int go_functions_read(const struct elf_file *elf, struct budget *budget, struct go_functions *ret,
		      struct fpl_err *err)
{
	const struct elf_section *text = elf_file_section(elf, ".text");
	struct header header;

	*ret = (struct go_functions){ .nr = 0 };

	int code = find_header(elf, budget, ret, &header, err);

	if (code == 0) {
		const uint64_t places[] = { header.text, module_text(elf, &header),
					    text ? text->vaddr : 0 };

		ret->depths = header.bytes + header.depths_off;
		ret->depths_size = header.size - header.depths_off;
		code = -ENODATA;
		for (size_t i = 0; i < ARRAY_SIZE(places) && code == -ENODATA; i++)
			if (places[i])
				code = read_at(elf, &header, places[i], budget, ret, err);
	}
	if (code == 0)
		return 0;
	go_functions_fini(ret);
	return code == -EFBIG || code == -ENOMEM ? code : 0;
}
