/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which Debian package a file is from, and which one has its debug information: dpkg's own files,
 * read as data. Other distributions: what their users type.
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
	const char *path; /* borrowed, absolute, as dpkg could know it: no symlink inside but those
			     of a merged /usr */
	struct package owner; /* filled */
};

/*
 * Find the owners of all @queries [nr] in one pass over the lists in @root/var/lib/dpkg/info, and
 * their versions in @root/var/lib/dpkg/status. /lib and /usr/lib (bin, sbin, lib32, lib64, libx32
 * too) are the same folder on systems with a merged /usr, and lists name either. A file that
 * another package diverted is that package's. What is not found stays "".
 *
 * Errors: -ENOENT no dpkg here. Cost: reads all lists, about 10 MB and 50 ms on a desktop;
 * at most 1 GiB.
 */
FPL_MUST_CHECK int packages_find(const char *root, struct package_query *queries, size_t nr,
				 struct fpl_err *err);

/* Fill version, source and installed of those of @packages [nr] that the status file knows. */
FPL_MUST_CHECK int packages_status(const char *root, struct package *const *packages, size_t nr,
				   struct fpl_err *err);

/*
 * The same from the @text of a status file, which is changed. A package that is not in it keeps
 * what it has. Cost: O(length * nr).
 */
void packages_parse_status(char *text, struct package *const *packages, size_t nr);

/*
 * Name the package that has the debug information of @owner's files: what Debian calls it where it
 * is made automatically (NAME-dbgsym), or what the sources that make their own call it (libc6-dbg,
 * perl-debug, python3.11-dbg). @ret->version is @owner's: they fit together only where it is equal.
 */
void package_debug_name(const struct package *owner, struct package *ret);

/*
 * Write what to type to get the debug information of the file @path with @build_id (hex, "" none)
 * of @package ("" unknown) on the distribution of @host. Always NUL-terminates.
 */
void package_debug_hint(const struct host *host, const struct package *debug_package,
			const char *path, const char *build_id, char *ret, size_t size);
