/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place where requests come in. A Unix socket is guarded by its mode. A port of loopback can be
 * reached by every user of the machine, and by the pages that its browsers show: it wants a token,
 * and requests must be for this server by name, since a name of a page may lead to loopback, too
 * (DNS rebinding). door_judge() is pure: a visit is hostile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define DOOR_TOKEN_SIZE 65u /* 256 bits in hexadecimal digits, and a NUL */

struct door {
	int fd;	     /* owned: listens */
	bool is_tcp; /* of loopback; else a Unix socket */
	bool is_ipv6;
	uint16_t port;
	char token[DOOR_TOKEN_SIZE];   /* what whoever asks has to know */
	char session[DOOR_TOKEN_SIZE]; /* what browsers keep in its place, of this process alone */
};

/* The headers that say who asks; NULL: not given. */
struct visit {
	const char *method;
	const char *host, *origin, *site, *authorization, *cookie;
	size_t nr_hosts, nr_authorizations; /* how often these were given */
	bool has_body;
};

/* Secrets that a path of the server asks for. */
enum door_need { DOOR_TOKEN, DOOR_LOGIN, DOOR_NOTHING };

/*
 * Returns 0, or the status of the refusal of HTTP, whose reason is *ret_why: 405, 413, 421, 403,
 * 401. With DOOR_LOGIN a cookie is not enough.
 */
unsigned door_judge(const struct door *door, const struct visit *visit, enum door_need need,
		    const char **ret_why);

/* The name of the cookie: browsers keep one list for all ports. */
void door_cookie_name(const struct door *door, char *ret, size_t size);

/*
 * Listen at the Unix socket @path, with mode 0660. One that is left over from a server that has
 * ended is replaced. Errors: -EADDRINUSE another server is there; those of bind(2).
 */
FPL_MUST_CHECK int door_open_unix(const char *path, struct door *ret, struct fpl_err *err);

/*
 * Listen at @address, "127.0.0.1:PORT" or "[::1]:PORT", port 0 chooses one. The token is that in
 * the file @token_path, which is made where it is missing. Errors: -EACCES others may read that
 * file or it is not ours; -EINVAL it has something else; those of bind(2) and open(2).
 */
FPL_MUST_CHECK int door_open_tcp(const char *address, const char *token_path, struct door *ret,
				 struct fpl_err *err);
