/* SPDX-License-Identifier: Apache-2.0 */
/* fpless push: the windows of the store, sent to where those of many machines are kept. */
#include <argp.h>
#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vector.h"
#include "cli/cli.h"
#include "cli/companion.h"
#include "cli/parse.h"
#include "cli/store_input.h"
#include "cli/time_point.h"
#include "cli/verbs.h"

enum {
	KEY_STORE = 0x100,
	KEY_STATE,
	KEY_SINCE,
	KEY_ONCE,
	KEY_EVERY,
	KEY_LABEL,
	KEY_TOKEN,
	KEY_TENANT,
	KEY_CA,
	KEY_INSECURE,
	KEY_TIMEOUT,
	KEY_RETRY,
	KEY_MAX_AGE,
	KEY_METRICS,
};

enum { GIVEN_LABELS_MAX = 16, LABEL_BYTES = 256 };

struct push {
	const char *target, *url;    /* borrowed from argv */
	char *store, *state;	     /* owned: folders */
	const char *token, *tenant;  /* borrowed from argv; "": none */
	const char *ca, *metrics;    /* the same */
	VECTOR(const char *) labels; /* the same: "NAME=VALUE" */
	uint64_t since_ns;	     /* since 1970 */
	uint64_t every_ms, retry_ms, timeout_ms;
	uint64_t max_age_ns; /* UINT64_MAX: what the target takes */
	bool once, insecure;
};

static void push_fini(struct push *push)
{
	free(push->store);
	free(push->state);
	vector_fini(&push->labels);
}

static const struct argp_option options_list[] = {
	FIRST_HEADING("What to send:"),
	{ "store", KEY_STORE, "DIR", 0,
	  "Folder of the store (default: " STORE_USUAL_PATH
	  " as root, of other users $XDG_STATE_HOME/fpless)",
	  0 },
	{ "since", KEY_SINCE, "TIME", 0,
	  "Begin with windows of TIME, where nothing was sent to this URL before (default -1h)",
	  0 },
	{ "once", KEY_ONCE, NULL, 0, "Send what there is and end, in place of following the store",
	  0 },
	{ "every", KEY_EVERY, "SECONDS", 0, "Look for new windows so often (default 60)", 0 },
	{ "label", KEY_LABEL, "NAME=VALUE", 0,
	  "A label of all profiles beside service_name, host and state (may be repeated; host=VALUE replaces the name of the machine)",
	  0 },
	{ "state", KEY_STATE, "DIR", 0,
	  "Folder in which is kept how far each URL is (default: /var/lib/fpless-push as root, of other users $XDG_STATE_HOME/fpless-push)",
	  0 },
	{ "metrics", KEY_METRICS, "FILE", 0,
	  "Replace FILE by metrics for Prometheus after each look at the store", 0 },
	{ .doc = "How to send it:", .group = 1 },
	{ "token-file", KEY_TOKEN, "FILE", 0,
	  "Authorization: Bearer with the line in FILE, which others may not read; a line that begins with Basic or Bearer and a blank is sent as it is",
	  1 },
	{ "tenant", KEY_TENANT, "ID", 0, "X-Scope-OrgID: the tenant of a server that has several",
	  1 },
	{ "ca", KEY_CA, "FILE", 0, "Certificates to trust in place of the system's (PEM)", 1 },
	{ "insecure-http", KEY_INSECURE, NULL, 0,
	  "Allow http:// to other machines: names of functions and the token can be read on the way",
	  1 },
	{ "timeout", KEY_TIMEOUT, "SECONDS", 0, "For a request and its answer (default 30)", 1 },
	{ "retry", KEY_RETRY, "SECONDS", 0,
	  "First pause after a failure; each is twice as long, up to five minutes (default 1)", 1 },
	{ "max-age", KEY_MAX_AGE, "LENGTH", 0,
	  "Do not send what is older: 30m, 1h, 7d (default: pyroscope 1h, others no limit)", 1 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

/* NAME=VALUE with a name that all targets take. */
static bool is_label(const char *arg)
{
	const char *equals = strchr(arg, '=');

	if (!equals || equals == arg || isdigit((unsigned char)*arg) || !equals[1] ||
	    strlen(arg) > LABEL_BYTES || !strncmp(arg, "__", 2))
		return false;
	if (strchr(equals, ','))
		return false;
	for (const char *at = arg; at < equals; at++)
		if (!isalnum((unsigned char)*at) && *at != '_')
			return false;
	return true;
}

/* Is it a part of a header? */
static bool is_header_text(const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			return false;
	return true;
}

static void check(struct push *push, struct argp_state *state)
{
	static const char *const targets[] = { "pyroscope", "otlp", "parca" };
	size_t i = 0;

	if (!push->url)
		refuse(state,
		       "expected a target and its URL: fpless push pyroscope http://127.0.0.1:4040");
	while (i < ARRAY_SIZE(targets) && strcmp(targets[i], push->target) != 0)
		i++;
	if (i == ARRAY_SIZE(targets))
		refuse(state, "'%s': expected pyroscope, otlp or parca", push->target);
	if (!push->store)
		push->store = store_usual_path();
	if (!push->state)
		push->state = state_usual_path("fpless-push");
}

static void take_seconds(const char *option, const char *arg, uint64_t *ret,
			 struct argp_state *state)
{
	if (!parse_seconds(arg, ret))
		refuse(state, "%s %s: expected a time: 0.5, 30, 2m", option, arg);
}

static void take_label(struct push *push, const char *arg, struct argp_state *state)
{
	if (!is_label(arg))
		refuse(state,
		       "--label %s: expected NAME=VALUE, a name of letters, digits and _, no commas, at most %d bytes",
		       arg, LABEL_BYTES);
	if (push->labels.nr == GIVEN_LABELS_MAX)
		refuse(state, "--label: at most %d", GIVEN_LABELS_MAX);
	must_push(&push->labels, arg);
}

static void take_word(struct push *push, const char *arg, struct argp_state *state)
{
	if (!push->target)
		push->target = arg;
	else if (!push->url)
		push->url = arg;
	else
		refuse(state, "'%s': unexpected", arg);
}

static void take_way(struct push *push, int key, const char *arg, struct argp_state *state)
{
	switch (key) {
	case KEY_TIMEOUT:
		take_seconds("--timeout", arg, &push->timeout_ms, state);
		return;
	case KEY_RETRY:
		take_seconds("--retry", arg, &push->retry_ms, state);
		return;
	case KEY_MAX_AGE:
		if (!time_length_parse(arg, &push->max_age_ns))
			refuse(state, "--max-age %s: expected a length: 30m, 1h, 7d", arg);
		return;
	default:
		if (!*arg || !is_header_text(arg))
			refuse(state, "--tenant: expected a name of printable ASCII");
		push->tenant = arg;
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct push *push = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		take_word(push, arg, state);
		return 0;
	case ARGP_KEY_END:
		check(push, state);
		return 0;
	case KEY_STORE:
		must_set_text(&push->store, arg);
		return 0;
	case KEY_STATE:
		must_set_text(&push->state, arg);
		return 0;
	case KEY_SINCE:
		if (!time_point_parse(arg, clock_ns(CLOCK_REALTIME), &push->since_ns))
			refuse(state,
			       "--since %s: expected a time: -90s, -5m, -1h, -7d, 03:12, 2026-11-29T03:12 or @SECONDS",
			       arg);
		return 0;
	case KEY_ONCE:
		push->once = true;
		return 0;
	case KEY_EVERY:
		take_seconds("--every", arg, &push->every_ms, state);
		return 0;
	case KEY_LABEL:
		take_label(push, arg, state);
		return 0;
	case KEY_TOKEN:
		push->token = arg;
		return 0;
	case KEY_CA:
		push->ca = arg;
		return 0;
	case KEY_INSECURE:
		push->insecure = true;
		return 0;
	case KEY_METRICS:
		push->metrics = arg;
		return 0;
	case KEY_TENANT:
	case KEY_TIMEOUT:
	case KEY_RETRY:
	case KEY_MAX_AGE:
		take_way(push, key, arg, state);
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp push_argp = {
	.options = options_list,
	.parser = parse_option,
	.args_doc = "pyroscope|otlp|parca URL",
	.doc = "Send the windows of the store of fpless agent to a server that keeps those of many machines: one profile for each unit or container, source of samples and window, with names. It follows the store until Ctrl-C. What a server does not take is sent again later: the store is the queue.\v"
	       "Exit status: 0 ok, 1 usage, 2 cannot run here, or fpless-agent is not installed, 6 with --once: not all was taken.",
};

/* "A\nB", to be freed. */
static char *joined_labels(const struct push *push)
{
	char *text;
	size_t size;
	FILE *to = must_memstream(&text, &size);

	for (size_t i = 0; i < push->labels.nr; i++)
		fprintf(to, "%s%s", i ? "\n" : "", push->labels.list[i]);
	must_memstream_close(to);
	return text;
}

int cmd_push(int argc, char **argv)
{
	CLEANUP(push_fini)
	struct push push = {
		.since_ns = clock_ns(CLOCK_REALTIME) - 3600 * NS_PER_S,
		.max_age_ns = UINT64_MAX,
		.every_ms = 60000,
		.retry_ms = 1000,
		.timeout_ms = 30000,
		.token = "",
		.tenant = "",
		.ca = "",
		.metrics = "",
	};
	AUTO_FREE char *labels = NULL, *numbers = NULL;

	if (argp_parse(&push_argp, argc, argv, 0, NULL, &push))
		return CLI_EXIT_USAGE;
	labels = joined_labels(&push);
	numbers = must_asprintf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %d",
				push.since_ns, push.max_age_ns, push.every_ms, push.retry_ms,
				push.timeout_ms, push.once, push.insecure);

	const char *const args[] = { push.target, push.url, push.store,	  push.state, push.token,
				     push.tenant, push.ca,  push.metrics, labels,     numbers };

	return companion_execute("push", args, ARRAY_SIZE(args));
}
