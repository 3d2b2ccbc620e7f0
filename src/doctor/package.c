/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/package.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/io.h"

#define INFO_DIR     "/var/lib/dpkg/info"
#define STATUS_FILE  "/var/lib/dpkg/status"
#define DIVERSIONS   "/var/lib/dpkg/diversions"
#define LISTS_MAX    262144u	 /* packages, several times what Debian has */
#define LIST_BYTES   (64u << 20) /* of one list; linux-source has 8 MiB */
#define STATUS_BYTES (256u << 20)
#define ALL_BYTES    (1ull << 30)

/* The lookup of one path. */
struct wanted {
	const char *path; /* borrowed from names, or from the query */
	size_t query;
};

struct lookup {
	struct package_query *queries;
	struct wanted *wanted; /* owned [nr], sorted by path */
	size_t nr;
	char **names;	/* owned [nr_names]: paths made here */
	char **diverts; /* owned [nr_queries]: package that diverted the path, NULL: none */
	size_t nr_names, nr_queries;
	uint64_t bytes; /* read so far */
};

static void cleanup_lookup(struct lookup *lookup)
{
	for (size_t i = 0; lookup->names && i < lookup->nr_names; i++)
		free(lookup->names[i]);
	for (size_t i = 0; lookup->diverts && i < lookup->nr_queries; i++)
		free(lookup->diverts[i]);
	free(lookup->names);
	free(lookup->diverts);
	free(lookup->wanted);
}

/* Folders that are links into a merged /usr (Debian 12 on, most since 10). */
static const char *const merged[] = {
	"/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/", "/libx32/"
};

/* The other name of @path on a system with a merged /usr, or NULL; the caller frees it. */
static char *other_name(const char *path)
{
	bool in_usr = strncmp(path, "/usr/", 5) == 0;
	const char *below = in_usr ? path + 4 : path;

	for (size_t i = 0; i < ARRAY_SIZE(merged); i++)
		if (!strncmp(below, merged[i], strlen(merged[i])))
			return must_asprintf("%s%s", in_usr ? "" : "/usr", below);
	return NULL;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct wanted *)a)->path, ((const struct wanted *)b)->path);
}

static void lookup_init(struct lookup *lookup, struct package_query *queries, size_t nr)
{
	*lookup = (struct lookup){ .queries = queries, .nr_queries = nr };
	lookup->wanted = must_calloc(2 * nr, sizeof(*lookup->wanted));
	lookup->names = must_calloc(nr, sizeof(char *));
	lookup->diverts = must_calloc(nr, sizeof(char *));
	for (size_t i = 0; i < nr; i++) {
		char *other = other_name(queries[i].path);

		queries[i].owner = (struct package){ .name = "" };
		lookup->wanted[lookup->nr++] = (struct wanted){ queries[i].path, i };
		if (!other)
			continue;
		lookup->names[lookup->nr_names++] = other;
		lookup->wanted[lookup->nr++] = (struct wanted){ other, i };
	}
	qsort(lookup->wanted, lookup->nr, sizeof(*lookup->wanted), by_path);
}

/* Read a regular file of at most @max bytes with a NUL behind it. Errors: -EFBIG, -ENOENT, ... */
static int read_file(const char *path, size_t max, char **ret, size_t *ret_size)
{
	struct stat st;
	AUTO_FD int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	if ((uint64_t)st.st_size > max)
		return -EFBIG;

	size_t size = (size_t)st.st_size;
	AUTO_FREE char *text = must_malloc(size + 1);
	ssize_t length = io_read(fd, text, size);

	if (length < 0)
		return (int)length;
	text[length] = '\0';
	*ret = TAKE_PTR(text);
	*ret_size = (size_t)length;
	return 0;
}

/* "libc6:amd64.list" to name and architecture; false for anything else. */
static bool parse_list_name(const char *file, struct package *ret)
{
	size_t length = strlen(file);

	if (length <= 5 || strcmp(file + length - 5, ".list") != 0)
		return false;
	length -= 5;

	const char *colon = memchr(file, ':', length);
	size_t name = colon ? (size_t)(colon - file) : length;
	size_t arch = colon ? length - name - 1 : 0;

	if (name == 0 || name >= sizeof(ret->name) || arch >= sizeof(ret->arch))
		return false;
	*ret = (struct package){ .installed = false };
	memcpy(ret->name, file, name);
	if (colon)
		memcpy(ret->arch, colon + 1, arch);
	return true;
}

/* Note the owner by its list, unless another package diverted the path. */
static void take_line(struct lookup *lookup, const char *line, const struct package *package)
{
	const struct wanted key = { .path = line };
	const struct wanted *found =
		bsearch(&key, lookup->wanted, lookup->nr, sizeof(*lookup->wanted), by_path);

	if (!found)
		return;
	/* equal paths: the same file was asked for twice */
	while (found > lookup->wanted && !by_path(&found[-1], &key))
		found--;
	for (; found < lookup->wanted + lookup->nr && !by_path(found, &key); found++) {
		const char *divert = lookup->diverts[found->query];
		struct package *owner = &lookup->queries[found->query].owner;

		if (divert ? !strcmp(divert, package->name) : !owner->name[0])
			*owner = *package;
	}
}

static void read_list(struct lookup *lookup, const char *path, const struct package *package)
{
	AUTO_FREE char *text = NULL;
	size_t size;

	if (read_file(path, LIST_BYTES, &text, &size))
		return; /* one bad list does not spoil the others */
	lookup->bytes += size;
	for (char *line = text, *end; line < text + size; line = end + 1) {
		end = strchr(line, '\n');
		if (!end)
			end = text + size;
		*end = '\0';
		take_line(lookup, line, package);
	}
}

/* Three lines each: from, to, package (":" for the administrator's own). */
static void read_diversions(struct lookup *lookup, const char *root)
{
	char path[PATH_MAX];
	AUTO_FREE char *text = NULL;
	size_t size;

	snprintf(path, sizeof(path), "%s" DIVERSIONS, root);

	if (read_file(path, LIST_BYTES, &text, &size))
		return;

	char *rest = text, *from;

	while ((from = strsep(&rest, "\n")) && rest) {
		const struct wanted key = { .path = from };
		const char *to = strsep(&rest, "\n"), *package = strsep(&rest, "\n");
		const struct wanted *found =
			bsearch(&key, lookup->wanted, lookup->nr, sizeof(*lookup->wanted), by_path);

		if (!to || !package || !found || lookup->diverts[found->query])
			continue;
		lookup->diverts[found->query] = must_strdup(package);
	}
}

static int read_lists(struct lookup *lookup, const char *root)
{
	char folder_path[PATH_MAX], path[PATH_MAX];
	size_t nr = 0;

	snprintf(folder_path, sizeof(folder_path), "%s" INFO_DIR, root);

	DIR *folder = opendir(folder_path);

	if (!folder)
		return -ENOENT;
	for (struct dirent *entry; (entry = readdir(folder));) {
		struct package package;
		int n = snprintf(path, sizeof(path), "%s/%s", folder_path, entry->d_name);

		if (n < 0 || (size_t)n >= sizeof(path) || !parse_list_name(entry->d_name, &package))
			continue;
		if (++nr > LISTS_MAX || lookup->bytes > ALL_BYTES)
			break;
		read_list(lookup, path, &package);
	}
	closedir(folder);
	return 0;
}

int packages_find(const char *root, struct package_query *queries, size_t nr, struct fpl_err *err)
{
	CLEANUP(cleanup_lookup) struct lookup lookup = { .nr = 0 };
	AUTO_FREE struct package **owners = must_calloc(nr, sizeof(struct package *));
	int code;

	lookup_init(&lookup, queries, nr);
	read_diversions(&lookup, root);
	if (read_lists(&lookup, root))
		return fpl_fail(err, -ENOENT, "%s" INFO_DIR ": no dpkg here", root);
	for (size_t i = 0; i < nr; i++)
		owners[i] = &queries[i].owner;
	code = packages_status(root, owners, nr, err);
	return code == -ENOENT ? 0 : code;
}

/* The value of the field @name in a stanza, up to its line's end; false: it has none. */
static bool field(const char *stanza, const char *name, char *ret, size_t size)
{
	size_t length = strlen(name);

	for (const char *line = stanza; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, length) != 0)
			continue;

		size_t value = strcspn(line + length, "\n");

		if (value >= size)
			return false;
		memcpy(ret, line + length, value);
		ret[value] = '\0';
		return true;
	}
	return false;
}

/* Compare one stanza of the status file with all queries. */
static void take_stanza(const char *stanza, struct package *const *packages, size_t nr)
{
	char name[PACKAGE_NAME_MAX], arch[32], status[64], source[PACKAGE_NAME_MAX];

	if (!field(stanza, "Package: ", name, sizeof(name)))
		return;
	if (!field(stanza, "Architecture: ", arch, sizeof(arch)))
		arch[0] = '\0';
	for (size_t i = 0; i < nr; i++) {
		struct package *package = packages[i];

		/* a list names the architecture of Multi-Arch: same packages alone */
		if (strcmp(package->name, name) != 0 ||
		    (package->arch[0] && arch[0] && strcmp(package->arch, arch) != 0))
			continue;
		package->installed = field(stanza, "Status: ", status, sizeof(status)) &&
				     strcmp(status, "install ok installed") == 0;
		if (!field(stanza, "Version: ", package->version, sizeof(package->version)))
			package->version[0] = '\0';
		/* "Source: name (version)", or no field if it equals the package's name */
		if (!field(stanza, "Source: ", source, sizeof(source)))
			snprintf(source, sizeof(source), "%s", name);
		source[strcspn(source, " ")] = '\0';
		memcpy(package->source, source, sizeof(source));
	}
}

void packages_parse_status(char *text, struct package *const *packages, size_t nr)
{
	for (char *stanza = text, *next; stanza; stanza = next) {
		next = strstr(stanza, "\n\n");
		if (next) {
			*next = '\0';
			next += 2;
		}
		take_stanza(stanza, packages, nr);
	}
}

int packages_status(const char *root, struct package *const *packages, size_t nr,
		    struct fpl_err *err)
{
	char path[PATH_MAX];
	AUTO_FREE char *text = NULL;
	size_t size;

	snprintf(path, sizeof(path), "%s" STATUS_FILE, root);

	int code = read_file(path, STATUS_BYTES, &text, &size);

	if (code)
		return fpl_fail(err, -ENOENT, "%s: %s", path, strerror(-code));
	packages_parse_status(text, packages, nr);
	return 0;
}
