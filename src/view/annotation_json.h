/* SPDX-License-Identifier: Apache-2.0 */
/* An annotation as JSON (fpless-annotate(1), "--json"). */
#pragma once

#include "view/annotation.h"
#include "view/json.h"

/* Write @annotation as an element of the array that is open. */
void annotation_json_write(struct json *json, const struct annotation *annotation);
