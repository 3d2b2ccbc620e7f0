/* SPDX-License-Identifier: Apache-2.0 */
/* PHP: its script frames and its functions. */
#pragma once

#include "script/language.h"

extern const struct script_language php_language;

/* Offsets in a function (zend_op_array) of one version. */
struct php_layout {
	uint32_t api; /* ZEND_MODULE_API_NO */
	uint8_t major, minor;
	uint8_t opcodes, filename, line_start;
};

/* NULL: the version is not known. @version: as in struct script_facts. */
const struct php_layout *php_layout(uint64_t version);

/* Those of struct script_language. */
bool php_read_code(uint64_t version, const struct fpl_script_code *record, struct script_code *ret);
