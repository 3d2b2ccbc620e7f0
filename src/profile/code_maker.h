/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that make code at run time, known by the names of their files. */
#pragma once

enum code_maker {
	CODE_MAKER_NONE,
	CODE_MAKER_JVM,
	CODE_MAKER_PCRE2,
	CODE_MAKER_QEMU,
	CODE_MAKER_GUILE,
	CODE_MAKER_PHP,	    /* may have PCRE2 in it */
	CODE_MAKER_LUAJIT,  /* any with the rule of its code in its table */
	CODE_MAKER_BEAM,    /* Erlang */
	CODE_MAKER_CPYTHON, /* known by its table, as LuaJIT */
	CODE_MAKER_COUNT
};

/* Tell by its @path which one a file is. */
enum code_maker code_maker_of(const char *path);
