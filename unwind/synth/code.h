/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a file that hold code, read on demand: most are looked at once. Private to
 * unwind/synth.
 */
#pragma once

#include "obj/elf_file.h"
#include "unwind/budget.h"

/* An executable section, or segment. */
struct synth_code {
	uint64_t start, size; /* vaddrs */
	uint64_t off;	      /* in the file */
};

struct synth_codes {
	const struct elf_file *elf; /* borrowed */
	struct budget *budget;	    /* borrowed */
	struct synth_code *list;    /* owned [nr], ascending, disjoint */
	size_t nr;
	uint8_t *stretch; /* owned [room]: the bytes read last, from vaddr stretch_at on */
	uint64_t stretch_at, stretch_size;
	size_t room;
	uint8_t **blocks; /* owned [nr_blocks], each: kept bytes; the last one has room left */
	size_t nr_blocks, room_blocks, block_left;
	uint8_t *block_next;
};

/*
 * List the executable sections of @elf or, without any, its executable segments. Reads none of
 * them. synth_codes_fini() is safe after errors: -ENOMEM, -EINVAL.
 */
FPL_MUST_CHECK int synth_codes_open(struct synth_codes *codes, const struct elf_file *elf,
				    struct budget *budget, struct fpl_err *err);
void synth_codes_fini(struct synth_codes *codes);

/*
 * *ret: the bytes of [start, start + size) of @code, valid until the next call. Errors: -ENOMEM,
 * -EFBIG, those of pread(2). Cost: one read for each 256 KiB, for ascending addresses.
 */
FPL_MUST_CHECK int synth_codes_bytes(struct synth_codes *codes, const struct synth_code *code,
				     uint64_t start, uint64_t size, const uint8_t **ret,
				     struct fpl_err *err);

/* As synth_codes_bytes(), valid until synth_codes_fini(). */
FPL_MUST_CHECK int synth_codes_keep(struct synth_codes *codes, const struct synth_code *code,
				    uint64_t start, uint64_t size, const uint8_t **ret,
				    struct fpl_err *err);
