/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/vector.h"

enum { TAB = 8, LINE_MAX_BYTES = 1000 };

struct source {
	char *path; /* owned: as it was asked for */
	char *text; /* owned: lines, each with a NUL behind it; NULL: it was not read */
	VECTOR(uint32_t) starts; /* of the lines in text */
	const char *why;	 /* it was not read; NULL: it was */
};

struct sources {
	struct sources_options options;
	VECTOR(struct source *) files; /* owned; the one asked for last is last_idx */
	size_t last_idx;
};

struct sources *sources_create(const struct sources_options *options)
{
	struct sources *ret = must_calloc(1, sizeof(*ret));

	ret->options = *options;
	return ret;
}

void sources_destroy(struct sources *sources)
{
	if (!sources)
		return;
	for (size_t i = 0; i < sources->files.nr; i++) {
		struct source *source = sources->files.list[i];

		free(source->path);
		free(source->text);
		vector_fini(&source->starts);
		free(source);
	}
	vector_fini(&sources->files);
	free(sources);
}

/* Headers of C++ have no ending: those of the system are below these. */
static bool is_system_header(const char *path)
{
	return (!strncmp(path, "/usr/include/", 13) || !strncmp(path, "/usr/lib/gcc/", 13)) &&
	       !strstr(path, "/../");
}

/* Is @path that of a source, by its name? Keys and passwords are in files of other names. */
static bool is_source(const char *path)
{
	static const char endings[] =
		" adb ads asm c c++ cc cl cpp cu cxx d def f f03 f90 for go h h++ hh hpp hs hxx "
		"i ii inc inl ipp java jl js kt l lex lua m ml mli mm nim p pas php pl pm py pyx rb re "
		"rl rs s S scala swift tcc tpp ts v vala y yy zig ";
	const char *name = text_path_name(path), *dot = strrchr(name, '.');
	char ending[16];
	int size;

	if (!dot)
		return is_system_header(path);
	size = snprintf(ending, sizeof(ending), " %s ", dot + 1);
	return dot > name && size > 2 && size < (int)sizeof(ending) && !strchr(dot + 1, ' ') &&
	       strstr(endings, ending);
}

/* Opens a regular file of local file systems, along no link that others have made. */
static int open_local(const struct sources *sources, const struct sources_object *object,
		      const char *path, const char **ret_why)
{
	const struct opener_path where = { .folder_fd = -1, .path = path, .is_trusted = true };
	AUTO_FD int place = -1;
	struct trust trust;
	struct stat st;
	int fd;

	if (opener_walk(sources->options.opener, &where, NULL, &place)) {
		*ret_why = "it is not there";
		return -1;
	}
	if (opener_take(sources->options.opener, 0, place, &fd, &st)) {
		*ret_why = "it cannot be opened";
		return -1;
	}
	trust = trust_of(&st);
	if (opener_holds_place(fd))
		*ret_why = "it is on no local file system: --source DIR reads it";
	else if (!(st.st_mode & S_IROTH) && !trust_is_same_owner(&object->trust, &trust))
		*ret_why = "it is another user's, for that user alone";
	else
		return fd;
	close(fd);
	return -1;
}

/* Looks below the user's folder: for the whole path, then without its first parts. */
static int open_below(const char *folder, const char *path)
{
	for (const char *rest = path; rest; rest = strchr(rest, '/')) {
		char file[PATH_MAX];
		int length, fd;

		rest += strspn(rest, "/");
		length = snprintf(file, sizeof(file), "%s/%s", folder, rest);
		if (!*rest || length >= (int)sizeof(file))
			continue;
		fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd >= 0)
			return fd;
	}
	return -1;
}

static int open_source(const struct sources *sources, const struct sources_object *object,
		       const char *path, const char **ret_why)
{
	int fd = -1;

	*ret_why = "its name is not that of a source";
	if (!is_source(path))
		return -1;
	if (sources->options.folder && !strstr(path, "../"))
		fd = open_below(sources->options.folder, path);
	if (fd < 0 && path[0] == '/')
		fd = open_local(sources, object, path, ret_why);
	else if (fd < 0)
		*ret_why = "its path is not whole: --source DIR says where it begins";
	if (fd < 0 && sources->options.fetcher && object->build_id_size && path[0] == '/')
		fd = debuginfod_source(sources->options.fetcher, object->build_id,
				       object->build_id_size, path);
	return fd;
}

/* Reads all of the regular file @fd, wherever it stands. NULL: *ret_why says why not. */
static char *read_all(int fd, size_t *ret_size, const char **ret_why)
{
	AUTO_FREE char *bytes = NULL;
	size_t done = 0;
	struct stat st;

	*ret_why = "it is no file";
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return NULL;
	*ret_why = "it is too large";
	if (st.st_size > (off_t)SOURCES_FILE_MAX)
		return NULL;
	bytes = must_malloc((size_t)st.st_size + 1);
	*ret_why = "it cannot be read";
	while (done < (size_t)st.st_size) {
		ssize_t nr = pread(fd, bytes + done, (size_t)st.st_size - done, (off_t)done);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr < 0)
			return NULL;
		if (!nr)
			break;
		done += (size_t)nr;
	}
	*ret_why = NULL;
	*ret_size = done;
	bytes[done] = '\0';
	return TAKE_PTR(bytes);
}

/*
 * Writes one line, @from up to @end, to @to: tabs as blanks, "?" for what is not seen or no UTF-8.
 * Returns what is behind its NUL. At most LINE_MAX_BYTES and a character.
 */
static char *write_line(char *to, const char *from, const char *end)
{
	char *begin = to;

	for (size_t size; from < end && to - begin < LINE_MAX_BYTES; from += size) {
		size = text_utf8_length(from);
		if (*from == '\t') {
			size = 1;
			do
				*to++ = ' ';
			while ((to - begin) % TAB);
		} else if (!size || text_is_unseen(from, size)) {
			size += !size;
			*to++ = '?';
		} else {
			memcpy(to, from, size);
			to += size;
		}
	}
	while (to > begin && to[-1] == ' ')
		to--;
	*to++ = '\0';
	return to;
}

/* Room for a line of @size bytes: a tab is at most TAB blanks. */
static size_t line_room(size_t size)
{
	return (size < LINE_MAX_BYTES / TAB ? size * TAB : size + LINE_MAX_BYTES) + TAB + 1;
}

static void split(struct source *source, const char *bytes, size_t size)
{
	size_t used = 0, room = 0;

	for (const char *at = bytes; at < bytes + size;) {
		const char *end = memchr(at, '\n', size - (size_t)(at - bytes));
		size_t length = end ? (size_t)(end - at) : size - (size_t)(at - bytes);
		size_t text_length = length && at[length - 1] == '\r' ? length - 1 : length;

		alloc_check(array_reserve(&source->text, 1, &room, used + line_room(text_length)));
		must_push(&source->starts, (uint32_t)used);
		used = (size_t)(write_line(source->text + used, at, at + text_length) -
				source->text);
		at += length + 1;
	}
}

static struct source *read_source(const struct sources *sources,
				  const struct sources_object *object, const char *path)
{
	struct source *source = must_calloc(1, sizeof(*source));
	AUTO_FD int fd = open_source(sources, object, path, &source->why);
	AUTO_FREE char *bytes = NULL;
	size_t size;

	source->path = must_strdup(path);
	if (fd < 0)
		return source;
	bytes = read_all(fd, &size, &source->why);
	if (bytes)
		split(source, bytes, size);
	return source;
}

static struct source *find(struct sources *sources, const struct sources_object *object,
			   const char *path)
{
	size_t nr = sources->files.nr;

	for (size_t i = 0; i < nr; i++) {
		size_t idx = (sources->last_idx + i) % nr;

		if (!strcmp(sources->files.list[idx]->path, path)) {
			sources->last_idx = idx;
			return sources->files.list[idx];
		}
	}
	if (nr == SOURCES_MAX)
		return NULL;
	must_push(&sources->files, read_source(sources, object, path));
	sources->last_idx = nr;
	return sources->files.list[nr];
}

const char *sources_line(struct sources *sources, const struct sources_object *object,
			 const char *path, uint32_t number, const char **ret_why)
{
	const struct source *source = find(sources, object, path);

	*ret_why = source ? source->why : "more files than are read";
	if (!source || source->why || !number || number > source->starts.nr)
		return NULL;
	return source->text + source->starts.list[number - 1];
}
