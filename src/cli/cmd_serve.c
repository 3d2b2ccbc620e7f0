/* SPDX-License-Identifier: Apache-2.0 */
/* fpless serve: the answers of fpless query over HTTP or the Model Context Protocol, by a program
 * of its own. */
#include <argp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/companion.h"
#include "cli/parse.h"
#include "cli/store_input.h"
#include "cli/verbs.h"

#define SERVER "fpless-serve"

enum { KEY_STORE = 0x100, KEY_SOCKET, KEY_LISTEN, KEY_TOKEN, KEY_METRICS, KEY_MCP };

struct serve {
	char *store;	      /* owned: its folder */
	char *socket, *token; /* owned: files */
	const char *listen;   /* borrowed from argv; NULL: the socket */
	const char *metrics;  /* borrowed from argv; "": none */
	bool mcp;	      /* to who began it, at stdin and stdout */
};

static void serve_fini(struct serve *serve)
{
	free(serve->store);
	free(serve->socket);
	free(serve->token);
}

static const struct argp_option options_list[] = {
	FIRST_HEADING("What to serve, and where:"),
	{ "store", KEY_STORE, "DIR", 0,
	  "Folder of the store (default: " STORE_USUAL_PATH
	  " as root, of other users $XDG_STATE_HOME/fpless)",
	  0 },
	{ "socket", KEY_SOCKET, "FILE", 0,
	  "A Unix socket with mode 0660 (default: /run/fpless-serve.sock as root, of other users $XDG_RUNTIME_DIR/fpless-serve.sock)",
	  0 },
	{ "listen", KEY_LISTEN, "ADDRESS:PORT", 0,
	  "A port of this machine in place of the socket: 127.0.0.1:PORT or [::1]:PORT; port 0 chooses one",
	  0 },
	{ "token", KEY_TOKEN, "FILE", 0,
	  "With --listen: the token that requests need, made where it is missing (default: fpless-serve.token beside the default socket)",
	  0 },
	{ "metrics", KEY_METRICS, "FILE", 0,
	  "Serve this file as /metrics: that of fpless agent --metrics (default, and where it is missing: numbers of the store)",
	  0 },
	{ "mcp", KEY_MCP, NULL, 0,
	  "Serve the program that began this one, at stdin and stdout, by the Model Context Protocol: the tools windows, top, diff, function and advice",
	  0 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

/* "fpless-serve.EXTENSION" where such files are; NULL: there is no such folder. */
static char *usual_file(const char *extension)
{
	const char *folder = geteuid() ? getenv("XDG_RUNTIME_DIR") : "/run";

	return folder && *folder ? must_asprintf("%s/" SERVER ".%s", folder, extension) : NULL;
}

/* Is it of this machine alone? *ret_known: it reads like an address and a port. */
static bool is_loopback(const char *listen, bool *ret_known)
{
	const char *colon = strrchr(listen, ':');
	size_t length = colon ? (size_t)(colon - listen) : 0;
	uint64_t port;

	*ret_known = length && parse_number(colon + 1, 0, UINT16_MAX, &port);
	return (length == strlen("127.0.0.1") && !strncmp(listen, "127.0.0.1", length)) ||
	       (length == strlen("[::1]") && !strncmp(listen, "[::1]", length));
}

static void check(struct serve *serve, struct argp_state *state)
{
	bool is_known = true;

	if (serve->mcp && (serve->listen || serve->socket || serve->token || serve->metrics))
		refuse(state, "--mcp excludes --%s",
		       serve->listen   ? "listen"
		       : serve->socket ? "socket"
		       : serve->token  ? "token"
				       : "metrics");
	if (serve->listen && serve->socket)
		refuse(state, "--listen excludes --socket");
	if (serve->token && !serve->listen)
		refuse(state, "--token: of --listen");
	if (serve->listen && !is_loopback(serve->listen, &is_known) && is_known)
		refuse(state,
		       "--listen %s: not of this machine alone: expected 127.0.0.1:PORT or [::1]:PORT; for others see fpless-serve(1), \"A proxy\"",
		       serve->listen);
	if (!is_known)
		refuse(state, "--listen %s: expected 127.0.0.1:PORT or [::1]:PORT", serve->listen);
	if (!serve->store)
		serve->store = store_usual_path();
	if (serve->mcp)
		return;
	if (!serve->socket && !serve->listen)
		serve->socket = usual_file("sock");
	if (!serve->token && serve->listen)
		serve->token = usual_file("token");
	if (!serve->socket && !serve->listen)
		refuse(state, "--socket: expected, since $XDG_RUNTIME_DIR is not set");
	if (!serve->token && serve->listen)
		refuse(state, "--token: expected, since $XDG_RUNTIME_DIR is not set");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct serve *serve = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		refuse(state, "'%s': unexpected", arg);
		return 0;
	case ARGP_KEY_END:
		check(serve, state);
		return 0;
	case KEY_STORE:
		must_set_text(&serve->store, arg);
		return 0;
	case KEY_SOCKET:
		must_set_text(&serve->socket, arg);
		return 0;
	case KEY_LISTEN:
		serve->listen = arg;
		return 0;
	case KEY_TOKEN:
		must_set_text(&serve->token, arg);
		return 0;
	case KEY_METRICS:
		serve->metrics = arg;
		return 0;
	case KEY_MCP:
		serve->mcp = true;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp serve_argp = {
	.options = options_list,
	.parser = parse_option,
	.doc = "Serve the store of fpless agent to browsers and programs of this machine: a page, an API, metrics. It reads the store and changes nothing. A Unix socket is open to its group; a port wants a token. With --mcp: to the program that began it.\v"
	       "Exit status: 0 ok, 1 usage, 2 cannot run here, or fpless-agent is not installed.",
};

int cmd_serve(int argc, char **argv)
{
	CLEANUP(serve_fini) struct serve serve = { 0 };

	if (argp_parse(&serve_argp, argc, argv, 0, NULL, &serve))
		return CLI_EXIT_USAGE;

	const char *address = serve.listen ? serve.listen : serve.socket;
	const char *const args[] = { serve.store,
				     serve.mcp	    ? "stdio"
				     : serve.listen ? "tcp"
						    : "unix",
				     address ? address : "", serve.token ? serve.token : "",
				     serve.metrics ? serve.metrics : "" };

	return companion_execute("serve", args, ARRAY_SIZE(args));
}
