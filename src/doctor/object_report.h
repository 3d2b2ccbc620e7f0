/* SPDX-License-Identifier: Apache-2.0 */
/* What fpless finds in one object: its unwind table, symbols and debug information. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "doctor/coverage.h"
#include "doctor/package.h"
#include "obj/elf_file.h"
#include "unwind/table.h"

struct object_report {
	char *path;   /* owned: as the user named it, or as the process sees it */
	bool deleted; /* the file behind a mapping is gone: what is at path is another one, or none
		       */
	char build_id[2 * ELF_FILE_BUILD_ID_MAX + 1]; /* hex; "" none */

	/* the unwind table; where there is none, problem says why and stats is zero */
	bool has_table;
	char problem[380];
	struct table_stats stats;
	bool measured; /* coverage holds */
	struct coverage coverage;

	/* code symbols, by where they stand */
	bool has_symtab, has_dynsym, has_mini_debug, has_debug_symtab;
	size_t nr_symbols; /* all of them, PLT entries too */

	/* debug information */
	bool has_debug_info; /* in the file itself */
	char *debug_path;    /* owned: its separate debug file; NULL: none found */
	bool debug_has_info; /* that file holds .debug_info, not just symbols */

	struct package package;		 /* the file's; name "" unknown */
	struct package debug_package;	 /* that has, or would have, the debug file; "" unknown */
	char hint[PACKAGE_NAME_MAX * 4]; /* what to type where debug information is missing; "" */
};

/*
 * Examine @elf, which its user calls @path. Packages are left out: object_reports_packages. A part
 * of the file that makes no sense is said in the report, not an error.
 *
 * Errors: -ENOMEM. Ended by object_report_fini, also after an error. Cost: compiles the table.
 */
FPL_MUST_CHECK int object_report_make(const struct elf_file *elf, const char *path,
				      struct object_report *ret, struct fpl_err *err);
void object_report_fini(struct object_report *report);

/*
 * Fill package, debug_package and hint of all @reports [nr]. @root: where dpkg's files are looked
 * for, "" on this machine. Without dpkg only hints. Errors: -ENOMEM. Cost: packages_find.
 */
FPL_MUST_CHECK int object_reports_packages(const char *root, const struct host *host,
					   struct object_report *reports, size_t nr,
					   struct fpl_err *err);

/* Does the object lack what names and lines are made from? */
bool object_report_lacks_debug(const struct object_report *report);

/* Covered bytes of code in per cent; padding counts as neither. Rounded down to hundredths. 100
 * where there is no code. */
double object_report_percent(const struct object_report *report);
