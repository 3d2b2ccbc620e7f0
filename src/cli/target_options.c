/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/target_options.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/parse.h"
#include "proc/named.h"
#include "profile/comm_filter.h"

/* Keys of options without a letter, none of those of sampling_options.c. */
enum { KEY_CGROUP = 0x200, KEY_COMM };

static const struct argp_option options_list[] = {
	{ "all", 'a', NULL, 0, "Every process on every CPU (default)", 1 },
	{ "pid", 'p', "PID[,PID...]", 0, "These processes, all threads, not their children", 1 },
	{ "name", 'n', "NAME", 0,
	  "The processes of this name (of the main thread or the executable), as -p; may be repeated",
	  1 },
	{ "tid", 't', "TID[,TID...]", 0, "These threads (with -p: of these processes)", 1 },
	{ "cpu", 'C', "CPUS", 0, "Only these CPUs: 0,2-3", 1 },
	{ "cgroup", KEY_CGROUP, "PATH", 0, "Only tasks in this cgroup (v2) and below it", 1 },
	{ "comm", KEY_COMM, "REGEX", 0, "Only tasks whose name matches (POSIX extended)", 1 },
	{ "uid", 'u', "UID|NAME", 0, "Only tasks of this effective user", 1 },
	{ 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

static void parse_cpus(const char *arg, struct target_options *options, struct argp_state *state)
{
	int error;

	if (options->cpus.nr)
		refuse(state, "-C: given twice: separate the CPUs by commas");
	error = cpu_list_parse(arg, &options->cpus);
	if (error == -ENOMEM)
		argp_failure(state, CLI_EXIT_CANNOT_RUN, 0, "out of memory");
	else if (error || strchr(arg, '\n'))
		refuse(state, "-C %s: expected CPUs and ranges separated by commas", arg);
}

/* A number is an id, as for kill; no user name is a number. */
static void parse_user(const char *arg, struct target_options *options, struct argp_state *state)
{
	uint64_t uid = 0;

	if (options->has_uid)
		refuse(state, "-u: given twice");
	/* the last one, (uid_t)-1, belongs to no user */
	if (parse_number(arg, 0, UINT32_MAX - 1, &uid)) {
		options->uid = (uid_t)uid;
	} else {
		errno = 0;

		const struct passwd *user = isdigit((unsigned char)*arg) ? NULL : getpwnam(arg);

		if (!user)
			refuse(state, "-u %s: no such user", arg);
		else
			options->uid = user->pw_uid;
	}
	options->has_uid = true;
}

static void parse_comm(const char *arg, struct target_options *options, struct argp_state *state)
{
	struct comm_filter *filter;
	struct fpl_err err;

	if (options->comm)
		refuse(state, "--comm: given twice: (one|two) matches either");
	if (comm_filter_create(arg, false, &filter, &err))
		refuse(state, "%s", err.msg);
	else
		comm_filter_destroy(filter);
	options->comm = arg;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct target_options *options = state->input;

	switch (key) {
	case 'a':
		options->all = true;
		return 0;
	case 'p':
		if (options->pids)
			refuse(state, "-p: given twice: separate the pids by commas");
		if (!parse_pids(arg, &options->pids, &options->nr_pids))
			refuse(state, "-p %s: expected process ids separated by commas or blanks",
			       arg);
		return 0;
	case 'n':
		if (!*arg)
			refuse(state, "-n: an empty name");
		must_push(&options->names, arg);
		return 0;
	case 't':
		if (options->tids)
			refuse(state, "-t: given twice: separate the tids by commas");
		if (!parse_pids(arg, &options->tids, &options->nr_tids))
			refuse(state, "-t %s: expected thread ids separated by commas or blanks",
			       arg);
		return 0;
	case 'C':
		parse_cpus(arg, options, state);
		return 0;
	case 'u':
		parse_user(arg, options, state);
		return 0;
	case KEY_CGROUP:
		if (options->cgroup)
			refuse(state, "--cgroup: given twice");
		if (!*arg)
			refuse(state, "--cgroup: an empty path");
		options->cgroup = arg;
		return 0;
	case KEY_COMM:
		parse_comm(arg, options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp target_argp = { .options = options_list, .parser = parse_option };

void target_options_fini(struct target_options *options)
{
	vector_fini(&options->names);
	free(options->pids);
	free(options->tids);
	cpu_list_fini(&options->cpus);
}

/* Add the processes of -n to those of -p. */
static void find_named(struct target_options *options, struct argp_state *state)
{
	struct pid_list found = { options->pids, options->nr_pids, options->nr_pids };

	for (size_t i = 0; i < options->names.nr; i++) {
		const char *name = options->names.list[i];
		size_t before = found.nr;
		int error = named_processes(name, &found);

		if (error)
			argp_failure(state, CLI_EXIT_CANNOT_RUN, -error, "-n %s: /proc", name);
		if (found.nr == before)
			argp_failure(state, CLI_EXIT_NO_SAMPLES, 0,
				     "-n %s: no process has this name", name);
	}
	options->pids = found.list;
	options->nr_pids = found.nr;
}

void target_options_check(struct target_options *options, struct argp_state *state)
{
	if (options->all && (options->names.nr || options->nr_pids || options->nr_tids))
		refuse(state, "-a excludes -p, -n and -t");
	find_named(options, state);
}

void target_options_to_engine(const struct target_options *options, bool has_command,
			      struct engine_options *ret)
{
	ret->target = options->nr_pids || options->nr_tids ? ENGINE_TARGET_PIDS
		      : has_command && !options->all	   ? ENGINE_TARGET_COMMAND
							   : ENGINE_TARGET_ALL;
	ret->pids = options->pids;
	ret->nr_pids = options->nr_pids;
	ret->tids = options->tids;
	ret->nr_tids = options->nr_tids;
	ret->cpus = options->cpus;
	ret->has_uid = options->has_uid;
	ret->uid = options->uid;
	ret->cgroup = options->cgroup;
	ret->comm = options->comm;
}
