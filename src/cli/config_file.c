/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/config_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/cli.h"

#define FILE_MAX_BYTES 65536u

enum { KEY_CONFIG = 0x2f00, KEY_LINE };

static const char word[] = "--config";
/* Says from which line of a file the words behind it are; no user needs it. */
static const char mark[] = "from-line";

static const struct argp_option options_list[] = {
	{ "config", KEY_CONFIG, "FILE", 0,
	  "Options in a file, one on each line: NAME = VALUE; those behind it on the command line have the last word",
	  0 },
	{ mark, KEY_LINE, "LABEL", OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	const struct config_file *config = state->input;

	switch (key) {
	case KEY_CONFIG:
		if (!config->path || strcmp(config->path, arg) != 0)
			refuse(state, "--config %s: expected it once, and in full", arg);
		return 0;
	case KEY_LINE:
		state->name = *arg ? arg : state->argv[0];
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp config_argp = { .options = options_list, .parser = parse_option };

/* The value of --config, and its place in @argv; NULL, behind all: it is not given. */
static const char *find_path(int argc, char **argv, int *ret_at)
{
	const size_t length = sizeof(word) - 1;

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		*ret_at = i;
		if (strncmp(argv[i], word, length) != 0)
			continue;
		if (argv[i][length] == '=')
			return argv[i] + length + 1;
		if (!argv[i][length] && i + 1 < argc)
			return argv[i + 1];
	}
	*ret_at = argc;
	return NULL;
}

/* The option with this long name and a meaning of its own, in @argp or below it; NULL: none. */
static const struct argp_option *find_option(const struct argp *argp, const char *name)
{
	const struct argp_option *option = argp->options;

	for (; option && (option->name || option->key || option->doc || option->group); option++) {
		if (option->name && !strcmp(option->name, name) &&
		    !(option->flags & (OPTION_HIDDEN | OPTION_DOC)) && option->key != KEY_CONFIG)
			return option;
	}
	for (const struct argp_child *child = argp->children; child && child->argp; child++) {
		option = find_option(child->argp, name);
		if (option)
			return option;
	}
	return NULL;
}

/* Take the blanks at both ends of @text away. */
static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isblank((unsigned char)end[-1]))
		*--end = '\0';
	while (isblank((unsigned char)*text))
		text++;
	return text;
}

static void add_word(struct config_file *config, char *made)
{
	config->made[config->nr_made++] = made;
	config->argv[config->argc++] = made;
}

/* Make words of a line, which is changed. */
static int add_line(struct config_file *config, const struct argp *argp, const char *label,
		    size_t number, char *line, struct fpl_err *err)
{
	char *name = trim(line), *value = strchr(name, '='), said[64];
	const struct argp_option *option;

	if (!*name || *name == '#')
		return 0;
	for (const char *at = name; *at; at++)
		if (iscntrl((unsigned char)*at) && *at != '\t')
			return fpl_fail(err, -EINVAL, "%s:%zu: a control character", config->path,
					number);
	if (value) {
		*value = '\0';
		value = trim(value + 1);
		name = trim(name);
	}
	option = find_option(argp, name);
	text_escape(said, sizeof(said), name, "");
	if (!option)
		return fpl_fail(err, -EINVAL,
				"%s:%zu: '%s': expected the long name of an option: see %s --help",
				config->path, number, said, label);
	if (value && !option->arg)
		return fpl_fail(err, -EINVAL, "%s:%zu: %s takes no value", config->path, number,
				said);
	if ((!value || !*value) && option->arg && !(option->flags & OPTION_ARG_OPTIONAL))
		return fpl_fail(err, -EINVAL, "%s:%zu: expected %s = %s", config->path, number,
				said, option->arg);
	add_word(config, must_asprintf("--%s=%s: %s:%zu", mark, label, config->path, number));
	add_word(config, value && *value ? must_asprintf("--%s=%s", name, value)
					 : must_asprintf("--%s", name));
	return 0;
}

/* The file's text, to be freed; it holds no NUL but the last. */
static int read_text(const char *path, char **ret, struct fpl_err *err)
{
	/* O_NONBLOCK: opening a FIFO without a writer does not wait */
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	AUTO_FREE char *text = must_malloc(FILE_MAX_BYTES + 2);
	struct stat stat;
	ssize_t size;

	if (fd < 0 || fstat(fd, &stat) < 0)
		return fpl_fail(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(stat.st_mode))
		return fpl_fail(err, -EINVAL, "%s: expected a regular file", path);
	size = io_read(fd, text, FILE_MAX_BYTES + 1);
	if (size < 0)
		return fpl_fail(err, (int)size, "%s: %s", path, strerror((int)-size));
	if (size > FILE_MAX_BYTES)
		return fpl_fail(err, -EINVAL, "%s: above 64 KiB", path);
	if (memchr(text, '\0', (size_t)size))
		return fpl_fail(err, -EINVAL, "%s: expected text, found a NUL", path);
	text[size] = '\0';
	*ret = TAKE_PTR(text);
	return 0;
}

static size_t nr_lines(const char *text)
{
	size_t nr = 1;

	for (; *text; text++)
		nr += *text == '\n';
	return nr;
}

int config_file_read(int argc, char **argv, const struct argp *argp, struct config_file *ret,
		     struct fpl_err *err)
{
	AUTO_FREE char *text = NULL;
	size_t room, number = 0;
	int at, code = 0;
	const char *path = find_path(argc, argv, &at);

	*ret = (struct config_file){ 0 };
	if (path) {
		ret->path = must_strdup(path);
		code = read_text(path, &text, err);
		if (code)
			return code;
	}
	room = text ? 2 * nr_lines(text) + 1 : 0;
	ret->made = must_calloc(room, sizeof(*ret->made));
	ret->argv = must_calloc((size_t)argc + room + 1, sizeof(*ret->argv));
	memcpy(ret->argv, argv, (size_t)at * sizeof(*argv));
	ret->argc = at;
	for (char *rest = text, *line; !code && (line = strsep(&rest, "\n"));) {
		number++;
		code = add_line(ret, argp, argv[0], number, line, err);
	}
	if (ret->nr_made)
		add_word(ret, must_asprintf("--%s=", mark));
	memcpy(ret->argv + ret->argc, argv + at, (size_t)(argc - at) * sizeof(*argv));
	ret->argc += argc - at;
	return code;
}

void config_file_fini(struct config_file *config)
{
	for (size_t i = 0; i < config->nr_made; i++)
		free(config->made[i]);
	free(config->made);
	free(config->argv);
	free(config->path);
	*config = (struct config_file){ 0 };
}
