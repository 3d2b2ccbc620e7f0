/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a file that hold code. Private to unwind/synth. */
#pragma once

#include "obj/elf_file.h"
#include "unwind/budget.h"

/* An executable section, or segment. */
struct synth_code {
	uint64_t start, size; /* vaddrs */
	uint64_t off;	      /* in the file */
	uint8_t *bytes;	      /* owned [size]; NULL: they are read as they are asked for */
};

struct synth_codes {
	const struct elf_file *elf; /* borrowed */
	struct budget *budget;	    /* borrowed */
	struct synth_code *list;    /* owned [nr], ascending, disjoint */
	size_t nr;
	uint8_t *stretch; /* owned [room]: what was read last, of vaddr stretch_at on */
	uint64_t stretch_at, stretch_size;
	size_t room;
};

/*
 * The executable sections of @elf; where there are none, its executable segments. @all: read all of
 * them now, which is for good; else whoever wants little keeps little. synth_codes_fini() is safe
 * after errors: -ENOMEM, -EFBIG, -EINVAL, those of pread(2).
 */
FPL_MUST_CHECK int synth_codes_open(struct synth_codes *codes, const struct elf_file *elf, bool all,
				    struct budget *budget, struct fpl_err *err);
void synth_codes_fini(struct synth_codes *codes);

/*
 * *ret: the bytes of [start, start + size) of @code, valid until the next call. Errors: as
 * synth_codes_open(). Cost: where addresses ascend, one read for each 256 KiB.
 */
FPL_MUST_CHECK int synth_codes_bytes(struct synth_codes *codes, const struct synth_code *code,
				     uint64_t start, uint64_t size, const uint8_t **ret,
				     struct fpl_err *err);
