/* SPDX-License-Identifier: Apache-2.0 */
/* Objects whose names or lines are missing, and the packages that have them. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "doctor/object_report.h"
#include "format/missing.h"
#include "recording/recording.h"
#include "report/summary.h"

/* Objects as reports of files that are not looked into, of which packages can tell. */
struct missing_reports {
	struct object_report *list; /* owned [nr] */
	size_t nr;
};

struct missing_names {
	struct missing missing; /* its hints are commands to type, "" where no list knows one */
	struct missing_reports reports; /* private */
};

/* Find the names that @recording lacks, with hints. Cost: O(frames), and reading the lists of dpkg,
 * some 20 ms. */
void missing_names_find(const struct recording *recording, struct missing_names *ret);
void missing_names_fini(struct missing_names *missing);

/*
 * Write which objects of @recording lack names or lines, what that costs, and the packages that
 * have them.
 */
void missing_names_write(FILE *to, const struct recording *recording);

/*
 * The package of the file @path of build-id @build_id, or of its debugging information if
 * @is_debug, as a command to type, in @hint [MISSING_NAMES_HINT]; "" where no list knows it. Cost:
 * reading the lists of dpkg, some 20 ms.
 */
void missing_names_package(const char *path, const char *build_id, bool is_debug, char *hint);

/* Text of a hint, NUL included. */
#define MISSING_NAMES_HINT 512u

/*
 * Count the leaves of @recording without a name; ret->hint is in @hint [MISSING_NAMES_HINT],
 * ret->path in @recording. @hint: NULL: no package is looked up. Cost: O(frames); if there are any,
 * also reading the lists of dpkg, some 20 ms.
 */
void missing_names_of_leaves(const struct recording *recording, struct summary_unnamed *ret,
			     char *hint);
