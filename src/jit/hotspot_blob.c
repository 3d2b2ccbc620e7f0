/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/hotspot_blob.h"

#include <string.h>

/* The block at @block. *is_used: it is a blob, and no free memory. False: it makes no sense. */
static bool read_block(struct jit_memory *memory, const struct hotspot *hotspot,
		       const struct fpl_region *heap, uint64_t block, struct hotspot_blob *ret,
		       bool *is_used)
{
	const struct hotspot_names_layout *layout = &hotspot->layout;
	uint64_t length, used;

	if (!jit_read_uint(memory, block + layout->block_length, layout->block_length_bytes,
			   &length) ||
	    !jit_read_uint(memory, block + layout->block_used, 1, &used) || !length ||
	    length > (heap->end - block) >> heap->segment_log2)
		return false;
	length <<= heap->segment_log2;
	*ret = (struct hotspot_blob){ heap, block + heap->block_bytes, length - heap->block_bytes };
	*is_used = used;
	return length > heap->block_bytes;
}

bool hotspot_blob_find(struct jit_memory *memory, const struct hotspot *hotspot,
		       const struct fpl_region *heap, uint64_t pc, struct hotspot_blob *ret)
{
	uint64_t segment = (pc - heap->start) >> heap->segment_log2, hop = 0, block;
	bool is_used;

	for (unsigned i = 0; i < FPL_SEGMENT_HOPS; i++) {
		if (segment >= heap->segmap_bytes ||
		    !jit_read_uint(memory, heap->segmap + segment, 1, &hop) || hop == 0xff ||
		    hop > segment)
			return false;
		if (!hop)
			break;
		segment -= hop;
	}
	block = heap->start + (segment << heap->segment_log2);
	return !hop && read_block(memory, hotspot, heap, block, ret, &is_used) && is_used &&
	       pc - block < ret->room + heap->block_bytes;
}

bool hotspot_blob_read(struct jit_memory *memory, const struct hotspot *hotspot,
		       const struct hotspot_blob *blob, struct hotspot_code *ret)
{
	const struct fpl_region *heap = blob->heap;
	uint64_t text, size;

	if (!jit_read_uint(memory, blob->at + heap->name_off, 8, &text) || !text ||
	    !jit_read_text(memory, text, ret->kind) ||
	    !jit_read_uint(memory, blob->at + hotspot->layout.blob_size, 4, &size) ||
	    size > blob->room ||
	    !jit_read_uint(memory, blob->at + heap->code_off, heap->code_bytes, &ret->begin))
		return false;
	if (heap->code_bytes == 4)
		ret->begin += blob->at;
	ret->end = blob->at + size;
	return ret->begin >= blob->at && ret->begin < ret->end;
}

bool hotspot_stubs_next(struct jit_memory *memory, const struct hotspot *hotspot,
			const struct fpl_region *heap, uint64_t *block, struct hotspot_code *ret)
{
	static const char stubs[] = "StubRoutines";
	struct hotspot_blob blob;
	bool is_used;

	for (unsigned i = 0; i < HOTSPOT_BLOCKS_MAX && *block < heap->end; i++) {
		if (!read_block(memory, hotspot, heap, *block, &blob, &is_used))
			return false;
		*block = blob.at + blob.room;
		if (is_used && hotspot_blob_read(memory, hotspot, &blob, ret) &&
		    !strncmp(ret->kind, stubs, sizeof(stubs) - 1))
			return true;
	}
	return false;
}
