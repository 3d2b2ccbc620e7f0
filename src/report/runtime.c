/* SPDX-License-Identifier: Apache-2.0 */
#include "report/runtime.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "naming/names.h"

struct runtime_process {
	uint64_t start_ns;
	uint32_t pid;
	enum runtime runtime;
};

enum runtime runtime_of_path(const char *path)
{
	/* name: the whole file name; with '*' at its end, a prefix */
	static const struct {
		const char *name;
		enum runtime runtime;
	} known[] = {
		{ "beam.smp", RUNTIME_ERLANG },	 { "libcoreclr.so", RUNTIME_DOTNET },
		{ "libjvm.so", RUNTIME_JAVA },	 { "libluajit-*", RUNTIME_LUAJIT },
		{ "libnode.so*", RUNTIME_NODE }, { "libphp*", RUNTIME_PHP },
		{ "libpypy*", RUNTIME_PYPY },	 { "luajit*", RUNTIME_LUAJIT },
		{ "node", RUNTIME_NODE },	 { "nodejs", RUNTIME_NODE },
		{ "opcache.so", RUNTIME_PHP },	 { "php*", RUNTIME_PHP },
		{ "pypy*", RUNTIME_PYPY },	 { "sbcl", RUNTIME_SBCL },
	};
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		size_t length = strcspn(known[i].name, "*");

		if (strncmp(name, known[i].name, length) == 0 &&
		    (known[i].name[length] == '*' || name[length] == '\0'))
			return known[i].runtime;
	}
	return RUNTIME_NATIVE;
}

enum runtime runtime_of_symbol(const char *symbol)
{
	static const char end[] = "_info";
	size_t length = strlen(symbol), end_length = sizeof(end) - 1;

	if (strncmp(symbol, "runtime.", 8) == 0)
		return RUNTIME_GO;
	if (length > end_length && strcmp(symbol + length - end_length, end) == 0 &&
	    (strncmp(symbol, "stg_", 4) == 0 || strncmp(symbol, "Main_", 5) == 0 ||
	     strstr(symbol, "zi") || strstr(symbol, "zd")))
		return RUNTIME_GHC;
	return RUNTIME_NATIVE;
}

static int compare_processes(const void *left, const void *right)
{
	const struct runtime_process *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static enum runtime runtime_of_stack(const struct profile *profile, const enum runtime *by_object,
				     const struct profile_stack *stack)
{
	for (size_t i = 0; i < stack->nr_user; i++) {
		uint64_t frame = stack->frames[i];
		uint32_t object = frame_is_raw(frame) ? 0 : frame_object(frame);

		if (object > 0 && object <= profile->nr_objects && by_object[object - 1])
			return by_object[object - 1];
	}
	return RUNTIME_NATIVE;
}

/* The list keeps only processes with a run time, each once. */
void runtimes_init(struct runtimes *runtimes, const struct profile *profile)
{
	AUTO_FREE enum runtime *by_object = must_calloc(profile->nr_objects, sizeof(*by_object));
	size_t nr = 0, kept = 0;

	runtimes->list = must_calloc(profile->nr_stacks, sizeof(*runtimes->list));
	for (size_t i = 0; i < profile->nr_objects; i++) {
		if (profile->objects[i].path)
			by_object[i] = runtime_of_path(profile->objects[i].path);
	}
	for (size_t i = 0; i < profile->nr_stacks; i++) {
		const struct profile_stack *stack = &profile->stacks[i];
		enum runtime runtime = runtime_of_stack(profile, by_object, stack);

		if (runtime)
			runtimes->list[nr++] = (struct runtime_process){
				.start_ns = stack->start_ns, .pid = stack->pid, .runtime = runtime
			};
	}
	qsort(runtimes->list, nr, sizeof(*runtimes->list), compare_processes);
	for (size_t i = 0; i < nr; i++) {
		if (!kept || compare_processes(&runtimes->list[kept - 1], &runtimes->list[i]))
			runtimes->list[kept++] = runtimes->list[i];
	}
	runtimes->nr = kept;
}

void runtimes_fini(struct runtimes *runtimes)
{
	free(runtimes->list);
	*runtimes = (struct runtimes){ 0 };
}

enum runtime runtimes_of(const struct runtimes *runtimes, const struct profile_stack *stack)
{
	const struct runtime_process key = { .start_ns = stack->start_ns, .pid = stack->pid };
	const struct runtime_process *found = runtimes->nr
						      ? bsearch(&key, runtimes->list, runtimes->nr,
								sizeof(key), compare_processes)
						      : NULL;

	return found ? found->runtime : RUNTIME_NATIVE;
}
