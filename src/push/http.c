/* SPDX-License-Identifier: Apache-2.0 */
#include "push/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

enum { CONNECT_MS = 10000, HEADER_BYTES = 64 << 10 };

struct http {
	struct http_options options;
	CURL *curl;		    /* owned */
	struct curl_slist *headers; /* owned */
	char *url;		    /* owned: with the path */
	char why[CURL_ERROR_SIZE];

	/* of the request under way */
	struct http_answer *answer;
	size_t header_bytes;
};

static void cleanup_url(CURLU **url)
{
	curl_url_cleanup(*url);
}

/* A part of @url, to be freed by curl_free(3); NULL: it has none. */
static char *part_of(CURLU *url, CURLUPart what)
{
	char *part = NULL;

	return curl_url_get(url, what, &part, 0) == CURLUE_OK ? part : NULL;
}

static bool has_part(CURLU *url, CURLUPart what)
{
	char *part = part_of(url, what);

	curl_free(part);
	return part != NULL;
}

static bool is_loopback(const char *host)
{
	return !strcasecmp(host, "localhost") || !strncmp(host, "127.", 4) ||
	       !strcmp(host, "[::1]");
}

/* *ret_plain: it is without TLS. */
static int check_url(const struct http_options *options, bool *ret_plain, struct fpl_err *err)
{
	CLEANUP(cleanup_url) CURLU *url = curl_url();
	char *scheme, *host;
	bool known, near;

	alloc_check(!url);
	if (curl_url_set(url, CURLUPART_URL, options->url, 0) != CURLUE_OK)
		return fpl_fail(err, -EINVAL, "%s: expected http:// or https:// and a server",
				options->url);
	if (has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD))
		return fpl_fail(
			err, -EINVAL,
			"the URL has a user in it, which others see in the list of processes: see --token-file");
	if (has_part(url, CURLUPART_QUERY) || has_part(url, CURLUPART_FRAGMENT))
		return fpl_fail(err, -EINVAL, "%s: expected an address without ? and #",
				options->url);
	scheme = part_of(url, CURLUPART_SCHEME);
	host = part_of(url, CURLUPART_HOST);
	*ret_plain = scheme && !strcmp(scheme, "http");
	known = *ret_plain || (scheme && !strcmp(scheme, "https"));
	near = host && is_loopback(host);
	curl_free(scheme);
	curl_free(host);
	if (!known)
		return fpl_fail(err, -EINVAL, "%s: expected http:// or https:// and a server",
				options->url);
	if (*ret_plain && !near && !options->insecure)
		return fpl_fail(err, -EINVAL,
				"%s: http to another machine: expected https, or --insecure-http",
				options->url);
	return 0;
}

static void add_header(struct http *http, const char *name, const char *value)
{
	AUTO_FREE char *line = must_asprintf("%s:%s%s", name, *value ? " " : "", value);
	struct curl_slist *longer = curl_slist_append(http->headers, line);

	alloc_check(!longer);
	http->headers = longer;
}

/* CURLOPT_WRITEFUNCTION: another answer than @nr ends the request. */
static size_t take_body(char *from, size_t one, size_t nr, void *ctx)
{
	struct http *http = ctx;
	struct http_answer *answer = http->answer;

	nr *= one;
	if (nr > HTTP_ANSWER_BYTES - answer->size)
		return 0;
	memcpy(answer->body + answer->size, from, nr);
	answer->size += nr;
	return nr;
}

/* CURLOPT_HEADERFUNCTION: curl itself bounds a line only. */
static size_t take_header(char *from, size_t one, size_t nr, void *ctx)
{
	struct http *http = ctx;

	(void)from;
	nr *= one;
	http->header_bytes += nr;
	return http->header_bytes > HEADER_BYTES ? 0 : nr;
}

static bool is_stopped(const struct http *http)
{
	struct pollfd fd = { .fd = http->options.stop_fd, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

/* CURLOPT_XFERINFOFUNCTION: called each second at least. */
static int look_up(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	(void)a, (void)b, (void)c, (void)d;
	return is_stopped(ctx);
}

static int set_limits(struct http *http)
{
	CURL *curl = http->curl;
	const struct http_options *options = &http->options;

	return curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) ||
	       curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, http->why) ||
	       curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)options->timeout_ms) ||
	       curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS) ||
	       curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body) ||
	       curl_easy_setopt(curl, CURLOPT_WRITEDATA, http) ||
	       curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header) ||
	       curl_easy_setopt(curl, CURLOPT_HEADERDATA, http) ||
	       curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_up) ||
	       curl_easy_setopt(curl, CURLOPT_XFERINFODATA, http) ||
	       curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
}

/* @plain: no proxy stands between this process and loopback. */
static int set_way(struct http *http, bool plain)
{
	CURL *curl = http->curl;
	const struct http_options *options = &http->options;

	return curl_easy_setopt(curl, CURLOPT_URL, http->url) ||
	       curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, plain ? "http" : "https") ||
	       curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L) ||
	       curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) ||
	       curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L) ||
	       curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L) ||
	       curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) ||
	       (*options->ca && curl_easy_setopt(curl, CURLOPT_CAINFO, options->ca)) ||
	       (plain && curl_easy_setopt(curl, CURLOPT_NOPROXY, "*")) ||
	       /* on a connection that had ended meanwhile curl sends once more by itself */
	       (options->once_only && (curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L) ||
				       curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L))) ||
	       curl_easy_setopt(curl, CURLOPT_HTTPHEADER, http->headers);
}

static void set_headers(struct http *http)
{
	const struct http_options *options = &http->options;

	add_header(http, "Content-Type", options->content_type);
	if (options->encoding)
		add_header(http, "Content-Encoding", options->encoding);
	add_header(http, "User-Agent", "fpless/" FPL_VERSION);
	add_header(http, "Expect", ""); /* no asking before a large body */
	if (*options->secret)
		add_header(http, "Authorization", options->secret);
	if (*options->tenant)
		add_header(http, "X-Scope-OrgID", options->tenant);
}

int http_create(const struct http_options *options, struct http **ret, struct fpl_err *err)
{
	size_t length = strlen(options->url);
	struct http *http;
	bool plain = false;
	int code = check_url(options, &plain, err);

	if (code)
		return code;
	if (*options->ca && access(options->ca, R_OK))
		return fpl_fail(err, -errno, "%s: %s", options->ca, strerror(errno));
	while (length && options->url[length - 1] == '/')
		length--;
	http = must_calloc(1, sizeof(*http));
	http->options = *options;
	http->url = must_asprintf("%.*s%s", (int)length, options->url, options->path);
	set_headers(http);
	http->curl = curl_easy_init();
	if (!http->curl || set_limits(http) || set_way(http, plain)) {
		http_destroy(http);
		return fpl_fail(err, -ENOTSUP, "libcurl lacks what is needed here");
	}
	*ret = http;
	return 0;
}

void http_destroy(struct http *http)
{
	if (!http)
		return;
	curl_easy_cleanup(http->curl);
	curl_slist_free_all(http->headers);
	free(http->url);
	free(http);
}

static enum http_outcome outcome_of(struct http *http, CURLcode code, size_t size)
{
	curl_off_t sent = 0;

	if (code == CURLE_OK)
		return HTTP_ANSWERED;
	if (curl_easy_getinfo(http->curl, CURLINFO_SIZE_UPLOAD_T, &sent) != CURLE_OK ||
	    (size_t)sent >= size)
		return code == CURLE_ABORTED_BY_CALLBACK ? HTTP_STOPPED : HTTP_LOST;
	return code == CURLE_ABORTED_BY_CALLBACK ? HTTP_STOPPED : HTTP_NOT_SENT;
}

void http_make_plain(const char *from, char *ret, size_t size)
{
	size_t nr = 0;

	for (; from[nr] && nr + 1 < size; nr++)
		ret[nr] = from[nr] < ' ' || from[nr] > '~' ? '?' : from[nr];
	ret[nr] = '\0';
}

void http_post(struct http *http, const char *body, size_t size, struct http_answer *ret)
{
	const char *type = NULL;
	long status = 0;
	CURLcode code;

	*ret = (struct http_answer){ .body = must_calloc(1, HTTP_ANSWER_BYTES + 1) };
	http->answer = ret;
	http->header_bytes = 0;
	http->why[0] = '\0';
	code = curl_easy_setopt(http->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	if (!code)
		code = curl_easy_setopt(http->curl, CURLOPT_POSTFIELDS, body);
	if (!code)
		code = curl_easy_perform(http->curl);
	http->answer = NULL;
	ret->outcome = outcome_of(http, code, size);
	if (code)
		http_make_plain(code == CURLE_WRITE_ERROR ? "the answer is too long"
				: *http->why		  ? http->why
							  : curl_easy_strerror(code),
				ret->why, sizeof(ret->why));
	if (!curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &status))
		ret->status = (unsigned)status;
	if (!curl_easy_getinfo(http->curl, CURLINFO_CONTENT_TYPE, &type) && type)
		http_make_plain(type, ret->content_type, sizeof(ret->content_type));
}

void http_answer_fini(struct http_answer *answer)
{
	free(answer->body);
	answer->body = NULL;
}

bool http_answer_is_of(const struct http_answer *answer, const char *type)
{
	size_t length = strlen(type);

	return !strncasecmp(answer->content_type, type, length) &&
	       strchr("; ", answer->content_type[length]);
}

bool http_answer_has(const struct http_answer *answer, const char *word)
{
	return memmem(answer->body, answer->size, word, strlen(word)) != NULL;
}
