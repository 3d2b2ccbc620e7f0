/* SPDX-License-Identifier: Apache-2.0 */
/* The code of the hottest functions, as the page reads it (page/code.js). */
#pragma once

#include "view/annotation.h"
#include "view/json.h"

/* Write the member "code" of the object that is open; nothing where @code is NULL. */
void html_code_write(struct json *json, const struct annotations *code);
