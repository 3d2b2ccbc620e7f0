/* SPDX-License-Identifier: Apache-2.0 */
/* Mangled C++, Rust and D names (Itanium ABI; Rust legacy and v0) made readable. */
#pragma once

/*
 * Longer names are shown as they stand. libiberty refuses C++ names over 1,024 bytes by itself
 * (its recursion limit, which must stay on: names are hostile).
 */
#define DEMANGLE_IN_MAX 16384u
/* A few hundred bytes of substitutions can stand for a name of gigabytes. */
#define DEMANGLE_OUT_MAX 65536u

/*
 * Demangle @mangled into a new string (the caller frees it). NULL when it is no mangled name, is
 * malformed, exceeds a limit, or memory ran out: then the name is to be shown as it stands.
 */
char *demangle_name(const char *mangled);
