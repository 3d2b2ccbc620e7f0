/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "serve_page.h"

#define TEXT_TYPE "text/plain; charset=utf-8"

/* Nothing may be loaded or run. Our page shows refusals in the place of reports. */
#define POLICY_NONE "default-src 'none'; frame-ancestors 'self'; sandbox"

/* Reports name their script and style by hashes themselves, and are shown within our page. */
#define POLICY_REPORT                                                                 \
	"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; " \
	"base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

#define POLICY_PAGE                                                                   \
	"default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; "           \
	"connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; " \
	"frame-ancestors 'none'"

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
	alloc_check(MHD_add_response_header(response, name, value) != MHD_YES);
}

/* @response is taken over; @type NULL: it has no body. */
static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, const char *type,
			     const char *policy, struct MHD_Response *response)
{
	enum MHD_Result ret;

	alloc_check(!response);
	if (type)
		add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	add_header(response, "Content-Security-Policy", policy);
	add_header(response, "X-Content-Type-Options", "nosniff");
	add_header(response, "Referrer-Policy", "no-referrer");
	add_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	add_header(response, "Cross-Origin-Opener-Policy", "same-origin");
	add_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	add_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	ret = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return ret;
}

static struct MHD_Response *copy_of(const char *text, size_t size)
{
	return MHD_create_response_from_buffer(size, (void *)text, MHD_RESPMEM_MUST_COPY);
}

enum MHD_Result answer_line(struct MHD_Connection *connection, unsigned status, const char *line)
{
	AUTO_FREE char *text = must_asprintf("%s\n", line);
	struct MHD_Response *response = copy_of(text, strlen(text));

	alloc_check(!response);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		add_header(response, MHD_HTTP_HEADER_ALLOW, "GET");
	if (status == MHD_HTTP_UNAUTHORIZED)
		add_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	return reply(connection, status, TEXT_TYPE, POLICY_NONE, response);
}

enum MHD_Result answer_login(struct MHD_Connection *connection, const char *cookie)
{
	struct MHD_Response *response = copy_of("", 0);

	alloc_check(!response);
	if (cookie) {
		AUTO_FREE char *value =
			must_asprintf("%s; HttpOnly; SameSite=Strict; Path=/", cookie);

		add_header(response, MHD_HTTP_HEADER_SET_COOKIE, value);
	}
	return reply(connection, MHD_HTTP_NO_CONTENT, NULL, POLICY_NONE, response);
}

enum MHD_Result answer_nothing(struct MHD_Connection *connection)
{
	return reply(connection, MHD_HTTP_NO_CONTENT, NULL, POLICY_NONE, copy_of("", 0));
}

enum MHD_Result answer_text(struct MHD_Connection *connection, const char *type, const char *text,
			    size_t size)
{
	return reply(connection, MHD_HTTP_OK, type, POLICY_NONE, copy_of(text, size));
}

/* The page with @nonce in each place that is for it; to be freed. */
static char *page_with(const char *nonce, size_t *ret_size)
{
	static const char place[] = "@NONCE@";
	const char *at = serve_page;
	char *text;
	FILE *to = must_memstream(&text, ret_size);

	for (const char *next; (next = strstr(at, place)); at = next + sizeof(place) - 1)
		fprintf(to, "%.*s%s", (int)(next - at), at, nonce);
	fputs(at, to);
	must_memstream_close(to);
	return text;
}

enum MHD_Result answer_page(struct MHD_Connection *connection)
{
	AUTO_FREE char *page = NULL, *policy = NULL;
	uint8_t bytes[16];
	char nonce[2 * sizeof(bytes) + 1];
	size_t size;

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return answer_line(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "no random bytes");
	text_hex(bytes, sizeof(bytes), nonce);
	page = page_with(nonce, &size);
	policy = must_asprintf(POLICY_PAGE, nonce, nonce);
	return reply(connection, MHD_HTTP_OK, "text/html; charset=utf-8", policy,
		     copy_of(page, size));
}

enum MHD_Result answer_file(struct MHD_Connection *connection, const struct question *question,
			    int fd)
{
	struct MHD_Response *response;
	struct stat st;

	if (fstat(fd, &st)) {
		close(fd);
		return answer_line(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, strerror(errno));
	}
	response = MHD_create_response_from_fd64((uint64_t)st.st_size, fd);
	alloc_check(!response);
	if (question->file) {
		AUTO_FREE char *value =
			must_asprintf("attachment; filename=\"%s\"", question->file);

		add_header(response, MHD_HTTP_HEADER_CONTENT_DISPOSITION, value);
	}
	return reply(connection, MHD_HTTP_OK, question->type,
		     question->is_page ? POLICY_REPORT : POLICY_NONE, response);
}
