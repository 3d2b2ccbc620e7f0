/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The language run time of a process, as far as its objects tell. The advice about a stack that
 * ends early depends on it.
 */
#pragma once

#include <stdint.h>

#include "profile/profile.h"

/* X(name, its name in advice) */
#define RUNTIME_LIST(X)     \
	X(NATIVE, "native") \
	X(DOTNET, ".NET")   \
	X(ERLANG, "Erlang") \
	X(JAVA, "java")     \
	X(LUAJIT, "LuaJIT") \
	X(NODE, "node")     \
	X(PHP, "php")       \
	X(PYPY, "PyPy")     \
	X(SBCL, "sbcl")     \
	X(GO, "Go")         \
	X(GHC, "Haskell")

#define X(name, text) RUNTIME_##name,
enum runtime { RUNTIME_LIST(X) RUNTIME_COUNT };
#undef X

/* The run time that the object @path is or belongs to, by its file name; RUNTIME_NATIVE: no known
 * one. */
enum runtime runtime_of_path(const char *path);

/*
 * The run time whose compiler gave a function the name @symbol: one of Go's own package, or one
 * that GHC encoded (the entry of an _info table, with z). RUNTIME_NATIVE: no known one.
 */
enum runtime runtime_of_symbol(const char *symbol);

/* The run times of the processes of a profile. */
struct runtimes {
	struct runtime_process *list; /* owned [nr], by pid, then start */
	size_t nr;
};

/* Cost: O(frames). */
void runtimes_init(struct runtimes *runtimes, const struct profile *profile);
void runtimes_fini(struct runtimes *runtimes);

/* The run time of the process of @stack. */
enum runtime runtimes_of(const struct runtimes *runtimes, const struct profile_stack *stack);
