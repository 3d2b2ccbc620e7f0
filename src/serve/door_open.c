/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets, and the file of the token. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "serve/door.h"

enum { BACKLOG = 16 };

static int make_secret(char ret[DOOR_TOKEN_SIZE], struct fpl_err *err)
{
	uint8_t bytes[(DOOR_TOKEN_SIZE - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return fpl_fail(err, -EIO, "getrandom: %s", strerror(errno));
	text_hex(bytes, sizeof(bytes), ret);
	return 0;
}

/* The token in @fd, which only we may read. */
static int read_token(const char *path, int fd, char ret[DOOR_TOKEN_SIZE], struct fpl_err *err)
{
	char text[DOOR_TOKEN_SIZE + 1] = { 0 };
	struct stat st;
	ssize_t nr;

	if (fstat(fd, &st))
		return fpl_fail(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
		return fpl_fail(err, -EACCES,
				"%s: expected a file of this user that others may not read", path);
	nr = io_read(fd, text, sizeof(text));
	if (nr < 0)
		return fpl_fail(err, (int)nr, "%s: %s", path, strerror((int)-nr));
	/* its line may have an end */
	if (nr == DOOR_TOKEN_SIZE && text[nr - 1] == '\n')
		nr--;
	if (nr != DOOR_TOKEN_SIZE - 1 || strspn(text, "0123456789abcdef") != (size_t)nr)
		return fpl_fail(err, -EINVAL, "%s: expected a token of %u hexadecimal digits", path,
				DOOR_TOKEN_SIZE - 1);
	memcpy(ret, text, DOOR_TOKEN_SIZE - 1);
	ret[DOOR_TOKEN_SIZE - 1] = '\0';
	return 0;
}

static int write_token(const char *path, char ret[DOOR_TOKEN_SIZE], struct fpl_err *err)
{
	AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int code;

	if (fd < 0)
		return fpl_fail(err, -errno, "%s: %s", path, strerror(errno));
	code = make_secret(ret, err);
	if (code)
		return code;
	code = io_write(fd, ret, DOOR_TOKEN_SIZE - 1);
	return code ? fpl_fail(err, code, "%s: %s", path, strerror(-code)) : 0;
}

static int load_token(const char *path, char ret[DOOR_TOKEN_SIZE], struct fpl_err *err)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		return read_token(path, fd, ret, err);
	return errno == ENOENT ? write_token(path, ret, err)
			       : fpl_fail(err, -errno, "%s: %s", path, strerror(errno));
}

static int listen_at(const void *address, socklen_t size, const char *name, struct door *ret,
		     struct fpl_err *err)
{
	const struct sockaddr *at = address;
	int one = 1;

	ret->fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (ret->fd >= 0 &&
	    (at->sa_family == AF_UNIX ||
	     !setsockopt(ret->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one))) &&
	    !bind(ret->fd, at, size) && !listen(ret->fd, BACKLOG))
		return 0;
	return fpl_fail(err, -errno, "%s: %s", name, strerror(errno));
}

/* A server that was killed leaves its socket, to which no process listens. */
static int remove_left_over(const struct sockaddr_un *address, struct fpl_err *err)
{
	AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	if (lstat(address->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return 0; /* bind(2) says what is there */
	if (!connect(fd, (const struct sockaddr *)address, sizeof(*address)) || errno == EAGAIN)
		return fpl_fail(err, -EADDRINUSE, "%s: another server listens there",
				address->sun_path);
	if (errno == ECONNREFUSED)
		unlink(address->sun_path);
	return 0;
}

int door_open_unix(const char *path, struct door *ret, struct fpl_err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	mode_t mask;
	int code;

	*ret = (struct door){ .fd = -1 };
	if (strlen(path) >= sizeof(address.sun_path))
		return fpl_fail(err, -ENAMETOOLONG, "%s: expected a path of at most %zu bytes",
				path, sizeof(address.sun_path) - 1);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	code = remove_left_over(&address, err);
	if (code)
		return code;
	mask = umask(0117);
	code = listen_at(&address, sizeof(address), path, ret, err);
	umask(mask);
	return code;
}

int door_open_tcp(const char *address, const char *token_path, struct door *ret,
		  struct fpl_err *err)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const char *colon = strrchr(address, ':');
	socklen_t size;
	uint64_t port;
	int code;

	*ret = (struct door){ .fd = -1, .is_tcp = true, .is_ipv6 = *address == '[' };
	if (!colon || !text_to_number(colon + 1, UINT16_MAX, &port))
		return fpl_fail(err, -EINVAL, "%s: expected ADDRESS:PORT", address);
	code = load_token(token_path, ret->token, err);
	if (!code)
		code = make_secret(ret->session, err);
	if (code)
		return code;
	v4.sin_port = v6.sin6_port = htons((uint16_t)port);
	code = ret->is_ipv6 ? listen_at(&v6, sizeof(v6), address, ret, err)
			    : listen_at(&v4, sizeof(v4), address, ret, err);
	if (code)
		return code;
	/* both have the port in the same place */
	size = sizeof(v6);
	if (getsockname(ret->fd, (struct sockaddr *)&v6, &size))
		return fpl_fail(err, -errno, "%s: %s", address, strerror(errno));
	ret->port = ntohs(v6.sin6_port);
	return 0;
}
