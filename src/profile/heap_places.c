/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/heap_places.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/log.h"
#include "parse/client.h"
#include "profile/heap_tellers.h"
#include "symbolize/probe_sites.h"

#define WORDS_MAX 32u /* of --allocator */

/* Functions whose names end alike are told apart by the longest end: posix_memalign is no memalign.
 */
static const struct usual {
	const char *name;
	enum fpl_alloc kind;
	bool frees;
	bool not_libc; /* C++ and the like, which libc does not have */
} usuals[] = {
	{ "malloc", FPL_ALLOC_SIZE, false, false },
	{ "free", 0, true, false },
	{ "calloc", FPL_ALLOC_COUNT, false, false },
	{ "realloc", FPL_ALLOC_AGAIN, false, false },
	{ "reallocarray", FPL_ALLOC_AGAIN_COUNT, false, false },
	{ "aligned_alloc", FPL_ALLOC_ALIGNED, false, false },
	{ "memalign", FPL_ALLOC_ALIGNED, false, false },
	{ "posix_memalign", FPL_ALLOC_STORED, false, false },
	{ "valloc", FPL_ALLOC_SIZE, false, false },
	{ "pvalloc", FPL_ALLOC_SIZE, false, false },
	{ "cfree", 0, true, false },
	/* operator new and new[]: plain, nothrow, aligned, both */
	{ "_Znwm", FPL_ALLOC_SIZE, false, true },
	{ "_Znam", FPL_ALLOC_SIZE, false, true },
	{ "_ZnwmRKSt9nothrow_t", FPL_ALLOC_SIZE, false, true },
	{ "_ZnamRKSt9nothrow_t", FPL_ALLOC_SIZE, false, true },
	{ "_ZnwmSt11align_val_t", FPL_ALLOC_SIZE, false, true },
	{ "_ZnamSt11align_val_t", FPL_ALLOC_SIZE, false, true },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", FPL_ALLOC_SIZE, false, true },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", FPL_ALLOC_SIZE, false, true },
	/* operator delete and delete[]: plain, sized, nothrow, aligned */
	{ "_ZdlPv", 0, true, true },
	{ "_ZdaPv", 0, true, true },
	{ "_ZdlPvm", 0, true, true },
	{ "_ZdaPvm", 0, true, true },
	{ "_ZdlPvRKSt9nothrow_t", 0, true, true },
	{ "_ZdaPvRKSt9nothrow_t", 0, true, true },
	{ "_ZdlPvSt11align_val_t", 0, true, true },
	{ "_ZdaPvSt11align_val_t", 0, true, true },
	{ "_ZdlPvmSt11align_val_t", 0, true, true },
	{ "_ZdaPvmSt11align_val_t", 0, true, true },
	/* jemalloc's own */
	{ "mallocx", FPL_ALLOC_SIZE, false, true },
	{ "rallocx", FPL_ALLOC_AGAIN, false, true },
	{ "dallocx", 0, true, true },
	{ "sdallocx", 0, true, true },
};

/* Libraries that have them; libc first. */
#define LIBC "libc.so.6"
static const char *const libraries[] = {
	LIBC,
	"libc.musl-x86_64.so.1",
	"ld-musl-x86_64.so.1",
	"libjemalloc.so.2",
	"libjemalloc.so.1",
	"libtcmalloc.so.4",
	"libtcmalloc_minimal.so.4",
	"libmimalloc.so.2",
	"libmimalloc.so.3",
};

#define LIBRARIES_TEXT "libc.so.6, libjemalloc.so.2, libtcmalloc.so.4, libmimalloc.so.2"

/* A function that --allocator names. */
struct asked_function {
	const char *name;
	struct usual usual;
	bool is_found;
};

struct search {
	const struct engine_options *options;
	struct parse_client *client;
	struct heap_places *places;
	char *words; /* owned: --allocator */
	struct asked_function functions[WORDS_MAX];
	size_t nr_functions;
	const char *libraries[WORDS_MAX];
	size_t nr_libraries;
	bool program_tells; /* of its allocations: its functions would count them again */
	struct fpl_err *err;
};

void heap_places_fini(struct heap_places *places)
{
	for (size_t i = 0; i < places->files.nr; i++)
		cleanup_fd(&places->files.list[i].fd);
	vector_fini(&places->files);
	vector_fini(&places->list);
}

/* The usual function that @name ends in; NULL: none. */
static const struct usual *usual_of(const char *name)
{
	const struct usual *found = NULL;
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(usuals); i++) {
		size_t end = strlen(usuals[i].name);

		if (end <= len && !strcmp(name + len - end, usuals[i].name) &&
		    (!found || end > strlen(found->name)))
			found = &usuals[i];
	}
	return found;
}

static int parse_word(struct search *search, char *word)
{
	char *kind = strchr(word, '=');
	const struct usual *usual;

	if (search->nr_functions + search->nr_libraries == WORDS_MAX)
		return fpl_fail(search->err, -EINVAL, "--allocator: more than %u words", WORDS_MAX);
	if (!*word)
		return fpl_fail(search->err, -EINVAL, "--allocator: an empty word");
	if (strchr(word, '/') || strstr(word, ".so")) {
		search->libraries[search->nr_libraries++] = word;
		return 0;
	}
	if (kind)
		*kind++ = '\0';
	usual = usual_of(kind ? kind : word);
	if (!usual)
		return fpl_fail(
			search->err, -EINVAL,
			"--allocator %s: no library, and no function whose name tells its kind: FUNC=KIND, where KIND is malloc, calloc, realloc, reallocarray, memalign, posix_memalign or free",
			word);
	search->functions[search->nr_functions++] =
		(struct asked_function){ .name = word, .usual = *usual };
	return 0;
}

static int parse_wanted(struct search *search, const char *wanted)
{
	int code = 0;

	if (!wanted)
		return 0;
	search->words = strdup(wanted);
	if (!search->words)
		return fpl_fail(search->err, -ENOMEM, "--allocator: out of memory");
	for (char *at = search->words, *word; !code && (word = strsep(&at, ","));)
		code = parse_word(search, word);
	return code;
}

static bool is_same_file(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Take over @file, which may be known. *ret: its index. */
static int add_file(struct search *search, struct probe_file *file, size_t *ret, bool *ret_known)
{
	struct heap_places *places = search->places;

	*ret_known = false;
	for (size_t i = 0; i < places->files.nr && !*ret_known; i++) {
		*ret = i;
		*ret_known = is_same_file(places->files.list[i].fd, file->fd);
	}
	if (*ret_known) {
		cleanup_fd(&file->fd);
		return 0;
	}
	if (vector_push(&places->files, *file)) {
		cleanup_fd(&file->fd);
		return fpl_fail(search->err, -ENOMEM, "heap: out of memory");
	}
	*ret = places->files.nr - 1;
	return 0;
}

static int add_place(struct search *search, const struct heap_place *place)
{
	const struct heap_places *places = search->places;

	for (size_t i = 0; i < places->list.nr; i++)
		if (places->list.list[i].file == place->file &&
		    places->list.list[i].off == place->off)
			return 0; /* another name of it */
	return vector_push(&search->places->list, *place)
		       ? fpl_fail(search->err, -ENOMEM, "heap: out of memory")
		       : 0;
}

/*
 * The instruction at which a function that frees is probed. The kernel acts as if by a conditional
 * jump itself, but steps through most other instructions, which costs several times a breakpoint.
 * Compilers begin free by a look whether there is anything to free, and a jump: the jump sees the
 * same argument.
 */
static uint64_t cheapest(const struct probe_site *site)
{
	static const uint8_t test_rdi[] = { 0x48, 0x85, 0xff };
	const uint8_t *jump = site->code + sizeof(test_rdi);

	if (site->nr_code < sizeof(test_rdi) + 2 ||
	    memcmp(site->code, test_rdi, sizeof(test_rdi)) != 0)
		return site->off;

	bool is_jump = (jump[0] & 0xf0) == 0x70 || (jump[0] == 0x0f && (jump[1] & 0xf0) == 0x80);

	return is_jump ? site->off + sizeof(test_rdi) : site->off;
}

/* Look for the function @name. *ret: is it there? */
static int find_function(struct search *search, size_t file, const struct client_file *client_file,
			 const char *name, const struct usual *usual, bool *ret)
{
	CLEANUP(probe_sites_fini) struct probe_sites sites = { .nr = 0 };
	int code = client_function(search->client, client_file, name, &sites, search->err);

	*ret = false;
	for (size_t i = 0; !code && i < sites.nr; i++) {
		const struct heap_place place = {
			.file = file,
			.off = usual->frees ? cheapest(&sites.list[i]) : sites.list[i].off,
			.kind = usual->kind,
			.frees = usual->frees,
		};

		if (sites.list[i].kind != PROBE_SITE_CODE)
			continue;
		*ret = true;
		code = add_place(search, &place);
	}
	return code;
}

/* All usual functions, in a file that has malloc. *ret: has it? */
static int find_usual(struct search *search, size_t file, const struct client_file *client_file,
		      bool *ret)
{
	const char *path = search->places->files.list[file].path;
	bool is_libc = !strncmp(text_path_name(path), "libc.", strlen("libc."));
	bool is_there;
	int code = find_function(search, file, client_file, usuals[0].name, &usuals[0], ret);

	for (size_t i = 1; !code && *ret && i < ARRAY_SIZE(usuals); i++)
		if (!is_libc || !usuals[i].not_libc)
			code = find_function(search, file, client_file, usuals[i].name, &usuals[i],
					     &is_there);
	return code;
}

static int find_asked(struct search *search, size_t file, const struct client_file *client_file,
		      bool *ret)
{
	int code = 0;

	*ret = false;
	for (size_t i = 0; !code && i < search->nr_functions; i++) {
		struct asked_function *function = &search->functions[i];
		bool is_there;

		code = find_function(search, file, client_file, function->name, &function->usual,
				     &is_there);
		*ret |= is_there;
		function->is_found |= is_there;
	}
	return code;
}

/* Is it a program that loads no library? Then no other file has its allocator. */
static bool is_static(struct search *search, const struct client_file *client_file)
{
	struct elf_file *elf = NULL;
	struct debug_link link;
	bool has_interp = false;

	if (client_facts(search->client, client_file, &elf, NULL, &link, NULL))
		return false;
	for (size_t i = 0; i < elf->nr_segments; i++)
		has_interp |= elf->segments[i].type == PT_INTERP;
	elf_file_close(elf);
	return !has_interp;
}

/*
 * Look for functions in @file, which is taken over. @is_program: not a library. *ret: has it some?
 * A file that is no ELF has none.
 */
static int look_in(struct search *search, struct probe_file *file, bool is_program, bool *ret)
{
	struct client_file client_file;
	bool is_known;
	size_t idx;
	int code = add_file(search, file, &idx, &is_known);

	*ret = is_known;
	if (code || is_known)
		return code;
	file = &search->places->files.list[idx];
	if (client_file_init(&client_file, file->fd, file->path))
		return 0;
	if (!search->words)
		code = heap_tellers_find(search->client, &client_file, idx, search->places, ret,
					 search->err);
	search->program_tells |= *ret && is_program;
	if (!code && !*ret)
		code = search->nr_functions ? find_asked(search, idx, &client_file, ret)
					    : find_usual(search, idx, &client_file, ret);
	if (is_program && (code == -ENOEXEC || code == -EINVAL || code == -ENODATA))
		code = 0; /* a script */
	else if (!code && is_program && !*ret && is_static(search, &client_file))
		code = fpl_fail(
			search->err, -EINVAL,
			"%s: a program without libraries, in which no function is called %s: --allocator FUNC,... names those that it has",
			text_path_name(file->path),
			search->nr_functions ? search->functions[0].name : "malloc");
	cleanup_fd(&client_file.debug_fd);
	return code;
}

/* The program of a process, as its maps have it; @pid 0: of the command. */
static int open_program(struct search *search, pid_t pid, struct probe_file *ret)
{
	struct opener *opener = parser_opener(search->options->parser);
	char link[32], path[PATH_MAX];
	ssize_t len;

	if (!pid) /* that it cannot be executed is said later, and better */
		return probe_file_open(opener, search->options->command[0], NULL, 0, ret, NULL);
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return -ENOENT;
	path[len] = '\0';
	return probe_file_open_mapped(opener, text_path_name(path), pid, ret);
}

/* The library @name of a process; @pid 0: as the command will find it. */
static int open_library(struct search *search, const char *name, pid_t pid, struct probe_file *ret)
{
	struct opener *opener = parser_opener(search->options->parser);

	return pid ? probe_file_open_mapped(opener, name, pid, ret)
		   : probe_file_open(opener, name, NULL, 0, ret, NULL);
}

/* Look in the program of a process, and in the libraries that it may have; @pid 0: of the command.
 */
static int look_in_program(struct search *search, pid_t pid, bool *ret)
{
	struct probe_file file;
	bool has_some = false;
	int code = 0;

	if (!open_program(search, pid, &file))
		code = look_in(search, &file, true, &has_some);
	*ret |= has_some;
	if (search->nr_functions || search->program_tells)
		return code;
	for (size_t i = 0; !code && i < ARRAY_SIZE(libraries); i++) {
		if (open_library(search, libraries[i], pid, &file))
			continue;
		code = look_in(search, &file, false, &has_some);
		*ret |= has_some;
	}
	return code;
}

/* Do files of a process tell of allocations? */
struct look {
	struct search *search;
	bool tells;
};

/* A file that a process has mapped: keep it if it tells. */
static int look_for_teller(void *ctx, struct probe_file *file)
{
	struct look *look = ctx;
	struct search *search = look->search;
	struct heap_places *places = search->places;
	struct client_file client_file;
	bool is_known, tells = false;
	size_t idx;
	int code = add_file(search, file, &idx, &is_known);

	look->tells |= !code && is_known;
	if (code || is_known)
		return code;
	if (!client_file_init(&client_file, places->files.list[idx].fd,
			      places->files.list[idx].path)) {
		code = heap_tellers_find(search->client, &client_file, idx, places, &tells,
					 search->err);
		cleanup_fd(&client_file.debug_fd);
	}
	look->tells |= tells;
	if (!tells) /* what it has is looked for later, if at all */
		cleanup_fd(&places->files.list[--places->files.nr].fd);
	return code == -ENOEXEC || code == -EINVAL || code == -ENODATA ? 0 : code;
}

/*
 * Look in what the processes have mapped. If one of them tells of its allocations, all have to: the
 * functions of one would count what the other one tells.
 */
static int look_in_processes(struct search *search, bool *ret)
{
	const struct engine_options *o = search->options;
	size_t nr_telling = 0;
	int code = 0;

	for (size_t i = 0; !code && !search->words && i < o->nr_pids; i++) {
		struct look look = { .search = search };

		code = probe_file_each_mapped(parser_opener(o->parser), o->pids[i], look_for_teller,
					      &look);
		if (code == -ESRCH)
			code = 0;
		nr_telling += look.tells;
	}
	if (code)
		return code;
	if (nr_telling && nr_telling < o->nr_pids)
		return fpl_fail(
			search->err, -EINVAL,
			"-p: some of these processes tell of their allocations (otel_memory probes), others do not: profile them apart");
	*ret |= nr_telling;
	for (size_t i = 0; !code && !nr_telling && i < o->nr_pids; i++)
		code = look_in_program(search, o->pids[i], ret);
	return code;
}

static int look_in_libraries(struct search *search, bool *ret)
{
	const struct engine_options *o = search->options;
	int code = 0;

	for (size_t i = 0; !code && i < search->nr_libraries; i++) {
		struct probe_file file;
		bool has_some = false;

		code = probe_file_open(parser_opener(o->parser), search->libraries[i], o->pids,
				       o->nr_pids, &file, search->err);
		if (!code)
			code = look_in(search, &file, false, &has_some);
		else
			code = fpl_fail_in(search->err, -EINVAL, "--allocator");
		if (!code && !has_some && !search->nr_functions)
			code = fpl_fail(
				search->err, -EINVAL,
				"--allocator %s: no function of it is called malloc: --allocator %s,FUNC,... names those that allocate and free",
				search->libraries[i], search->libraries[i]);
		*ret |= has_some;
	}
	return code;
}

/*
 * Refuse a program into which ld.so loads no such library, and say so where it would see nothing.
 */
static int check_preload(struct search *search, const struct probe_file *file)
{
	CLEANUP(probe_sites_fini) struct probe_sites sites = { .nr = 0 };
	const char *name = text_path_name(file->path);
	struct client_file client_file;
	struct stat st;
	int code = 0;

	if (!fstat(file->fd, &st) && (((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
				      ((st.st_mode & S_ISGID) && st.st_gid != getgid())))
		return fpl_fail(
			search->err, -EINVAL,
			"--preload: %s: runs as another user or group (setuid): ld.so loads no such library into it",
			name);
	if (client_file_init(&client_file, file->fd, file->path))
		return 0;
	if (is_static(search, &client_file))
		code = fpl_fail(
			search->err, -EINVAL,
			"--preload: %s: a program without libraries loads none: leave --preload out",
			name);
	else if (!client_function(search->client, &client_file, usuals[0].name, &sites, NULL) &&
		 sites.nr && sites.list[0].kind == PROBE_SITE_CODE)
		fpl_log(FPL_LOG_WARN,
			"--preload: %s has an allocator of its own, which comes before the library's: nothing of it is counted",
			name);
	cleanup_fd(&client_file.debug_fd);
	return code;
}

/* The library that the command will load. */
static int look_in_preload(struct search *search, bool *ret)
{
	struct opener *opener = parser_opener(search->options->parser);
	struct probe_file file;
	int code = 0;

	if (!open_program(search, 0, &file)) {
		code = check_preload(search, &file);
		cleanup_fd(&file.fd);
	}
	if (!code)
		code = probe_file_open(opener, search->options->heap.preload, NULL, 0, &file,
				       search->err);
	return code ? code : look_in(search, &file, false, ret);
}

/* Has it both, and all that was asked for? */
static int check(const struct search *search, bool has_some)
{
	bool allocates = false, frees = false;

	for (size_t i = 0; i < search->nr_functions; i++)
		if (!search->functions[i].is_found)
			return fpl_fail(
				search->err, -EINVAL, "--allocator: no function is called %s in %s",
				search->functions[i].name,
				search->nr_libraries ? search->libraries[0] : "the program");
	for (size_t i = 0; i < search->places->list.nr; i++) {
		frees |= search->places->list.list[i].frees;
		allocates |= !search->places->list.list[i].frees;
	}
	if (has_some && allocates && frees)
		return 0;
	if (search->nr_functions)
		return fpl_fail(search->err, -EINVAL,
				"--allocator: wanted functions that allocate and that free");
	return fpl_fail(
		search->err, -EINVAL,
		"no allocator: neither the program nor " LIBRARIES_TEXT
		" of its processes has malloc and free: --allocator LIB or FUNC,... names what it uses");
}

int heap_places_find(const struct engine_options *options, const char *wanted,
		     struct heap_places *ret, struct fpl_err *err)
{
	struct search search = { .options = options, .places = ret, .err = err };
	bool has_some = false;
	int code = parse_wanted(&search, wanted);

	if (!code)
		code = client_open(options->parser, &search.client, err);
	if (!code && search.nr_libraries)
		code = look_in_libraries(&search, &has_some);
	else if (!code && options->heap.preload)
		code = look_in_preload(&search, &has_some);
	else if (!code && options->target == ENGINE_TARGET_COMMAND)
		code = look_in_program(&search, 0, &has_some);
	else if (!code)
		code = look_in_processes(&search, &has_some);
	if (!code)
		code = check(&search, has_some);
	if (search.client)
		client_close(search.client);
	free(search.words);
	return code;
}
