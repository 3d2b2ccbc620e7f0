/* SPDX-License-Identifier: Apache-2.0 */
#include "format/pprof_rules.h"

#include <string.h>

#include "base/cleanup.h"
#include "recording/keys.h"

/* On all 64-bit architectures of Linux the kernel has the upper half. */
#define KERNEL_HALF (UINT64_C(1) << 63)

bool pprof_is_kernel(const char *mapping, uint64_t address)
{
	static const char *const names[] = { "[kernel.", "[kernel]", "[guest.kernel." };

	for (size_t i = 0; mapping && i < ARRAY_SIZE(names); i++)
		if (!strncmp(mapping, names[i], strlen(names[i])))
			return true;
	/* a module is "[name]" or a file; the page of vsyscalls is the one piece of user code */
	return address >= KERNEL_HALF && !(mapping && !strcmp(mapping, "[vsyscall]"));
}

const char *pprof_run_key(const struct pprof_run *run)
{
	if (run->kernel)
		return "kernel";
	return origin_key((enum fpl_origin)run->origin);
}

static bool key_parse(const char *key, size_t length, struct pprof_run *ret)
{
	*ret = (struct pprof_run){ .origin = RECORDING_NO_ORIGIN };
	if (length == strlen("kernel") && !strncmp(key, "kernel", length)) {
		ret->kernel = true;
		ret->origin = 0;
		return true;
	}
	ret->origin = origin_of_key(key, length);
	if (ret->origin != RECORDING_NO_ORIGIN)
		return true;
	return length == strlen("unknown") && !strncmp(key, "unknown", length);
}

bool pprof_run_parse(const char **at, struct pprof_run *ret, uint32_t *ret_nr)
{
	const char *pos = *at;
	size_t length = strcspn(pos, "!:");
	uint32_t nr = 0;

	if (!key_parse(pos, length, ret))
		return false;
	pos += length;
	ret->exact = *pos == '!';
	pos += ret->exact;
	if (*pos++ != ':')
		return false;
	for (; *pos >= '0' && *pos <= '9'; pos++) {
		nr = nr * 10 + (uint32_t)(*pos - '0');
		if (nr > UINT16_MAX * 2u)
			return false;
	}
	if (!nr || (*pos && *pos != ','))
		return false;
	*at = pos + (*pos == ',');
	*ret_nr = nr;
	return true;
}
