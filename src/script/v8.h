/* SPDX-License-Identifier: Apache-2.0 */
/* V8, the run time of JavaScript in node: its frames, compiled and interpreted, and its functions
 * (decision 0043). */
#pragma once

#include "script/language.h"

extern const struct script_language v8_language;
