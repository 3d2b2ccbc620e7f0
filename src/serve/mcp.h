/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Model Context Protocol, as a server with tools (modelcontextprotocol.io/specification,
 * versions 2024-11-05, 2025-03-26 and 2025-06-18): JSON-RPC 2.0, a message on a line. The tools are
 * questions of the API (question.h). Pure but for what answers them: messages are hostile.
 */
#pragma once

#include <stddef.h>

#include "serve/question.h"

#define MCP_MESSAGE_MAX (64u << 10)  /* bytes of a message, its line's end not among them */
#define MCP_ANSWER_MAX	(256u << 10) /* of the JSON that answers a question */
#define MCP_DEPTH_MAX	32	     /* objects and arrays in each other */
#define MCP_BATCH_MAX	16u	     /* messages of a batch */
#define MCP_SAID_BYTES	512u

/* An answer to a question. */
struct mcp_told {
	char *json; /* owned [size], a JSON object; NULL: see said */
	size_t size;
	char said[MCP_SAID_BYTES]; /* why not, in a line */
};

struct mcp {
	const char *store; /* borrowed: "--store=FOLDER" */
	/* Answer @question to *ret, which is zero. */
	void (*ask)(void *ctx, const struct question *question, struct mcp_told *ret);
	void *ctx;

	/* private */
	const char *version; /* of the protocol, once the client has begun; else NULL */
};

/*
 * Take the message @line [@size], without its line's end. Returns the answer without a line's end,
 * to be freed, *ret_size bytes; NULL: it wants no answer. What is wrong is answered with an
 * error.
 */
char *mcp_take(struct mcp *mcp, const char *line, size_t size, size_t *ret_size);

/* The answer to a line of more than MCP_MESSAGE_MAX bytes, as above. */
char *mcp_refuse_long(size_t *ret_size);
