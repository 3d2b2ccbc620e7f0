/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "jit/hotspot.h"

#define NAME_MAX_BYTES 512u /* of a class, and of a method */

struct walk {
	struct jit_memory *memory;
	const struct hotspot *hotspot;
	struct code_table *table;
	uint32_t blobs_left;
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

/* The name of the Method at @method, as "class.method". */
static bool read_method(const struct walk *walk, uint64_t method, char ret[2 * NAME_MAX_BYTES])
{
	const struct hotspot_names_layout *layout = &walk->hotspot->layout;
	char class_name[NAME_MAX_BYTES], name[NAME_MAX_BYTES];
	uint64_t code, pool, index, symbol, holder;

	if (!follow(walk, method + layout->const_method, &code) ||
	    !follow(walk, code + layout->constants, &pool) ||
	    !jit_read_uint(walk->memory, code + layout->name, 2, &index) ||
	    !follow(walk, pool + layout->pool_size + 8 * index, &symbol) ||
	    !read_symbol(walk, symbol, name) || !follow(walk, pool + layout->holder, &holder) ||
	    !follow(walk, holder + layout->class_name, &symbol) ||
	    !read_symbol(walk, symbol, class_name))
		return false;
	dot(class_name);
	snprintf(ret, 2 * NAME_MAX_BYTES, "%s.%s", class_name, name);
	return true;
}

/* The blob at @addr, of at most @room bytes. */
static int add_blob(const struct walk *walk, const struct fpl_region *heap, uint64_t addr,
		    uint64_t room)
{
	const struct hotspot_names_layout *layout = &walk->hotspot->layout;
	char kind[JIT_TEXT_MAX], name[2 * NAME_MAX_BYTES];
	uint64_t text, size, begin, method;

	if (!follow(walk, addr + heap->name_off, &text) ||
	    !jit_read_text(walk->memory, text, kind) ||
	    !jit_read_uint(walk->memory, addr + layout->blob_size, 4, &size) || size > room ||
	    !jit_read_uint(walk->memory, addr + heap->code_off, heap->code_bytes, &begin))
		return 0;
	if (heap->code_bytes == 4)
		begin += addr;
	if (begin < addr || begin >= addr + size)
		return 0;
	if (!strcmp(kind, "nmethod") || !strcmp(kind, "native nmethod")) {
		if (!follow(walk, addr + layout->method, &method) ||
		    !read_method(walk, method, name))
			return 0;
	} else {
		snprintf(name, sizeof(name), "%.200s", kind);
	}
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

int hotspot_names(struct jit_memory *memory, const struct hotspot *hotspot, struct code_table *ret)
{
	struct walk walk = {
		.memory = memory,
		.hotspot = hotspot,
		.table = ret,
		.blobs_left = HOTSPOT_BLOBS_MAX,
	};
	int code = 0;

	for (size_t i = 0; hotspot->has_names && !code && i < hotspot->nr_heaps; i++)
		code = add_heap(&walk, &hotspot->heaps[i]);
	return code;
}
