/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/code_file.h"

#include <inttypes.h>
#include <stdio.h>

const char *code_fault_text(enum code_fault fault)
{
	static const char *const texts[] = {
#define X(name, text) [CODE_FAULT_##name] = (text),
		CODE_FAULT_LIST(X)
#undef X
	};

	return texts[fault];
}

bool code_file_remark(const struct code_file_result *result, const char *path, char *to,
		      size_t size)
{
	char bad[128] = "";

	if (result->end == CODE_FILE_WHOLE && !result->nr_bad)
		return false;
	if (result->nr_bad)
		snprintf(bad, sizeof(bad),
			 "%s%" PRIu64 " left out, the first at offset %" PRIu64 ": %s",
			 result->end == CODE_FILE_WHOLE ? "" : "; ", result->nr_bad,
			 result->bad_off, code_fault_text(result->fault));
	switch (result->end) {
	case CODE_FILE_WHOLE:
		snprintf(to, size, "%s: %s", path, bad);
		break;
	case CODE_FILE_TOO_LONG:
		snprintf(to, size, "%s: only the first %" PRIu64 " bytes were read%s", path,
			 result->end_off, bad);
		break;
	case CODE_FILE_NO_ROOM:
		snprintf(to, size,
			 "%s: no room for more names from offset %" PRIu64
			 " on: raise --jit-memory%s",
			 path, result->end_off, bad);
		break;
	case CODE_FILE_BROKEN:
		snprintf(to, size, "%s: offset %" PRIu64 ": %s: what follows is not read", path,
			 result->bad_off, code_fault_text(result->fault));
		break;
	case CODE_FILE_END_COUNT:
		return false;
	}
	return true;
}
