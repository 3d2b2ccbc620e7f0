/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of sections, compressed ones inflated. */
#include "obj/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/large.h"

#ifndef ELFCOMPRESS_ZSTD /* elf.h of glibc 2.36 has none */
#define ELFCOMPRESS_ZSTD 2
#endif

static int inflate_zlib(uint8_t *dst, size_t dst_size, const uint8_t *src, size_t src_size)
{
	struct libdeflate_decompressor *zlib = libdeflate_alloc_decompressor();
	enum libdeflate_result result;

	if (!zlib)
		return -ENOMEM;
	/* without a pointer for the size, only a complete result is a success */
	result = libdeflate_zlib_decompress(zlib, src, src_size, dst, dst_size, NULL);
	libdeflate_free_decompressor(zlib);
	return result == LIBDEFLATE_SUCCESS ? 0 : -EINVAL;
}

static int inflate_zstd(uint8_t *dst, size_t dst_size, const uint8_t *src, size_t src_size)
{
	return ZSTD_decompress(dst, dst_size, src, src_size) == dst_size ? 0 : -EINVAL;
}

static int inflate_section(const struct elf_file *elf, const struct elf_section *section,
			   const uint8_t *raw, size_t max, uint8_t **ret, size_t *ret_size,
			   struct fpl_err *err)
{
	AUTO_FREE uint8_t *bytes = NULL;
	Elf64_Chdr ch;
	int rc;

	if (section->size < sizeof(ch))
		return fpl_fail(err, -EINVAL, "%s: %s: compressed, but only %" PRIu64 " bytes",
				elf->name, section->name, section->size);
	memcpy(&ch, raw, sizeof(ch));
	if (ch.ch_size > max)
		return fpl_fail(err, -EFBIG, "%s: %s: %" PRIu64 " bytes inflated, at most %zu",
				elf->name, section->name, (uint64_t)ch.ch_size, max);
	bytes = large_alloc(ch.ch_size);
	if (!bytes)
		return fpl_fail(err, -ENOMEM, "%s: %s: out of memory", elf->name, section->name);
	if (ch.ch_type == ELFCOMPRESS_ZLIB)
		rc = inflate_zlib(bytes, ch.ch_size, raw + sizeof(ch), section->size - sizeof(ch));
	else if (ch.ch_type == ELFCOMPRESS_ZSTD)
		rc = inflate_zstd(bytes, ch.ch_size, raw + sizeof(ch), section->size - sizeof(ch));
	else
		return fpl_fail(err, -EINVAL, "%s: %s: compression %u is unknown", elf->name,
				section->name, ch.ch_type);
	if (rc)
		return fpl_fail(err, rc, "%s: %s: %s", elf->name, section->name,
				rc == -ENOMEM ? "out of memory" : "compressed bytes are damaged");
	*ret_size = ch.ch_size;
	*ret = TAKE_PTR(bytes);
	return 0;
}

int elf_file_section_bytes(const struct elf_file *elf, const struct elf_section *section,
			   size_t max, uint8_t **ret, size_t *ret_size, struct fpl_err *err)
{
	AUTO_FREE uint8_t *raw = NULL;
	int rc;

	if (section->type == SHT_NOBITS)
		return fpl_fail(err, -ENODATA, "%s: %s: has no contents in this file", elf->name,
				section->name);
	if (section->size > max)
		return fpl_fail(err, -EFBIG, "%s: %s: %" PRIu64 " bytes, at most %zu", elf->name,
				section->name, section->size, max);
	/* Before allocating: an absurd size must cost nothing. */
	if (section->off > elf->size || section->size > elf->size - section->off)
		return fpl_fail(err, -ENODATA,
				"%s: %s: %" PRIu64 " bytes at %#" PRIx64 ", file has %" PRIu64,
				elf->name, section->name, section->size, section->off, elf->size);
	raw = large_alloc(section->size);
	if (!raw)
		return fpl_fail(err, -ENOMEM, "%s: %s: out of memory", elf->name, section->name);
	rc = elf_file_read(elf, section->off, raw, section->size, err);
	if (rc)
		return rc;
	if (section->flags & SHF_COMPRESSED)
		return inflate_section(elf, section, raw, max, ret, ret_size, err);
	*ret_size = section->size;
	*ret = TAKE_PTR(raw);
	return 0;
}
