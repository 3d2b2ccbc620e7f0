/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/hotspot_scopes.h"

#include <string.h>

#define STREAM_MAX   (64u << 20) /* bytes */
#define PCS_MAX	     (1u << 20)
#define METADATA_MAX (1u << 20)
#define LINES_MAX    65536u /* entries of a method's table: its code is no longer */
#define FLAGS_MAX    8192u  /* of a JVM; JDK 17 has 1,400 */

/* Numbers of 1 to 5 bytes: those from 192 on say that another one follows, 6 bits more each. */
struct stream {
	struct jit_memory *memory;
	uint64_t at, end;
	uint32_t least_byte;
	bool is_bad;
};

static uint32_t read_byte(struct stream *stream)
{
	uint64_t byte = 0;

	if (stream->at >= stream->end || !jit_read_uint(stream->memory, stream->at++, 1, &byte)) {
		stream->is_bad = true;
		return 0;
	}
	return (uint32_t)byte;
}

static uint32_t read_number(struct stream *stream)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 5; i++) {
		uint32_t byte = read_byte(stream);

		if (stream->is_bad || byte < stream->least_byte) {
			stream->is_bad = true;
			return 0;
		}
		sum += (byte - stream->least_byte) << 6 * i;
		if (byte < 192)
			break;
	}
	return sum;
}

/* The lowest bit is the sign. */
static int64_t read_signed(struct stream *stream)
{
	uint32_t number = read_number(stream);

	return (int32_t)(number >> 1 ^ -(number & 1));
}

/* Addresses: [start, end). */
struct part {
	uint64_t start, end;
};

/* The parts of an nmethod. */
struct parts {
	struct part pcs, data, metadata;
};

/* @base and the number of 4 bytes at @addr. */
static bool read_place(struct jit_memory *memory, uint64_t base, uint64_t addr, uint64_t *ret)
{
	uint64_t off;

	if (!jit_read_uint(memory, addr, 4, &off) || off > INT32_MAX)
		return false;
	*ret = base + off;
	return true;
}

static bool read_parts_of_blob(struct jit_memory *memory,
			       const struct hotspot_scopes_layout *layout, uint64_t blob,
			       struct parts *ret)
{
	if (!read_place(memory, blob, blob + layout->pcs, &ret->pcs.start) ||
	    !read_place(memory, blob, blob + layout->dependencies, &ret->pcs.end) ||
	    !read_place(memory, blob, blob + layout->metadata, &ret->metadata.start) ||
	    !jit_read_uint(memory, blob + layout->data_addr, 8, &ret->data.start))
		return false;
	ret->metadata.end = ret->data.start;
	ret->data.end = ret->pcs.start;
	return true;
}

static bool read_parts_apart(struct jit_memory *memory, const struct hotspot_scopes_layout *layout,
			     uint64_t blob, struct parts *ret)
{
	uint64_t immutable, mutable;

	if (!jit_read_uint(memory, blob + layout->immutable, 8, &immutable) || !immutable ||
	    !jit_read_uint(memory, blob + layout->mutable, 8, &mutable) || !mutable ||
	    !read_place(memory, immutable, blob + layout->pcs, &ret->pcs.start) ||
	    !read_place(memory, immutable, blob + layout->data, &ret->data.start) ||
	    !read_place(memory, immutable, blob + layout->immutable_size, &ret->data.end) ||
	    !read_place(memory, mutable, blob + layout->relocation_size, &ret->metadata.start) ||
	    !read_place(memory, mutable, blob + layout->mutable_size, &ret->metadata.end))
		return false;
	ret->pcs.end = ret->data.start;
	return true;
}

static bool part_holds(const struct part *part, uint64_t max_bytes)
{
	return part->start <= part->end && part->end - part->start <= max_bytes;
}

static bool read_parts(struct jit_memory *memory, const struct hotspot_scopes_layout *layout,
		       uint64_t blob, struct parts *ret)
{
	bool was_read = layout->is_apart ? read_parts_apart(memory, layout, blob, ret)
					 : read_parts_of_blob(memory, layout, blob, ret);

	return was_read && part_holds(&ret->pcs, (uint64_t)PCS_MAX * layout->pc_bytes) &&
	       part_holds(&ret->data, STREAM_MAX) && part_holds(&ret->metadata, 8 * METADATA_MAX);
}

/*
 * Find the scope at @off, counted from the first byte of the code: that of the first PcDesc behind
 * it. Returns where it is in the stream; 0: it is not known.
 */
static uint32_t find_scope(struct jit_memory *memory, const struct hotspot_scopes_layout *layout,
			   const struct part *pcs, uint64_t off, bool is_leaf)
{
	size_t lo = 0, hi = (pcs->end - pcs->start) / layout->pc_bytes, nr = hi;
	uint64_t end = 0, scope;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (!jit_read_uint(memory, pcs->start + mid * layout->pc_bytes + layout->pc_offset,
				   4, &end))
			return 0;
		if ((int32_t)end <= (int64_t)off)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == nr ||
	    !jit_read_uint(memory, pcs->start + lo * layout->pc_bytes + layout->pc_offset, 4,
			   &end) ||
	    (!is_leaf && end != off + 1) ||
	    !jit_read_uint(memory, pcs->start + lo * layout->pc_bytes + layout->pc_scope, 4,
			   &scope))
		return 0;
	return (uint32_t)scope;
}

/* The ConstMethod of the method at @method; 0: unknown. */
static uint64_t const_method_of(struct jit_memory *memory,
				const struct hotspot_scopes_layout *layout, uint64_t method)
{
	uint64_t ret;

	return jit_read_uint(memory, method + layout->const_method, 8, &ret) ? ret : 0;
}

static bool bci_holds(struct jit_memory *memory, const struct hotspot_scopes_layout *layout,
		      const struct hotspot_scope *scope)
{
	uint64_t code = const_method_of(memory, layout, scope->method), size;

	return code && jit_read_uint(memory, code + layout->code_size, 2, &size) &&
	       scope->bci >= -1 && scope->bci < (int64_t)size;
}

/* The scopes from the one at @off of the stream on, if numbers have no byte below @least_byte. */
static bool read_scopes(struct jit_memory *memory, const struct hotspot_scopes_layout *layout,
			const struct parts *parts, uint32_t off, uint32_t least_byte,
			struct hotspot_scopes *ret)
{
	size_t nr_metadata = (parts->metadata.end - parts->metadata.start) / 8;

	ret->least_byte = least_byte;
	for (ret->nr = 0; ret->nr < SYMBOL_LINES_MAX;) {
		struct hotspot_scope *scope = &ret->list[ret->nr++];
		struct stream stream = {
			.memory = memory,
			.at = parts->data.start + off,
			.end = parts->data.end,
			.least_byte = least_byte,
		};
		uint32_t outer = read_number(&stream), idx = read_number(&stream);

		scope->bci = (int32_t)(read_number(&stream) - 1);
		if (stream.is_bad || !idx || idx > nr_metadata ||
		    !jit_read_uint(memory, parts->metadata.start + 8 * (uint64_t)(idx - 1), 8,
				   &scope->method) ||
		    !bci_holds(memory, layout, scope))
			return false;
		if (!outer)
			return true;
		/* the outer one is written first */
		if (outer >= off)
			return false;
		off = outer;
	}
	return false;
}

bool hotspot_scopes_read(struct jit_memory *memory, const struct hotspot_scopes_layout *layout,
			 const struct hotspot_nmethod *nmethod, uint64_t lookup_pc, bool is_leaf,
			 struct hotspot_scopes *ret)
{
	struct parts parts;
	uint32_t off;

	if (lookup_pc < nmethod->begin || !read_parts(memory, layout, nmethod->blob, &parts))
		return false;
	off = find_scope(memory, layout, &parts.pcs, lookup_pc - nmethod->begin, is_leaf);
	if (!off)
		return false;
	/* The outermost scope is inlined in 0, a byte 0 in one encoding, and none in the other: so
	 * one of both holds. */
	for (uint32_t least_byte = 0; least_byte < 2; least_byte++)
		if (read_scopes(memory, layout, &parts, off, least_byte, ret))
			return ret->list[ret->nr - 1].method == nmethod->method;
	return false;
}

/* The table says bci and line of places that the code goes on to another line. */
static uint32_t find_line(struct stream *stream, int64_t wanted)
{
	int64_t bci = 0, line = 0, best = -1, found = 0;

	for (size_t i = 0; i < LINES_MAX; i++) {
		uint32_t byte = read_byte(stream);

		if (byte == 0xff) {
			bci += read_signed(stream);
			line += read_signed(stream);
		} else {
			bci += byte >> 3;
			line += byte & 7;
		}
		if (stream->is_bad || !byte)
			break;
		if (bci <= wanted && bci >= best) {
			best = bci;
			found = line;
		}
		if (bci == wanted)
			break;
	}
	return !stream->is_bad && found > 0 && found <= UINT16_MAX ? (uint32_t)found : 0;
}

uint32_t hotspot_scope_line(struct jit_memory *memory, const struct hotspot_scopes_layout *layout,
			    const struct hotspot_scope *scope, uint32_t least_byte)
{
	uint64_t code = const_method_of(memory, layout, scope->method), flags, size, words;

	if (!code ||
	    !jit_read_uint(memory, code + layout->const_flags, layout->const_flags_bytes, &flags) ||
	    !(flags & layout->has_lines) ||
	    !jit_read_uint(memory, code + layout->code_size, 2, &size) ||
	    !jit_read_uint(memory, code + layout->const_words, 4, &words))
		return 0;

	struct stream stream = {
		.memory = memory,
		.at = code + layout->const_bytes + size,
		.end = code + 8 * words,
		.least_byte = least_byte,
	};

	return find_line(&stream, scope->bci < 0 ? 0 : scope->bci);
}

bool hotspot_has_all_scopes(struct jit_memory *memory, const struct hotspot_scopes_layout *layout)
{
	static const char wanted[] = "DebugNonSafepoints";
	uint64_t flags, nr, name, addr, value, bits;
	char text[sizeof(wanted)];

	if (!layout->flags || !jit_read_uint(memory, layout->flags, 8, &flags) ||
	    !jit_read_uint(memory, layout->nr_flags, 8, &nr) || nr > FLAGS_MAX)
		return false;
	for (uint64_t at = flags; nr; nr--, at += layout->flag_bytes) {
		if (!jit_read_uint(memory, at + layout->flag_name, 8, &name))
			return false;
		if (!jit_read(memory, name, text, sizeof(text)) ||
		    memcmp(text, wanted, sizeof(wanted)) != 0)
			continue;
		return jit_read_uint(memory, at + layout->flag_value, 8, &addr) &&
		       jit_read_uint(memory, addr, 1, &value) && value &&
		       jit_read_uint(memory, at + layout->flag_bits, 4, &bits) &&
		       bits & layout->origin_mask;
	}
	return false;
}
