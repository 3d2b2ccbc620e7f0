/* SPDX-License-Identifier: Apache-2.0 */
#include "obj/mini_debug.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

#define FIRST_ROOM (256u << 10)
/* Fedora packs with preset 6, which needs 9 MiB to unpack; this allows a dictionary of 64 MiB. */
#define DECODER_MEMORY_MAX (80u << 20)

struct buffer {
	uint8_t *bytes; /* owned */
	size_t room, used;
};

static void cleanup_buffer(struct buffer *buffer)
{
	free(buffer->bytes);
}

static int grow(struct buffer *buffer)
{
	if (buffer->room >= MINI_DEBUG_MAX)
		return -EFBIG;
	return array_reserve(&buffer->bytes, 1, &buffer->room,
			     buffer->room ? buffer->room * 2 : FIRST_ROOM);
}

static int inflate(const uint8_t *packed, size_t size, struct buffer *ret)
{
	CLEANUP(lzma_end) lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret status = lzma_stream_decoder(&stream, DECODER_MEMORY_MAX, 0);

	if (status != LZMA_OK)
		return -ENOMEM;
	stream.next_in = packed;
	stream.avail_in = size;
	while (status == LZMA_OK) {
		int rc = ret->used == ret->room ? grow(ret) : 0;

		if (rc)
			return rc;
		stream.next_out = ret->bytes + ret->used;
		stream.avail_out = ret->room - ret->used;
		status = lzma_code(&stream, LZMA_FINISH);
		ret->used = ret->room - stream.avail_out;
	}
	return status == LZMA_STREAM_END       ? 0
	       : status == LZMA_MEMLIMIT_ERROR ? -EFBIG
	       : status == LZMA_MEM_ERROR      ? -ENOMEM
					       : -EINVAL;
}

int mini_debug_open(const struct elf_file *elf, struct elf_file **ret, struct fpl_err *err)
{
	const struct elf_section *section = elf_file_section(elf, ".gnu_debugdata");
	CLEANUP(cleanup_buffer) struct buffer inflated = { .bytes = NULL };
	AUTO_FREE uint8_t *packed = NULL;
	size_t size = 0;
	int rc;

	if (!section)
		return fpl_fail(err, -ENOENT, "%s: no .gnu_debugdata", elf->name);
	rc = elf_file_section_bytes(elf, section, MINI_DEBUG_PACKED_MAX, &packed, &size, err);
	if (rc)
		return rc;
	rc = inflate(packed, size, &inflated);
	if (rc)
		return fpl_fail(err, rc, "%s: .gnu_debugdata: %s", elf->name,
				rc == -EFBIG	? "larger than 64 MiB"
				: rc == -ENOMEM ? "out of memory"
						: "compressed bytes are damaged");
	return elf_file_from_memory(inflated.bytes, inflated.used, elf->name, ret, err);
}
