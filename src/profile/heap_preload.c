/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/heap_preload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "preload/preload.h"

#define LD_PRELOAD "LD_PRELOAD"

/* As built, and as installed: from the folder of this program. */
static const char *const folders[] = { "", "../lib/fpless/" };

/* Find the library's path. */
static int find(char ret[PATH_MAX], struct fpl_err *err)
{
	char own[PATH_MAX], path[2 * PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);

	own[len > 0 ? len : 0] = '\0';
	if (strrchr(own, '/'))
		strrchr(own, '/')[1] = '\0';
	for (size_t i = 0; len > 0 && i < ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s%s" PRELOAD_FILE, own, folders[i]);
		if (!access(path, R_OK) && realpath(path, ret))
			return 0;
	}
	if (realpath("/usr/lib/fpless/" PRELOAD_FILE, ret))
		return 0;
	return fpl_fail(err, -ENOENT,
			"--preload: " PRELOAD_FILE
			" is not beside this program (%s), nor in /usr/lib/fpless",
			own);
}

int heap_preload_find(uint64_t stride, uint32_t rate, struct heap_preload *ret, struct fpl_err *err)
{
	const char *others = getenv(LD_PRELOAD);
	int code;

	*ret = (struct heap_preload){ .path = "" };
	code = find(ret->path, err);
	if (code)
		return code;
	/* both separate the words of that variable (ld.so(8)) */
	if (strpbrk(ret->path, " :"))
		return fpl_fail(
			err, -EINVAL,
			"--preload: %s: ld.so takes no path with a blank or a colon: move the library",
			ret->path);
	if (asprintf(&ret->words[0], LD_PRELOAD "=%s%s%s", ret->path, others && *others ? ":" : "",
		     others ? others : "") < 0)
		ret->words[0] = NULL;
	if (asprintf(&ret->words[1], PRELOAD_STRIDE "=%" PRIu64, stride) < 0)
		ret->words[1] = NULL;
	if (asprintf(&ret->words[2], PRELOAD_RATE "=%" PRIu32, rate) < 0)
		ret->words[2] = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(ret->words); i++) {
		if (!ret->words[i])
			return fpl_fail(err, -ENOMEM, "--preload: out of memory");
		ret->environment[i] = ret->words[i];
	}
	return 0;
}

void heap_preload_fini(struct heap_preload *preload)
{
	for (size_t i = 0; i < ARRAY_SIZE(preload->words); i++)
		free(preload->words[i]);
}
