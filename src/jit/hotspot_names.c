/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/sorted.h"
#include "jit/hotspot_blob.h"

#define NAME_MAX_BYTES 512u /* of a class, of a method, and of a file without its folder */

struct walk {
	struct jit_memory *memory;
	const struct hotspot *hotspot;
	struct code_table *table;
	const uint64_t *asked; /* [nr_asked], ascending */
	size_t nr_asked;
	bool has_all_scopes;
	uint64_t tag; /* of the address at hand: the bits above the address alone */
};

/* The functions at one address, and their texts. */
struct inlining {
	struct symbol_line lines[SYMBOL_LINES_MAX];
	char text[SYMBOL_LINES_MAX * 256]; /* [size] */
	size_t size;
};

/* The text of the Symbol at @symbol, cut off. */
static bool read_symbol(const struct walk *walk, uint64_t symbol, char ret[NAME_MAX_BYTES])
{
	const struct hotspot_names_layout *layout = &walk->hotspot->layout;
	uint64_t length;

	if (!jit_read_uint(walk->memory, symbol + layout->text_length, 2, &length))
		return false;
	if (length > NAME_MAX_BYTES - 1)
		length = NAME_MAX_BYTES - 1;
	ret[length] = '\0';
	return length && jit_read(walk->memory, symbol + layout->text, ret, length) &&
	       strlen(ret) == length;
}

static bool follow(const struct walk *walk, uint64_t addr, uint64_t *ret)
{
	return jit_read_uint(walk->memory, addr, 8, ret) && *ret;
}

/* "java/lang/String" is written java.lang.String in Java. */
static void dot(char *name)
{
	for (; *name; name++)
		if (*name == '/')
			*name = '.';
}

struct method_name {
	char class[NAME_MAX_BYTES]; /* "java/lang/String" */
	char name[NAME_MAX_BYTES];
	uint64_t pool; /* the address of its ConstantPool */
};

/* The symbol of number @idx in the ConstantPool at @pool. */
static bool read_pooled(const struct walk *walk, uint64_t pool, uint64_t idx,
			char ret[NAME_MAX_BYTES])
{
	uint64_t symbol;

	return follow(walk, pool + walk->hotspot->layout.pool_size + 8 * idx, &symbol) &&
	       read_symbol(walk, symbol, ret);
}

/* How the Method at @method is called. */
static bool read_method(const struct walk *walk, uint64_t method, struct method_name *ret)
{
	const struct hotspot_names_layout *layout = &walk->hotspot->layout;
	uint64_t code, idx, symbol, holder;

	return follow(walk, method + layout->const_method, &code) &&
	       follow(walk, code + layout->constants, &ret->pool) &&
	       jit_read_uint(walk->memory, code + layout->name, 2, &idx) &&
	       read_pooled(walk, ret->pool, idx, ret->name) &&
	       follow(walk, ret->pool + layout->holder, &holder) &&
	       follow(walk, holder + layout->class_name, &symbol) &&
	       read_symbol(walk, symbol, ret->class);
}

/* The file of @method: that of its package, "java/lang/String.java". */
static bool read_file(const struct walk *walk, const struct method_name *method,
		      char ret[2 * NAME_MAX_BYTES])
{
	const struct hotspot_scopes_layout *scopes = &walk->hotspot->scopes;
	const char *slash = strrchr(method->class, '/');
	char name[NAME_MAX_BYTES];
	uint64_t idx;

	if (!scopes->has_source ||
	    !jit_read_uint(walk->memory, method->pool + scopes->source, 2, &idx) || !idx ||
	    !read_pooled(walk, method->pool, idx, name))
		return false;
	snprintf(ret, 2 * NAME_MAX_BYTES, "%.*s%s", slash ? (int)(slash + 1 - method->class) : 0,
		 method->class, name);
	return true;
}

/* "class.method" in @ret. */
static void write_name(const struct method_name *method, char ret[2 * NAME_MAX_BYTES])
{
	char class[NAME_MAX_BYTES];

	memcpy(class, method->class, sizeof(class));
	dot(class);
	snprintf(ret, 2 * NAME_MAX_BYTES, "%s.%s", class, method->name);
}

/* Appends @text, which is the caller's until the next address; NULL: no room. */
static const char *keep_text(struct inlining *inlining, const char *text)
{
	size_t size = strlen(text) + 1;
	char *ret = inlining->text + inlining->size;

	if (size > sizeof(inlining->text) - inlining->size)
		return NULL;
	memcpy(ret, text, size);
	inlining->size += size;
	return ret;
}

/* Read the method, the file and the line of @scope. Without a file there is no line. */
static bool read_line(const struct walk *walk, const struct hotspot_scope *scope,
		      uint32_t least_byte, struct inlining *inlining, struct symbol_line *ret)
{
	struct method_name method;
	char text[2 * NAME_MAX_BYTES];

	if (!read_method(walk, scope->method, &method))
		return false;
	write_name(&method, text);
	*ret = (struct symbol_line){ .name = keep_text(inlining, text) };
	if (!ret->name || !read_file(walk, &method, text))
		return ret->name;
	ret->file = keep_text(inlining, text);
	ret->line = hotspot_scope_line(walk->memory, &walk->hotspot->scopes, scope, least_byte);
	return ret->file;
}

/* Add the functions at @asked, in @nmethod, if they are known. */
static int add_inlined(const struct walk *walk, const struct hotspot_nmethod *nmethod,
		       uint64_t asked)
{
	struct hotspot_scopes scopes;
	struct inlining inlining;
	uint64_t pc = fpl_code_plain(asked >> HOTSPOT_ASKED_SHIFT);
	bool is_leaf = asked & HOTSPOT_ASKED_LEAF;

	inlining.size = 0;
	if ((is_leaf && !walk->has_all_scopes) ||
	    !hotspot_scopes_read(walk->memory, &walk->hotspot->scopes, nmethod, pc, is_leaf,
				 &scopes))
		return 0;
	for (size_t i = 0; i < scopes.nr; i++)
		if (!read_line(walk, &scopes.list[i], scopes.least_byte, &inlining,
			       &inlining.lines[i]))
			return 0;
	return code_table_add_lines(walk->table, walk->tag + pc, walk->tag + nmethod->begin, 0,
				    inlining.lines, scopes.nr);
}

/* The same of all addresses in @nmethod, which ends at @end, of which it is asked. */
static int add_all_inlined(const struct walk *walk, const struct hotspot_nmethod *nmethod,
			   uint64_t end)
{
	size_t i = SORTED_NUMBERS(walk->asked, walk->nr_asked,
				  (walk->tag + nmethod->begin) << HOTSPOT_ASKED_SHIFT);
	int code = 0;

	end += walk->tag;
	for (; !code && i < walk->nr_asked && walk->asked[i] >> HOTSPOT_ASKED_SHIFT < end; i++)
		if (walk->asked[i] & HOTSPOT_ASKED_LINES)
			code = add_inlined(walk, nmethod, walk->asked[i]);
	return code;
}

static int add_nmethod(const struct walk *walk, const struct hotspot_nmethod *nmethod, uint64_t end)
{
	struct method_name method;
	char name[2 * NAME_MAX_BYTES];
	uint64_t id;
	int code;

	if (!jit_read_uint(walk->memory, nmethod->blob + walk->hotspot->layout.compile_id, 4,
			   &id) ||
	    (walk->tag && walk->tag != (FPL_CODE_TAGGED | fpl_frame_tag((uint32_t)id))) ||
	    !read_method(walk, nmethod->method, &method))
		return 0;
	write_name(&method, name);
	code = code_table_add(walk->table, walk->tag + nmethod->begin, end - nmethod->begin, 0,
			      name, strlen(name));
	return code || !walk->hotspot->has_scopes ? code : add_all_inlined(walk, nmethod, end);
}

/* Is it one of the methods of its class? One that was redefined is not, nor is other memory. */
static bool is_method(const struct walk *walk, uint64_t method, const struct method_name *name)
{
	const struct hotspot_names_layout *layout = &walk->hotspot->layout;
	uint64_t code, holder, methods, idnum, nr, found;

	return follow(walk, method + layout->const_method, &code) &&
	       follow(walk, name->pool + layout->holder, &holder) &&
	       follow(walk, holder + layout->methods, &methods) &&
	       jit_read_uint(walk->memory, code + layout->idnum, 2, &idnum) &&
	       jit_read_uint(walk->memory, methods + layout->methods_length, 4, &nr) &&
	       idnum < nr &&
	       jit_read_uint(walk->memory, methods + layout->methods_data + 8 * idnum, 8, &found) &&
	       found == method;
}

/* The Method at @addr, which a frame of the interpreter runs; a part of the tag is in @addr. */
static int add_method(const struct walk *walk, uint64_t addr)
{
	const struct hotspot_names_layout *layout = &walk->hotspot->layout;
	uint64_t at = addr & ~FPL_METHOD_LOW_MASK, code, idx, tag;
	struct method_name method;
	char name[2 * NAME_MAX_BYTES];

	if (!walk->hotspot->has_methods || !follow(walk, at + layout->const_method, &code) ||
	    !jit_read_uint(walk->memory, code + layout->name, 2, &idx))
		return 0;
	tag = fpl_method_tag(code, (uint16_t)idx);
	if ((walk->tag && walk->tag + addr != (FPL_CODE_TAGGED | at | tag)) ||
	    !read_method(walk, at, &method) || !is_method(walk, at, &method))
		return 0;
	write_name(&method, name);
	return code_table_add(walk->table, walk->tag + addr, 1, 0, name, strlen(name));
}

/* *ret_end: where the code of @blob ends, if it makes sense. */
static int add_blob(const struct walk *walk, const struct hotspot_blob *blob, uint64_t *ret_end)
{
	struct hotspot_nmethod nmethod = { .blob = blob->at };
	struct hotspot_code code;
	char name[256];

	if (!hotspot_blob_read(walk->memory, walk->hotspot, blob, &code))
		return 0;
	*ret_end = walk->tag + code.end;
	nmethod.begin = code.begin;
	if (!strcmp(code.kind, "nmethod") || !strcmp(code.kind, "native nmethod"))
		return follow(walk, blob->at + walk->hotspot->layout.method, &nmethod.method)
			       ? add_nmethod(walk, &nmethod, code.end)
			       : 0;
	if (walk->tag)
		return 0;
	snprintf(name, sizeof(name), "%.200s", code.kind);
	return code_table_add(walk->table, code.begin, code.end - code.begin, 0, name,
			      strlen(name));
}

/* The blob around @pc. *ret_end: where its code ends; @pc: it is not known. */
static int add_code(const struct walk *walk, uint64_t pc, uint64_t *ret_end)
{
	const struct hotspot *hotspot = walk->hotspot;
	struct hotspot_blob blob;

	*ret_end = walk->tag + pc;
	for (size_t i = 0; i < hotspot->nr_heaps; i++) {
		const struct fpl_region *heap = &hotspot->heaps[i];

		if (pc >= heap->start && pc < heap->end)
			return hotspot_blob_find(walk->memory, hotspot, heap, pc, &blob)
				       ? add_blob(walk, &blob, ret_end)
				       : 0;
	}
	return 0;
}

int hotspot_names(struct jit_memory *memory, const struct hotspot *hotspot, const uint64_t *asked,
		  size_t nr_asked, struct code_table *ret)
{
	struct walk walk = {
		.memory = memory,
		.hotspot = hotspot,
		.table = ret,
		.asked = asked,
		.nr_asked = nr_asked,
	};
	uint64_t end = 0;
	int code = 0;

	walk.has_all_scopes =
		nr_asked && hotspot->has_scopes && hotspot_has_all_scopes(memory, &hotspot->scopes);
	for (size_t i = 0; hotspot->has_names && !code && i < nr_asked; i++) {
		uint64_t addr = asked[i] >> HOTSPOT_ASKED_SHIFT, pc = fpl_code_plain(addr);

		walk.tag = addr - pc;
		if (asked[i] & HOTSPOT_ASKED_METHOD)
			code = add_method(&walk, pc);
		else if (addr >= end)
			code = add_code(&walk, pc, &end);
	}
	return code;
}
