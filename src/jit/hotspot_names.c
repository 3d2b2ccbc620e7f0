/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/sorted.h"
#include "jit/hotspot.h"

#define NAME_MAX_BYTES 512u /* of a class, of a method, and of a file without its folder */

struct walk {
	struct jit_memory *memory;
	const struct hotspot *hotspot;
	struct code_table *table;
	uint32_t blobs_left;
	const uint64_t *asked; /* [nr_asked], ascending */
	size_t nr_asked;
	bool has_all_scopes;
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
	uint64_t pc = asked >> 1;
	bool is_leaf = asked & 1;

	inlining.size = 0;
	if ((is_leaf && !walk->has_all_scopes) ||
	    !hotspot_scopes_read(walk->memory, &walk->hotspot->scopes, nmethod, pc, is_leaf,
				 &scopes))
		return 0;
	for (size_t i = 0; i < scopes.nr; i++)
		if (!read_line(walk, &scopes.list[i], scopes.least_byte, &inlining,
			       &inlining.lines[i]))
			return 0;
	return code_table_add_lines(walk->table, pc, nmethod->begin, 0, inlining.lines, scopes.nr);
}

/* The same of all addresses that are asked about in @nmethod, which ends at @end. */
static int add_all_inlined(const struct walk *walk, const struct hotspot_nmethod *nmethod,
			   uint64_t end)
{
	size_t i = SORTED_NUMBERS(walk->asked, walk->nr_asked, nmethod->begin << 1);
	int code = 0;

	for (; !code && i < walk->nr_asked && walk->asked[i] >> 1 < end; i++)
		code = add_inlined(walk, nmethod, walk->asked[i]);
	return code;
}

static int add_nmethod(const struct walk *walk, const struct hotspot_nmethod *nmethod, uint64_t end)
{
	struct method_name method;
	char name[2 * NAME_MAX_BYTES];
	int code;

	if (!read_method(walk, nmethod->method, &method))
		return 0;
	write_name(&method, name);
	code = code_table_add(walk->table, nmethod->begin, end - nmethod->begin, 0, name,
			      strlen(name));
	return code || !walk->hotspot->has_scopes ? code : add_all_inlined(walk, nmethod, end);
}

/* The blob at @addr, of at most @room bytes. */
static int add_blob(const struct walk *walk, const struct fpl_region *heap, uint64_t addr,
		    uint64_t room)
{
	const struct hotspot_names_layout *layout = &walk->hotspot->layout;
	struct hotspot_nmethod nmethod = { .blob = addr };
	char kind[JIT_TEXT_MAX], name[256];
	uint64_t text, size, begin;

	if (!follow(walk, addr + heap->name_off, &text) ||
	    !jit_read_text(walk->memory, text, kind) ||
	    !jit_read_uint(walk->memory, addr + layout->blob_size, 4, &size) || size > room ||
	    !jit_read_uint(walk->memory, addr + heap->code_off, heap->code_bytes, &begin))
		return 0;
	if (heap->code_bytes == 4)
		begin += addr;
	if (begin < addr || begin >= addr + size)
		return 0;
	nmethod.begin = begin;
	if (!strcmp(kind, "nmethod") || !strcmp(kind, "native nmethod"))
		return follow(walk, addr + layout->method, &nmethod.method)
			       ? add_nmethod(walk, &nmethod, addr + size)
			       : 0;
	snprintf(name, sizeof(name), "%.200s", kind);
	return code_table_add(walk->table, begin, addr + size - begin, 0, name, strlen(name));
}

/* One block after the other: each says how many segments it has. */
static int add_heap(struct walk *walk, const struct fpl_region *heap)
{
	const struct hotspot_names_layout *layout = &walk->hotspot->layout;
	uint64_t at = heap->start, length, used;

	while (at < heap->end && walk->blobs_left--) {
		if (!jit_read_uint(walk->memory, at + layout->block_length,
				   layout->block_length_bytes, &length) ||
		    !jit_read_uint(walk->memory, at + layout->block_used, 1, &used))
			return 0; /* behind the part in use */
		if (!length || length > (heap->end - at) >> heap->segment_log2)
			return 0;

		uint64_t bytes = length << heap->segment_log2;

		if (used && bytes > heap->block_bytes) {
			int code = add_blob(walk, heap, at + heap->block_bytes,
					    bytes - heap->block_bytes);

			if (code)
				return code;
		}
		at += bytes;
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
		.blobs_left = HOTSPOT_BLOBS_MAX,
		.asked = asked,
		.nr_asked = nr_asked,
	};
	int code = 0;

	walk.has_all_scopes =
		nr_asked && hotspot->has_scopes && hotspot_has_all_scopes(memory, &hotspot->scopes);
	for (size_t i = 0; hotspot->has_names && !code && i < hotspot->nr_heaps; i++)
		code = add_heap(&walk, &hotspot->heaps[i]);
	return code;
}
