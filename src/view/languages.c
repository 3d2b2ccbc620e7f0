/* SPDX-License-Identifier: Apache-2.0 */
#include "view/languages.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define FILES_MAX 5u
#define MARKS_MAX 2u

struct language_row {
	const char *name;
	const char *files[FILES_MAX]; /* whole file names; with '*' at the end, prefixes */
	const char *marks[MARKS_MAX]; /* the version follows one of these in the path */
	bool in_file_name;	      /* or is the first number in the file's name */
	unsigned major, minor;	      /* the first version that knows the way; 0.0: each one */
	const char *way;	      /* NULL: there is no way. PID stands for the number */
	const char *before;	      /* an older version's way; NULL: it has no way */
	const char *next; /* the way of the next process, where that of a running one is another */
};

static const struct language_row rows[] = {
	{ .name = "Python",
	  .files = { "python*", "libpython*" },
	  .in_file_name = true,
	  .major = 3,
	  .minor = 12,
	  .way = "start it as `python3 -X perf', or with PYTHONPERFSUPPORT=1 in its environment" },
	{ .name = "node",
	  .files = { "node", "nodejs", "libnode.so*" },
	  .marks = { "/node-v", "/node/v" },
	  .way = "start it as `node --perf-basic-prof --interpreted-frames-native-stack'" },
	{ .name = "Java",
	  .files = { "libjvm.so" },
	  .marks = { "/jvm/", "jdk" },
	  .major = 17,
	  .way = "`jcmd PID Compiler.perfmap' names what is compiled so far; for whole stacks start it with -XX:+PreserveFramePointer",
	  .next = "start it with -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit, for whole stacks with -XX:+PreserveFramePointer, too" },
	{ .name = ".NET",
	  .files = { "libcoreclr.so" },
	  .marks = { "NETCore.App/" },
	  .major = 6,
	  .way = "start it with DOTNET_PerfMapEnabled=1 in its environment",
	  .before = "start it with COMPlus_PerfMapEnabled=1 in its environment" },
	{ .name = "Erlang, erts",
	  .files = { "beam.smp" },
	  .marks = { "/erts-" },
	  .major = 12,
	  .way = "start it as `erl +JPperf true'" },
	{ .name = "Ruby",
	  .files = { "ruby", "ruby2*", "ruby3*", "libruby*" },
	  .marks = { "/versions/" },
	  .in_file_name = true,
	  .major = 3,
	  .minor = 3,
	  .way = "start it as `ruby --yjit-perf': what YJIT compiles is named then" },
	{ .name = "PHP",
	  .files = { "php", "php7*", "php8*", "php-fpm*", "libphp*" },
	  .in_file_name = true,
	  .major = 8,
	  .way = "start it as `php -d opcache.jit_debug=16': what its JIT compiles, if that is on, is named then" },
	{ .name = "Perl", .files = { "perl", "perl5*", "libperl.so*" }, .in_file_name = true },
	{ .name = "Lua", .files = { "lua", "lua5*", "luajit*", "liblua*" } },
	{ .name = "PyPy", .files = { "pypy*", "libpypy*" } },
	{ .name = "Tcl", .files = { "tclsh*", "libtcl*" }, .in_file_name = true },
};

/* Does @name begin with @pattern, or is it equal, if that does not end in '*'? */
static bool is_like(const char *name, const char *pattern)
{
	size_t length = strcspn(pattern, "*");

	return !strncmp(name, pattern, length) && (pattern[length] == '*' || name[length] == '\0');
}

static const struct language_row *row_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t j = 0; j < FILES_MAX && rows[i].files[j]; j++) {
			if (is_like(name, rows[i].files[j]))
				return &rows[i];
		}
	}
	return NULL;
}

/* Take the first number of @text, up to the end of its path component, if it tells enough. */
static bool take_version(const char *text, struct language *language)
{
	const struct language_row *row = language->row;
	int nr = sscanf(text + strcspn(text, "0123456789/"), "%3u.%3u", &language->major,
			&language->minor);

	/* 3 may be 3.11 or 3.12 */
	language->has_version =
		nr == 2 || (nr == 1 && (!row->minor || language->major != row->major));
	return language->has_version;
}

static void find_version(const char *path, const char *name, struct language *language)
{
	const struct language_row *row = language->row;

	for (size_t i = 0; i < MARKS_MAX && row->marks[i]; i++) {
		const char *mark = strstr(path, row->marks[i]);

		if (mark && take_version(mark + strlen(row->marks[i]), language))
			return;
	}
	if (row->in_file_name)
		take_version(name, language);
}

void languages_add(struct language *list, size_t *nr, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	struct language language = { .row = row_of(name) };
	size_t idx = 0;

	if (!language.row)
		return;
	find_version(path, name, &language);
	while (idx < *nr && list[idx].row != language.row)
		idx++;
	if (idx == LANGUAGES_MAX || (idx < *nr && list[idx].has_version))
		return;
	list[idx] = language;
	*nr += idx == *nr;
}

/* Is it older than the first version that knows its way? */
static bool is_before(const struct language *language)
{
	const struct language_row *row = language->row;

	if (!language->has_version || !row->major)
		return false;
	return language->major < row->major ||
	       (language->major == row->major && language->minor < row->minor);
}

/* The name of a run time and a version; 0.0: none. */
static const char *name_of(const struct language_row *row, unsigned major, unsigned minor, char *to,
			   size_t size)
{
	if (!major)
		snprintf(to, size, "%s", row->name);
	else if (minor)
		snprintf(to, size, "%s %u.%u", row->name, major, minor);
	else
		snprintf(to, size, "%s %u", row->name, major);
	return to;
}

const char *language_name(const struct language *language, char *to, size_t size)
{
	return name_of(language->row, language->has_version ? language->major : 0, language->minor,
		       to, size);
}

const char *language_first(const struct language *language, char *to, size_t size)
{
	const struct language_row *row = language->row;

	return row->way && row->major ? name_of(row, row->major, row->minor, to, size) : NULL;
}

const char *language_way(const struct language *language)
{
	return is_before(language) ? language->row->before : language->row->way;
}

const char *language_next_way(const struct language *language)
{
	return !is_before(language) && language->row->next ? language->row->next
							   : language_way(language);
}
