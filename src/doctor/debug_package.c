/* SPDX-License-Identifier: Apache-2.0 */
/* The package with the debug information, and the command to get it. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "doctor/package.h"

/*
 * Sources whose debug packages are older than the automatic ones: the packages of Debian 12 that
 * have a field Build-Ids and are not in debian-debug. One for all files of the source.
 */
static const struct {
	const char *source, *package;
} by_hand[] = {
	{ "db5.3", "libdb5.3-dbg" },	  { "enca", "libenca-dbg" },
	{ "glibc", "libc6-dbg" },	  { "graphicsmagick", "graphicsmagick-dbg" },
	{ "gsl", "libgsl-dbg" },	  { "ivykis", "libivykis0-dbg" },
	{ "krb5", "libkrb5-dbg" },	  { "libao", "libao-dbg" },
	{ "libcerf", "libcerf1-dbg" },	  { "libnl3", "libnl-3-200-dbg" },
	{ "libxdmcp", "libxdmcp6-dbg" },  { "libxxf86vm", "libxxf86vm1-dbg" },
	{ "lua5.1", "liblua5.1-0-dbg" },  { "lua5.3", "liblua5.3-0-dbg" },
	{ "lua5.4", "liblua5.4-0-dbg" },  { "pcre3", "libpcre3-dbg" },
	{ "perl", "perl-debug" },	  { "pygobject", "python3-gi-dbg" },
	{ "syslog-ng", "syslog-ng-dbg" }, { "valgrind", "valgrind-dbg" },
	{ "vsftpd", "vsftpd-dbg" },
};

/* Likewise, with a NAME-dbg for each package. */
static const char *const one_each[] = { "ceph", "dibbler", "hylafax", "uwsgi" };

/* "python3.11" has python3.11-dbg; earlier and later versions alike. */
static bool is_python(const char *source)
{
	unsigned int minor;
	int length = 0;

	return sscanf(source, "python3.%u%n", &minor, &length) == 1 && source[length] == '\0';
}

static int name_by_source(const struct package *owner, char *ret, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(by_hand); i++) {
		if (strcmp(owner->source, by_hand[i].source) == 0)
			return snprintf(ret, size, "%s", by_hand[i].package);
	}
	if (is_python(owner->source))
		return snprintf(ret, size, "%s-dbg", owner->source);
	for (size_t i = 0; i < ARRAY_SIZE(one_each); i++) {
		if (strcmp(owner->source, one_each[i]) == 0)
			return snprintf(ret, size, "%s-dbg", owner->name);
	}
	return snprintf(ret, size, "%s-dbgsym", owner->name);
}

void package_debug_name(const struct package *owner, struct package *ret)
{
	struct package name = { .installed = false };

	if (owner->name[0]) {
		int n = name_by_source(owner, name.name, sizeof(name.name));

		if (n < 0 || (size_t)n >= sizeof(name.name))
			name.name[0] = '\0';
	}
	memcpy(name.arch, owner->arch, sizeof(name.arch));
	memcpy(name.version, owner->version, sizeof(name.version));
	*ret = name;
}

/* Is @word among the words of ID and ID_LIKE? */
static bool is_like(const struct host *host, const char *word)
{
	char words[160];
	char *rest = words, *one;

	snprintf(words, sizeof(words), "%s %s", host->os_id, host->os_like);
	while ((one = strsep(&rest, " "))) {
		if (strcmp(one, word) == 0)
			return true;
	}
	return false;
}

static void debian_hint(const struct host *host, const struct package *package, char *ret,
			size_t size)
{
	const char *codename = host->os_codename[0] ? host->os_codename : "CODENAME";
	size_t length = strlen(package->name);
	char source[160] = "";

	if (length > 7 && strcmp(package->name + length - 7, "-dbgsym") == 0)
		snprintf(source, sizeof(source),
			 strcmp(host->os_id, "ubuntu") == 0
				 ? ", from deb http://ddebs.ubuntu.com %s main"
				 : ", from deb http://deb.debian.org/debian-debug/ %s-debug main",
			 codename);
	snprintf(ret, size, "sudo apt-get install %s%s%s%s", package->name,
		 package->version[0] ? "=" : "", package->version, source);
}

/* Can @path be typed within quotes as it is? Names are untrusted. */
static bool is_plain(const char *path)
{
	return path[strspn(
		       path,
		       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-@:~,=")] ==
	       '\0';
}

void package_debug_hint(const struct host *host, const struct package *debug_package,
			const char *path, const char *build_id, char *ret, size_t size)
{
	bool debian = is_like(host, "debian") || is_like(host, "ubuntu");
	bool fedora = is_like(host, "fedora") || is_like(host, "rhel") || is_like(host, "centos");

	if (debian && debug_package->name[0])
		debian_hint(host, debug_package, ret, size);
	else if (debian)
		snprintf(ret, size,
			 "no package owns it: build it with -g, or put its debug file beside it");
	else if (fedora)
		snprintf(ret, size, "sudo dnf debuginfo-install \"$(rpm -qf %s)\"",
			 is_plain(path) ? path : "FILE");
	else if (strlen(build_id) > 2)
		snprintf(
			ret, size,
			"f=$(debuginfod-find debuginfo %s) && sudo install -D -m 644 \"$f\" /usr/lib/debug/.build-id/%.2s/%s.debug",
			build_id, build_id, build_id + 2);
	else
		snprintf(ret, size, "not available: no package and no build-id");
}
