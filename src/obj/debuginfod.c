/* SPDX-License-Identifier: Apache-2.0 */
#include "obj/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "obj/elf_file.h"

#define LIBRARY "libdebuginfod.so.1"

struct debuginfod {
	void *library; /* owned */
	void *client;  /* owned */
	void (*end)(void *client);
	int (*find)(void *client, const unsigned char *build_id, int build_id_size, char **path);
};

static bool write_hex(const uint8_t *bytes, size_t size, char ret[2 * ELF_FILE_BUILD_ID_MAX + 1])
{
	if (size < 2 || size > ELF_FILE_BUILD_ID_MAX)
		return false;
	text_hex(bytes, size, ret);
	return true;
}

bool debuginfod_cached(const uint8_t *build_id, size_t build_id_size, char ret[PATH_MAX])
{
	static const struct {
		const char *variable, *below;
	} places[] = {
		{ "DEBUGINFOD_CACHE_PATH", "" },
		{ "XDG_CACHE_HOME", "/debuginfod_client" },
		{ "HOME", "/.cache/debuginfod_client" },
	};
	char hex[2 * ELF_FILE_BUILD_ID_MAX + 1];

	if (!write_hex(build_id, build_id_size, hex))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const char *base = getenv(places[i].variable);
		int n;

		if (!base || base[0] != '/')
			continue;
		n = snprintf(ret, PATH_MAX, "%s%s/%s/debuginfo", base, places[i].below, hex);
		return n >= 0 && n < PATH_MAX;
	}
	return false;
}

static void cleanup_debuginfod(struct debuginfod **debuginfod)
{
	debuginfod_close(*debuginfod);
}

int debuginfod_open(struct debuginfod **ret, struct fpl_err *err)
{
	CLEANUP(cleanup_debuginfod) struct debuginfod *debuginfod = calloc(1, sizeof(*debuginfod));
	const char *urls = getenv("DEBUGINFOD_URLS");
	void *(*begin)(void);

	if (!debuginfod)
		return fpl_fail(err, -ENOMEM, "debuginfod: out of memory");
	if (!urls || !*urls)
		return fpl_fail(err, -ENOENT, "debuginfod: $DEBUGINFOD_URLS names no server");
	/*
	 * The library stays loaded: its own libraries leave behind data set up once for a process.
	 */
	debuginfod->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!debuginfod->library)
		return fpl_fail(err, -ENOSYS, "debuginfod: %s", dlerror());
	/* POSIX has functions as void * where it speaks of dlsym, ISO C has not */
	*(void **)&begin = dlsym(debuginfod->library, "debuginfod_begin");
	*(void **)&debuginfod->end = dlsym(debuginfod->library, "debuginfod_end");
	*(void **)&debuginfod->find = dlsym(debuginfod->library, "debuginfod_find_debuginfo");
	if (!begin || !debuginfod->end || !debuginfod->find)
		return fpl_fail(err, -ENOSYS, "debuginfod: %s is another library", LIBRARY);
	debuginfod->client = begin();
	if (!debuginfod->client)
		return fpl_fail(err, -ENOMEM, "debuginfod: out of memory");
	*ret = TAKE_PTR(debuginfod);
	return 0;
}

void debuginfod_close(struct debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	if (debuginfod->client)
		debuginfod->end(debuginfod->client);
	if (debuginfod->library)
		dlclose(debuginfod->library);
	free(debuginfod);
}

int debuginfod_fetch(struct debuginfod *debuginfod, const uint8_t *build_id, size_t build_id_size,
		     struct fpl_err *err)
{
	char hex[2 * ELF_FILE_BUILD_ID_MAX + 1];
	int fd;

	if (!write_hex(build_id, build_id_size, hex))
		return fpl_fail(err, -EINVAL, "debuginfod: a build-id of %zu bytes", build_id_size);
	fd = debuginfod->find(debuginfod->client, build_id, (int)build_id_size, NULL);
	if (fd < 0)
		return fpl_fail(err, fd, "debuginfod: %s: %s", hex, strerror(-fd));
	close(fd);
	return 0;
}
