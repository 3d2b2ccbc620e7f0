/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about one object: its unwind table, symbols and debug information. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "doctor/package.h"
#include "parse/client.h"
#include "parse/examination.h"

struct object_report {
	char *path;   /* owned: as the user gave it, or as the process sees it */
	bool deleted; /* the mapped file is gone: path names another file, or none */
	struct examination found;
	char *real_path;  /* owned: without symbolic links; NULL: none */
	char *debug_path; /* owned: its separate debug file; NULL: not found */

	struct package package;	      /* the file's; name "" unknown */
	struct package debug_package; /* the package that has, or would have, the debug file; "":
					 unknown */
	char hint[PACKAGE_NAME_MAX *
		  4]; /* the command to type if debug information is missing; "" */
};

/*
 * Have a worker examine the file open as @fd (borrowed), which the user calls @path. Packages are
 * left out: object_reports_packages. A malformed part of the file is noted in the report, without
 * an error. Errors: those of client_facts() and client_examine(); there is no report then. Ended by
 * object_report_fini. Cost: compiles the table, in the worker.
 */
FPL_MUST_CHECK int object_report_make(struct parse_client *client, int fd, const char *path,
				      struct object_report *ret, struct fpl_err *err);
void object_report_fini(struct object_report *report);

/*
 * Fill package, debug_package and hint of all @reports [nr]. @root: where dpkg's files are looked
 * for, "" on this machine. Without dpkg only hints. Cost: packages_find.
 */
void object_reports_packages(const char *root, const struct host *host,
			     struct object_report *reports, size_t nr);

/* Does the object lack the data that names and lines are made from? */
bool object_report_lacks_debug(const struct object_report *report);

/* Covered bytes of code in per cent; padding counts as neither. Rounded down to hundredths. 100
 * without any code. */
double object_report_percent(const struct object_report *report);
