/* SPDX-License-Identifier: Apache-2.0 */
/* fpless agent: the whole machine, in windows, into a store, until it is told to end. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/service.h"
#include "cli/agent_metrics.h"
#include "cli/agent_options.h"
#include "cli/cli.h"
#include "cli/config_file.h"
#include "cli/sampling_options.h"
#include "cli/sampling_run.h"
#include "cli/stack_options.h"
#include "cli/store_writer.h"
#include "cli/verbs.h"
#include "cli/window_options.h"
#include "profile/profile.h"

enum {
	HZ = 49,
	LENGTH_MS = 10000,
	EVERY_MS = 60000,
	HOTTEST = 64, /* functions that are looked at for the metrics */
};

/* A silence of the service is too long after so many windows, and this beyond them. */
#define WATCHDOG_WINDOWS  3u
#define WATCHDOG_SPARE_MS 60000u

struct agent {
	struct sampling_options sampling;
	struct agent_options options;
	struct config_file config;
	struct store_writer writer;
	struct service service;
	struct window_keeper keeper;
	struct agent_sums sums; /* of the thread that writes windows */
};

static void agent_fini(struct agent *agent)
{
	store_writer_end(&agent->writer);
	service_close(&agent->service);
	agent_options_fini(&agent->options);
	sampling_options_fini(&agent->sampling);
	config_file_fini(&agent->config);
}

static const struct argp_child children[] = {
	{ .argp = &agent_store_argp }, { .argp = &config_argp },       { .argp = &window_argp },
	{ .argp = &sampling_argp },    { .argp = &stack_filter_argp }, { 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct agent *agent = state->input;
	struct sampling_options *sampling = &agent->sampling;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &agent->options;
		state->child_inputs[1] = &agent->config;
		state->child_inputs[2] = &sampling->window;
		state->child_inputs[3] = state->child_inputs[4] = sampling;
		return 0;
	case ARGP_KEY_END:
		if (!sampling->output.by)
			sampling->output.by = PROFILE_BY_COMM | PROFILE_BY_CGROUP;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp agent_argp = {
	.parser = parse_option,
	.children = children,
	.args_doc = "[SECONDS]",
	.doc = "Sample the whole machine all the time, in windows, into a store that fpless query answers from: until SIGTERM or Ctrl-C, or for SECONDS. By default 49 times a second, for 10 s of each minute.\v"
	       "A window in which nothing ran is kept, too. What could not be kept is said and counted; the agent goes on.\n\n"
	       "Exit status: 0 ok, 1 usage, 2 cannot run here, 4 --strict, 6 the store or an output could not be written.",
};

/* window_keeper.began: the service is ready. Its watchdog is fed by each window. */
static void began(void *ctx)
{
	const struct agent *agent = ctx;
	const struct service *service = &agent->service;
	uint64_t least_us =
		1000 * (WATCHDOG_WINDOWS * agent->sampling.window.every_ms + WATCHDOG_SPARE_MS);

	if (service->watchdog_us && service->watchdog_us < least_us)
		service_tell(service, "WATCHDOG_USEC=%" PRIu64, least_us);
	service_tell(service, "READY=1\nSTATUS=The first window is sampled.");
}

/* window_keeper.ending */
static void ending(void *ctx)
{
	const struct agent *agent = ctx;

	service_tell(&agent->service, "STOPPING=1\nSTATUS=The last window is put into the store.");
}

static void tell_service(const struct agent *agent)
{
	AUTO_FREE char *status = NULL;
	size_t size;
	FILE *to = must_memstream(&status, &size);

	agent_sums_write_status(to, &agent->sums);
	must_memstream_close(to);
	service_tell(&agent->service, "WATCHDOG=1\nSTATUS=%s", status);
}

/* Replace the file of metrics. @recording: the last window. */
static int put_metrics(struct agent *agent, const struct recording *recording, struct fpl_err *err)
{
	CLEANUP(hottest_fini) struct hottest hottest = { 0 };
	AUTO_FREE char *text = NULL;
	uint64_t top = agent->options.top;
	size_t size;
	FILE *to;

	if (!agent->options.metrics)
		return 0;
	if (top)
		hottest_init(recording, HOTTEST, &hottest);
	to = must_memstream(&text, &size);
	agent_sums_write_metrics(to, &agent->sums, &hottest, top);
	must_memstream_close(to);
	return store_writer_put_metrics(&agent->writer, text, err);
}

/*
 * window_keeper.take. Without its writer an agent has nothing to do: it ends as if it were told
 * to.
 */
static int take(void *ctx, const struct profile *profile, const struct recording *recording)
{
	struct agent *agent = ctx;
	struct fpl_err err = { 0 };
	int code = store_writer_put(&agent->writer, recording, &err), metrics_code;

	if (code)
		fpl_log(FPL_LOG_ERROR, "%s: this window is not kept", err.msg);
	agent_sums_add(&agent->sums, profile, !code);
	agent->sums.store_bytes = agent->writer.store_bytes;
	tell_service(agent);
	if (code == -EPIPE) {
		kill(getpid(), SIGTERM);
		return code;
	}
	metrics_code = put_metrics(agent, recording, &err);
	if (metrics_code)
		fpl_log(FPL_LOG_ERROR, "%s: the metrics are those of before", err.msg);
	return code ? code : metrics_code;
}

static void agent_init(struct agent *agent)
{
	struct sampling_options *sampling = &agent->sampling;

	*agent = (struct agent){ .writer = STORE_WRITER_NONE,
				 .service = SERVICE_NONE,
				 .keeper = { began, take, ending, agent } };
	agent_options_init(&agent->options);
	sampling_options_init(sampling);
	sampling->target.all = true;
	sampling->hz = HZ;
	sampling->window = (struct window_options){ .length_ms = LENGTH_MS,
						    .every_ms = EVERY_MS,
						    .keeper = &agent->keeper };
	/* debugging information of all programs would be read all day */
	sampling->output.no_inlined = true;
	sampling->output.no_lines = true;
	/* a store keeps no places within functions */
	sampling->script.no_lines = true;
}

int cmd_agent(int argc, char **argv)
{
	uint64_t started_ns = clock_monotonic_ns();
	CLEANUP(agent_fini) struct agent agent;
	struct fpl_err err = { 0 };
	struct store_writer_options writing;

	agent_init(&agent);
	if (config_file_read(argc, argv, &agent_argp, &agent.config, &err)) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return CLI_EXIT_USAGE;
	}
	if (argp_parse(&agent_argp, agent.config.argc, agent.config.argv, ARGP_IN_ORDER, NULL,
		       &agent))
		return CLI_EXIT_USAGE;
	service_open(&agent.service);
	writing = (struct store_writer_options){
		.folder = agent.options.store,
		.limits = &agent.options.limits,
		.labels = agent.options.labels ? agent.options.labels : "",
		.metrics = agent.options.metrics,
	};
	if (store_writer_start(&writing, &agent.writer, &err)) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return CLI_EXIT_CANNOT_RUN;
	}
	return sampling_run(argv, started_ns, &agent.sampling, &(struct sampling_verb){ 0 });
}
