/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/door.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* Equal, without a time that says how much of it is. */
static bool is_same(const char *text, size_t size, const char token[DOOR_TOKEN_SIZE])
{
	unsigned char differ = 0;

	if (size != DOOR_TOKEN_SIZE - 1)
		return false;
	for (size_t i = 0; i < size; i++)
		differ |= (unsigned char)(text[i] ^ token[i]);
	return !differ;
}

void door_cookie_name(const struct door *door, char *ret, size_t size)
{
	snprintf(ret, size, "fpless-%u", door->port);
}

/* Has one of "a=b; c=d" our name and the session? */
static bool has_session(const struct door *door, const char *cookies)
{
	char name[32];
	size_t length;

	door_cookie_name(door, name, sizeof(name));
	length = strlen(name);
	for (const char *at = cookies; *at;) {
		size_t size = strcspn(at, ";");

		if (size > length && !strncmp(at, name, length) && at[length] == '=' &&
		    is_same(at + length + 1, size - length - 1, door->session))
			return true;
		at += size;
		at += strspn(at, "; ");
	}
	return false;
}

static bool has_token(const struct door *door, const struct visit *visit)
{
	static const char scheme[] = "Bearer ";
	const char *given = visit->authorization;

	return given && visit->nr_authorizations == 1 &&
	       !strncmp(given, scheme, sizeof(scheme) - 1) &&
	       is_same(given + sizeof(scheme) - 1, strlen(given) - (sizeof(scheme) - 1),
		       door->token);
}

/* Names that lead to loopback wherever they are looked up. */
static bool is_our_name(const struct door *door, const char *host)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
	char name[32];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(name, sizeof(name), "%s:%u", names[i], door->port);
		if (!strcmp(host, name) || (door->port == 80 && !strcmp(host, names[i])))
			return true;
	}
	return false;
}

/* Is it a request of a page of ours, or of none? What comes before "://" is a proxy's choice. */
static bool is_of_our_page(const struct visit *visit, enum door_need need)
{
	const char *colon = visit->origin ? strstr(visit->origin, "://") : NULL;

	if (visit->origin && (!colon || !visit->host || strcmp(colon + 3, visit->host) != 0))
		return false;
	/* a link of another page may lead to what has nothing of the store */
	return !visit->site || need == DOOR_NOTHING || !strcmp(visit->site, "same-origin") ||
	       !strcmp(visit->site, "none");
}

unsigned door_judge(const struct door *door, const struct visit *visit, enum door_need need,
		    const char **ret_why)
{
	*ret_why = "GET is all there is";
	if (strcmp(visit->method, "GET") != 0)
		return 405;
	*ret_why = "a body is not taken";
	if (visit->has_body)
		return 413;
	*ret_why = "this server has another name";
	if (door->is_tcp &&
	    (visit->nr_hosts != 1 || !visit->host || !is_our_name(door, visit->host)))
		return 421;
	*ret_why = "pages of other servers may not ask";
	if (!is_of_our_page(visit, need))
		return 403;
	*ret_why = "the token is missing, or another one: fpless serve has said an address with it";
	if (!door->is_tcp || need == DOOR_NOTHING || has_token(door, visit))
		return 0;
	return need == DOOR_TOKEN && visit->cookie && has_session(door, visit->cookie) ? 0 : 401;
}
