/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/jvm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "parse/client.h"
#include "proc/proc_files.h"

int jvm_open_memory(uint32_t pid)
{
	return proc_file_open((pid_t)pid, "mem", O_RDONLY);
}

static int memory_file(uint32_t pid, int fd, char path[32], struct client_file *ret,
		       struct fpl_err *err)
{
	int code;

	snprintf(path, 32, "pid %u: memory", pid);
	code = client_file_init(ret, fd, path);
	return code ? fpl_fail(err, code, "%s: %s", path, strerror(-code)) : 0;
}

/* *fd: the caller closes it. */
static int open_memory_file(uint32_t pid, int *fd, char path[32], struct client_file *ret,
			    struct fpl_err *err)
{
	*fd = jvm_open_memory(pid);
	if (*fd < 0)
		return fpl_fail(err, *fd, "pid %u: memory: %s", pid, strerror(-*fd));
	return memory_file(pid, *fd, path, ret, err);
}

int jvm_describe(struct parse_client *client, uint32_t pid, uint64_t base, struct hotspot *ret,
		 struct fpl_err *err)
{
	AUTO_FD int fd = -1;
	struct client_file file;
	char path[32];
	int code = open_memory_file(pid, &fd, path, &file, err);

	if (!code)
		code = client_jvm(client, &file, base, ret, err);
	return code == -EOWNERDEAD ? -EFAULT : code;
}

int jvm_made(struct parse_client *client, uint32_t pid, const struct made_question *asked,
	     struct made_code *ret, struct fpl_err *err)
{
	AUTO_FD int fd = -1;
	struct client_file file;
	char path[32];
	int code = open_memory_file(pid, &fd, path, &file, err);

	if (!code)
		code = client_made(client, &file, asked, ret, err);
	return code == -EOWNERDEAD ? -EFAULT : code;
}

int jvm_code(struct parse_client *client, uint32_t pid, int fd, uint64_t base,
	     const uint64_t *asked, size_t nr_asked, struct code_table *ret, struct fpl_err *err)
{
	struct code_file_result result;
	struct client_file file;
	char path[32];
	int code = memory_file(pid, fd, path, &file, err);

	return code ? code
		    : client_jvm_code(client, &file, base, asked, nr_asked, ret, &result, err);
}
