/* SPDX-License-Identifier: Apache-2.0 */
/* Lua: its script frames and its functions. */
#pragma once

#include "script/language.h"

extern const struct script_language lua_language;

/* Offsets in a function (struct Proto of lobject.h). */
#define LUA_NR_STEPS_OFF      24
#define LUA_NR_LINES_OFF      28
#define LUA_NR_MARKS_OFF      40
#define LUA_FIRST_LINE_OFF    44
#define LUA_LAST_LINE_OFF     48
#define LUA_STEPS_OFF	      64
#define LUA_LINES_OFF	      88
#define LUA_MARKS_OFF	      96
#define LUA_SOURCE_OFF	      112
#define LUA_FUNCTION_BYTES    128
#define LUA_STRING_BYTES_OFF  24 /* of a string: its characters */
#define LUA_INSTRUCTION_BYTES 4

/* Are the layouts of this version known? @version: as in struct script_facts. */
bool lua_is_known(uint64_t version);

/* Those of struct script_language. */
bool lua_read_code(uint64_t version, const struct fpl_script_code *record, struct script_code *ret);
uint32_t lua_line(const struct script_code *code, uint32_t place);
