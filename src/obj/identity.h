/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity of an object: files with the same one share an unwind table.
 *
 * A build-id alone can be forged: a process that maps a file with libc's note and its own CFI would
 * spoil the table of all processes. So the identity is the build-id and a digest of everything that
 * a table is made from: entry point, program headers, headers of allocated sections, bytes of
 * .eh_frame, .eh_frame_hdr, .debug_frame, .init, .fini and the PLT sections; without an .eh_frame
 * section, of the segments that PT_GNU_EH_FRAME leads to; in a Go program .text, .go.module and the
 * section of its pclntab; without a build-id all code. Two files that agree in these have the same
 * table. They need not have the same names: identity_read_names() digests the sources of names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "obj/elf_file.h"

#define IDENTITY_DIGEST_SIZE 16u

/* Holds no padding, so that it can be a hash key as it stands. */
struct identity {
	uint64_t build_id_size;			 /* 0: none */
	uint8_t build_id[ELF_FILE_BUILD_ID_MAX]; /* zero behind build_id_size */
	uint8_t digest[IDENTITY_DIGEST_SIZE];	 /* BLAKE2b-128 */
};
_Static_assert(sizeof(struct identity) == 8 + ELF_FILE_BUILD_ID_MAX + IDENTITY_DIGEST_SIZE,
	       "struct identity is hashed bytewise");

/*
 * Compute the identity of @elf. An unreadable section counts as its header alone: such a file has
 * an identity, too, but no table.
 *
 * Errors: -EFBIG over 256 MiB to digest; -ENOMEM. Cost: reads the CFI, about 2 ms per MB.
 */
FPL_MUST_CHECK int identity_read(const struct elf_file *elf, struct identity *ret,
				 struct fpl_err *err);

/*
 * Digest the sources of names and lines of @elf: symbol tables and their strings, .gnu_debuglink
 * and .gnu_debugdata; without a build-id every section that is not loaded, so also the debugging
 * information. Files with equal identities and equal digests have the same names.
 *
 * Errors: -EFBIG over 64 MiB to digest; -ENOMEM. Cost: about 2 ms
 * per MB.
 */
FPL_MUST_CHECK int identity_read_names(const struct elf_file *elf,
				       uint8_t ret[IDENTITY_DIGEST_SIZE], struct fpl_err *err);

/* Does a file seen before need to be read again? Not if the stamps are equal. No padding. */
struct file_stamp {
	uint64_t dev, inode, size;
	int64_t mtime_ns, ctime_ns;
};

/* The stamp of a file whose stat(2) is @st. */
struct file_stamp file_stamp_of(const struct stat *st);

/* Fill *ret from fstat(2) of @fd: compare only with others from here (maps shows other numbers on
 * overlayfs). Errors: those of fstat(2). */
FPL_MUST_CHECK int file_stamp_read(int fd, struct file_stamp *ret);

/* Does the file open at @fd, which had @stamp, still have its size and time of change? False if
 * fstat(2) fails. Renaming, linking and unlinking change neither. */
bool file_stamp_holds(const struct file_stamp *stamp, int fd);

/*
 * The users who could have written a file. A hostile file may take over its parser, so the parser's
 * answers are worth no more than the worst file it has read: one instance reads files of one trust
 * only, and its answers count for files of that trust only. Holds no padding.
 */
struct trust {
	uint64_t dev;
	uint64_t uid;
	/* 0; for a file that others than its owner may write, or without a name (memfd): its own */
	uint64_t inode;
};

/* The trust of the file that @stat is of. */
struct trust trust_of(const struct stat *stat);

/* Fill *ret from file_stat() of @fd. Errors: those of statx(2). */
FPL_MUST_CHECK int trust_read(int fd, struct trust *ret);

/* The headers of a file without debugging information that names no debug file, as far as names
 * need them. */
struct plain_headers {
	uint16_t machine;	/* EM_*; 0: it is no such file, or its headers were not read */
	uint16_t build_id_size; /* 0: none */
	uint8_t build_id[ELF_FILE_BUILD_ID_MAX];
};

/* An open file, and what was said of it when it was met. */
struct met_file {
	int fd; /* who owns it is said where it is kept */
	struct file_stamp stamp;
	struct trust trust;
	struct plain_headers plain;
};

/* Meet the file open at @fd, whose headers are not read. Errors: those of fstat(2). */
FPL_MUST_CHECK int met_file_read(int fd, struct met_file *ret);

/* Did the owner of a file of @trust write one of @beside, too, on the same device? */
bool trust_is_same_owner(const struct trust *trust, const struct trust *beside);

/*
 * May a debug file of @debug serve a file of @trust: does it belong to root, or to the same owner?
 */
bool trust_covers(const struct trust *trust, const struct trust *debug);
