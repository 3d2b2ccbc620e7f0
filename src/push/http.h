/* SPDX-License-Identifier: Apache-2.0 */
/* Sends requests over HTTP: the only user of libcurl. An answer is bounded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define HTTP_ANSWER_BYTES ((size_t)64 << 10)
#define HTTP_WHY_BYTES	  300u

struct http;

struct http_options {
	const char *url; /* of the server, and where on it: joined */
	const char *path;
	const char *content_type;
	const char *encoding; /* of the body; NULL: none */
	const char *secret;   /* the value of the header Authorization; "": none */
	const char *tenant;   /* of X-Scope-OrgID; "": none */
	const char *ca;	      /* a file of certificates; "": the system's */
	uint64_t timeout_ms;
	bool insecure;	/* http:// to other machines is allowed */
	bool once_only; /* no request is ever sent twice, not even on a connection that had ended */
	int stop_fd;	/* readable: end what is under way */
};

enum http_outcome {
	HTTP_ANSWERED,
	HTTP_NOT_SENT, /* the server cannot have had the whole request */
	HTTP_LOST,     /* no answer came, or no whole one: the server may have taken it */
	HTTP_STOPPED,  /* as HTTP_LOST, by stop_fd */
};

struct http_answer {
	enum http_outcome outcome;
	unsigned status;
	char content_type[128];
	char *body; /* owned [size], and a NUL */
	size_t size;
	char why[HTTP_WHY_BYTES]; /* not HTTP_ANSWERED: in words */
};

/*
 * All texts are borrowed for as long as *ret lives. Errors: -EINVAL the URL is not of http or
 * https, has a user or a query in it, or leads to another machine without TLS; -ENOENT @ca cannot
 * be read.
 */
FPL_MUST_CHECK int http_create(const struct http_options *options, struct http **ret,
			       struct fpl_err *err);
void http_destroy(struct http *http);

/* POST @body [@size]. *ret is the caller's to end. */
void http_post(struct http *http, const char *body, size_t size, struct http_answer *ret);
void http_answer_fini(struct http_answer *answer);

/* Copy @from to @ret [@size] for messages: one character for each byte, "?" for what is not to be
 * seen. */
void http_make_plain(const char *from, char *ret, size_t size);

/* Is its body of this type, whatever parameters stand behind it? */
bool http_answer_is_of(const struct http_answer *answer, const char *type);

/* Is @word in its body? */
bool http_answer_has(const struct http_answer *answer, const char *word);
