/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find the Debian package that owns a file, and the one with its debug information: reads dpkg's
 * own files as data. For other distributions: the command that their users type.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proc/host.h"

#define PACKAGE_NAME_MAX 128u

struct package {
	char name[PACKAGE_NAME_MAX];					    /* "" unknown */
	char arch[32], version[PACKAGE_NAME_MAX], source[PACKAGE_NAME_MAX]; /* "" unknown */
	bool installed;
};

/* One file to look up. */
struct package_query {
	const char *path; /* borrowed, absolute, as dpkg may know it: no symlinks except those of a
			     merged /usr */
	struct package owner; /* filled */
};

/*
 * Find the owners of all @queries [nr] in one pass over the lists in @root/var/lib/dpkg/info, and
 * their versions in @root/var/lib/dpkg/status. /lib and /usr/lib (bin, sbin, lib32, lib64, libx32
 * too) are the same folder on systems with a merged /usr, and lists name either. A diverted file
 * belongs to the diverting package. Fields not found stay "".
 *
 * Errors: -ENOENT no dpkg here. Cost: reads all lists, about 10 MB and 50 ms on a desktop;
 * at most 1 GiB.
 */
FPL_MUST_CHECK int packages_find(const char *root, struct package_query *queries, size_t nr,
				 struct fpl_err *err);

/* Fill version, source and installed of the @packages [nr] that the status file contains. */
FPL_MUST_CHECK int packages_status(const char *root, struct package *const *packages, size_t nr,
				   struct fpl_err *err);

/*
 * The same from the @text of a status file, which is changed. A package that is not in it keeps
 * what it has. Cost: O(length * nr).
 */
void packages_parse_status(char *text, struct package *const *packages, size_t nr);

/*
 * Name the package that has the debug information of @owner's files: Debian's automatic one
 * (NAME-dbgsym), or the one that a source makes itself (libc6-dbg, perl-debug, python3.11-dbg).
 * @ret->version is @owner's: they fit together only where it is equal.
 */
void package_debug_name(const struct package *owner, struct package *ret);

/*
 * Write the command to get the debug information of the file @path with @build_id (hex, "" none) of
 * @package ("" unknown) on the distribution of @host. Always NUL-terminates.
 */
void package_debug_hint(const struct host *host, const struct package *debug_package,
			const char *path, const char *build_id, char *ret, size_t size);
