/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what unwind/script_facts.h has of a file. */
#pragma once

#include "obj/elf_file.h"
#include "unwind/script_facts.h"
#include "unwind/table.h"

/*
 * Find out what @elf is. @table: compiled of it. Nothing that cannot be read is an error: it is no
 * interpreter then. The file is hostile. Cost: reads .dynstr; of an interpreter .dynsym, the FDEs
 * and the code of its loop, too; where the loop is not exported, up to 4 MiB of the code before it.
 */
void script_facts_find(const struct elf_file *elf, const struct elf_file *debug,
		       const struct table *table, struct script_facts *ret);
