/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file that a verb reads in its own process, and its separate debug file. Any user may have
 * written both, so the process opens them, then gives up its rights, and only then reads.
 */
#pragma once

#include "base/err.h"
#include "parse/parser.h"

struct elf_input {
	int fd, debug_fd; /* owned; -1: none */
};

/*
 * Open the regular file @path, and have a worker find its debug file: one that the owner of the
 * file or root wrote (client_find_debug()). A file with malformed headers has none, without an
 * error here. *ret is to be closed also after an error.
 *
 * Errors: -ENOEXEC no regular file; of open(2); -ENOMEM.
 */
FPL_MUST_CHECK int elf_input_open(const char *path, enum parser_image image, struct elf_input *ret,
				  struct fpl_err *err);
void elf_input_close(struct elf_input *input);

/*
 * For good: no capabilities, and of system calls those that read and write what is open
 * (sandbox_enter_reader()). Errors: the refused step; then no hostile file may be read.
 */
FPL_MUST_CHECK int elf_input_give_up_rights(struct fpl_err *err);
