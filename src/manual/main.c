/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: fpless-manual page FILE | verbs | bash | fish | zsh
 * Part of the build: the manual and the completions, out of the tables that the program parses its
 * options by. Writes to stdout.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/verbs.h"
#include "manual/completion.h"
#include "manual/page.h"

static int write_page(const char *path, struct fpl_err *err)
{
	FILE *from = fopen(path, "re");

	if (!from)
		return fpl_fail(err, -errno, "%s: %s", path, strerror(errno));

	int error = page_write(from, path, stdout, err);

	fclose(from);
	return error;
}

static void write_verbs(void)
{
	for (size_t i = 0; i < cli_verbs_nr; i++)
		printf("%s\n", cli_verbs[i].name);
}

static int write_what(int argc, char **argv, struct fpl_err *err)
{
	static const struct {
		const char *shell;
		int (*write)(FILE *to);
	} shells[] = {
		{ "bash", completion_bash },
		{ "fish", completion_fish },
		{ "zsh", completion_zsh },
	};
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "page") && argc == 3)
		return write_page(argv[2], err);
	if (!strcmp(what, "verbs")) {
		write_verbs();
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
		if (!strcmp(what, shells[i].shell))
			return shells[i].write(stdout) ? fpl_fail(err, -ENOMEM, "out of memory")
						       : 0;
	return fpl_fail(err, -EINVAL, "usage: fpless-manual page FILE | verbs | bash | fish | zsh");
}

int main(int argc, char **argv)
{
	struct fpl_err err = { 0 };

	if (write_what(argc, argv, &err)) {
		fprintf(stderr, "fpless-manual: %s\n", err.msg);
		return 1;
	}
	return fflush(stdout) || ferror(stdout) ? 1 : 0;
}
