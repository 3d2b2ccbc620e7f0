/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of HTTP, with the headers that all of them have. Each ends its connection. */
#pragma once

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

#include "serve/question.h"

/* One line of text, which ends here. */
enum MHD_Result answer_line(struct MHD_Connection *connection, unsigned status, const char *line);

/* A login that is good: @cookie is "NAME=VALUE"; NULL: none is needed. */
enum MHD_Result answer_login(struct MHD_Connection *connection, const char *cookie);

/* Nothing, which is no error: a browser asks for a picture of the site. */
enum MHD_Result answer_nothing(struct MHD_Connection *connection);

/* @text [@size] as @type; what it is is copied. */
enum MHD_Result answer_text(struct MHD_Connection *connection, const char *type, const char *text,
			    size_t size);

/* The page of the server, whose one script and style have a nonce. */
enum MHD_Result answer_page(struct MHD_Connection *connection);

/* All of the file of memory @fd, which is taken over, as the answer to @question. */
enum MHD_Result answer_file(struct MHD_Connection *connection, const struct question *question,
			    int fd);
