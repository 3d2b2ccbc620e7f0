/* SPDX-License-Identifier: Apache-2.0 */
/* The tools of `fpless serve --mcp': their names, what they take, and the questions they ask. */
#pragma once

#include <json-c/json.h>

#include "serve/question.h"

/* The array of tools, as tools/list gives it; the caller's. */
json_object *mcp_tools_list(void);

/*
 * Make the question of tool @name with @arguments (NULL: none) up to its end. Errors: -EINVAL there
 * is no such tool, or an argument is wrong, which is said.
 */
FPL_MUST_CHECK int mcp_tools_question(const char *name, json_object *arguments,
				      struct question *ret, struct fpl_err *err);
