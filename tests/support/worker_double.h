/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's end of the socket, played by threads: files have no headers worth knowing and no
 * debug files, each address is a function "f<vaddr>" of its own; variables of 256 bytes,
 * "v<vaddr>", end at 0x8000, the object's memory at 0x9000. What is asked is counted. Takes the
 * place of parse/parser.c: for one test program, not beside a real parser.
 */
#pragma once

#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/wire.h"
#include "parse/message.h"
#include "parse/parser.h"

#define DOUBLES_MAX 64
#define DOUBLE_PID  (1 << 22) /* beyond what a process has */

static struct {
	atomic_size_t rounds, addresses; /* of PARSE_NAMES */
	atomic_size_t descriptions;	 /* of PARSE_FACTS */
	atomic_size_t line_rounds;	 /* of PARSE_LINES */
	atomic_size_t data_rounds;	 /* of variables */
	struct trust trust;		 /* of the worker that was hired last */
	bool has_lines;			 /* an address has two functions, "in<vaddr>" in its own */
	int code;			 /* what PARSE_NAMES fails with; 0: it does not */
} doubled;

static struct {
	pthread_t thread;
	int sock;
} doubles[DOUBLES_MAX];
static size_t nr_doubles;

static inline int doubled_head(int sock, uint32_t op, int code)
{
	static const char why[] = "/x: cannot be read";
	const struct parse_answer head = { .op = op,
					   .code = code,
					   .text_size = code ? sizeof(why) - 1 : 0 };
	int rc = wire_send(sock, &head, sizeof(head));

	return rc ? rc : wire_send(sock, why, head.text_size);
}

static inline int doubled_names(int sock, const uint64_t *vaddrs, uint32_t nr)
{
	const struct parse_names head = { .nr_places = nr, .text_size = 32 * nr };
	struct parse_place *places = calloc(nr + 1u, sizeof(*places));
	char *text = calloc(nr + 1u, 32);
	int rc = wire_send(sock, &head, sizeof(head));

	doubled.rounds++;
	doubled.addresses += nr;
	for (uint32_t i = 0; i < nr; i++) {
		if (i && vaddrs[i] <= vaddrs[i - 1])
			abort();
		places[i] = (struct parse_place){ .start = vaddrs[i], .text = 32 * i };
		snprintf(text + (size_t)32 * i, 32, "f%llx", (unsigned long long)vaddrs[i]);
	}
	if (!rc)
		rc = wire_send(sock, places, nr * sizeof(*places));
	if (!rc)
		rc = wire_send(sock, text, head.text_size);
	free(places);
	free(text);
	return rc;
}

/* The same of variables. */
static inline int doubled_data(int sock, const uint64_t *vaddrs, uint32_t nr)
{
	const struct parse_names head = { .nr_places = nr, .text_size = 32 * nr };
	struct parse_place *places = calloc(nr + 1u, sizeof(*places));
	char *text = calloc(nr + 1u, 32);
	int rc = wire_send(sock, &head, sizeof(head));

	doubled.data_rounds++;
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t start = vaddrs[i] & ~255ull;

		if (i && vaddrs[i] <= vaddrs[i - 1])
			abort();
		places[i] = (struct parse_place){ .start = SYMBOL_NO_START, .text = PARSE_NO_TEXT };
		if (vaddrs[i] >= 0x9000)
			continue;
		places[i].same_start = vaddrs[i];
		places[i].same_end = vaddrs[i] + 1;
		if (vaddrs[i] >= 0x8000)
			continue;
		places[i].start = start;
		places[i].text = 32 * i;
		snprintf(text + (size_t)32 * i, 32, "v%llx", (unsigned long long)start);
	}
	if (!rc)
		rc = wire_send(sock, places, nr * sizeof(*places));
	if (!rc)
		rc = wire_send(sock, text, head.text_size);
	free(places);
	free(text);
	return rc;
}

static inline int doubled_lines(int sock, const uint64_t *vaddrs, uint32_t nr)
{
	const struct parse_lines head = { .nr_chains = nr,
					  .nr_lines = 2 * nr,
					  .text_size = 32 * nr + 4 };
	struct symbol_chain *chains = calloc(nr + 1u, sizeof(*chains));
	struct parse_line *lines = calloc(2u * nr + 1u, sizeof(*lines));
	char *text = calloc(nr + 1u, 32);
	int rc = wire_send(sock, &head, sizeof(head));

	memcpy(text, "a.c", 4);
	for (uint32_t i = 0; i < nr; i++) {
		chains[i] = (struct symbol_chain){ .first = 2 * i, .nr = 2 };
		lines[2 * i] = (struct parse_line){ 4 + 32 * i, 0, 7, 3, 5 };
		lines[2 * i + 1] = (struct parse_line){ PARSE_NO_TEXT, 0, 17, 13, 15 };
		snprintf(text + 4 + (size_t)32 * i, 28, "in%llx", (unsigned long long)vaddrs[i]);
	}
	if (!rc)
		rc = wire_send(sock, chains, nr * sizeof(*chains));
	if (!rc)
		rc = wire_send(sock, lines, 2 * nr * sizeof(*lines));
	if (!rc)
		rc = wire_send(sock, text, head.text_size);
	free(chains);
	free(lines);
	free(text);
	return rc;
}

static inline int doubled_answer(int sock, const struct parse_request *request,
				 const uint64_t *vaddrs)
{
	const struct parse_facts facts = { .has_debug_info = doubled.has_lines };
	int code = request->op == PARSE_FACTS			     ? 0
		   : request->op == PARSE_NAMES			     ? doubled.code
		   : request->op == PARSE_LINES && doubled.has_lines ? 0
								     : -ENOENT;
	int rc = doubled_head(sock, request->op, code);

	doubled.descriptions += request->op == PARSE_FACTS;
	doubled.line_rounds += request->op == PARSE_LINES;
	if (rc || code)
		return rc;
	if (request->op == PARSE_NAMES && (request->flags & PARSE_DATA))
		return doubled_data(sock, vaddrs, request->nr_vaddrs);
	if (request->op == PARSE_NAMES)
		return doubled_names(sock, vaddrs, request->nr_vaddrs);
	if (request->op == PARSE_LINES)
		return doubled_lines(sock, vaddrs, request->nr_vaddrs);
	return wire_send(sock, &facts, sizeof(facts));
}

static inline void *doubled_main(void *arg)
{
	int sock = *(int *)arg, rc = 0;

	while (!rc) {
		AUTO_FREE uint64_t *vaddrs = NULL;
		struct parse_request request;
		char name[PARSE_NAME_MAX];
		int fds[WIRE_FDS_MAX];

		rc = wire_recv_fds(sock, &request, sizeof(request), fds);
		if (rc)
			break;
		for (size_t i = 0; i < WIRE_FDS_MAX; i++)
			cleanup_fd(&fds[i]);
		vaddrs = calloc(request.nr_vaddrs + 1u, sizeof(*vaddrs));
		rc = wire_recv(sock, name, request.name_size);
		if (!rc)
			rc = wire_recv(sock, vaddrs, request.nr_vaddrs * sizeof(*vaddrs));
		if (!rc)
			rc = doubled_answer(sock, &request, vaddrs);
	}
	close(sock);
	return NULL;
}

int parser_hire(struct parser *parser, const struct trust *trust, bool calm, int *ret_sock,
		pid_t *ret_pid, struct fpl_err *err)
{
	int pair[2];

	(void)parser, (void)calm, (void)err;
	if (nr_doubles == DOUBLES_MAX || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -EMFILE;
	doubles[nr_doubles].sock = pair[1];
	if (pthread_create(&doubles[nr_doubles].thread, NULL, doubled_main,
			   &doubles[nr_doubles].sock))
		return -EAGAIN;
	doubled.trust = *trust;
	*ret_sock = pair[0];
	*ret_pid = DOUBLE_PID + (pid_t)nr_doubles++;
	return 0;
}

/* Its socket is closed, so it ends. */
int parser_bury(struct parser *parser, pid_t pid)
{
	(void)parser;
	pthread_join(doubles[pid - DOUBLE_PID].thread, NULL);
	return 0;
}

void parser_leave(struct parser *parser, pid_t pid)
{
	(void)parser_bury(parser, pid);
}

struct opener *parser_opener(const struct parser *parser)
{
	(void)parser;
	return NULL;
}

void parser_tell_kept(struct parser *parser)
{
	(void)parser;
}

void parser_blame(struct parser *parser, const struct trust *trust)
{
	(void)parser, (void)trust;
}
