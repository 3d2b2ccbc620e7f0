/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/companion.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"

/* Execute it beside @own, the path of this program; returns where it is not there. */
static void execute(const char *own, const char *verb, const char *const *args, size_t nr)
{
	static const char *const places[] = { "", "../lib/fpless/" };
	AUTO_FREE const char **argv = must_calloc(nr + 3, sizeof(*argv));
	int folder = (int)(strrchr(own, '/') - own) + 1;

	argv[1] = own;
	memcpy(argv + 2, args, nr * sizeof(*argv));
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		AUTO_FREE char *path =
			must_asprintf("%.*s%sfpless-%s", folder, own, places[i], verb);

		argv[0] = path;
		execv(path, (char *const *)argv);
		if (errno != ENOENT)
			fpl_log(FPL_LOG_ERROR, "%s: %s", path, strerror(errno));
	}
}

int companion_execute(const char *verb, const char *const *args, size_t nr)
{
	char own[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);

	own[length < 0 ? 0 : length] = '\0';
	if (*own == '/')
		execute(own, verb, args, nr);
	fpl_log(FPL_LOG_ERROR, "%s: fpless-%s is not installed: it is in the package fpless-agent",
		verb, verb);
	return CLI_EXIT_CANNOT_RUN;
}
