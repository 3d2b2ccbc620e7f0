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
	int (*find_debug)(void *client, const unsigned char *build_id, int size, char **path);
	int (*find_code)(void *client, const unsigned char *build_id, int size, char **path);
	int (*find_source)(void *client, const unsigned char *build_id, int size, const char *name,
			   char **path);
};

static bool write_hex(const uint8_t *bytes, size_t size, char ret[2 * ELF_FILE_BUILD_ID_MAX + 1])
{
	if (size < 2 || size > ELF_FILE_BUILD_ID_MAX)
		return false;
	text_hex(bytes, size, ret);
	return true;
}

bool debuginfod_cached(const uint8_t *build_id, size_t build_id_size, enum debuginfod_kind kind,
		       char ret[PATH_MAX])
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
		n = snprintf(ret, PATH_MAX, "%s%s/%s/%s", base, places[i].below, hex,
			     kind == DEBUGINFOD_CODE ? "executable" : "debuginfo");
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
	*(void **)&debuginfod->find_debug = dlsym(debuginfod->library, "debuginfod_find_debuginfo");
	*(void **)&debuginfod->find_code = dlsym(debuginfod->library, "debuginfod_find_executable");
	*(void **)&debuginfod->find_source = dlsym(debuginfod->library, "debuginfod_find_source");
	if (!begin || !debuginfod->end || !debuginfod->find_debug || !debuginfod->find_code ||
	    !debuginfod->find_source)
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
		     enum debuginfod_kind kind, struct fpl_err *err)
{
	char hex[2 * ELF_FILE_BUILD_ID_MAX + 1];
	int fd;

	if (!write_hex(build_id, build_id_size, hex))
		return fpl_fail(err, -EINVAL, "debuginfod: a build-id of %zu bytes", build_id_size);
	fd = (kind == DEBUGINFOD_CODE ? debuginfod->find_code : debuginfod->find_debug)(
		debuginfod->client, build_id, (int)build_id_size, NULL);
	if (fd < 0)
		return fpl_fail(err, fd, "debuginfod: %s: %s", hex, strerror(-fd));
	close(fd);
	return 0;
}

int debuginfod_source(struct debuginfod *debuginfod, const uint8_t *build_id, size_t build_id_size,
		      const char *path)
{
	if (build_id_size < 2 || build_id_size > ELF_FILE_BUILD_ID_MAX)
		return -EINVAL;
	return debuginfod->find_source(debuginfod->client, build_id, (int)build_id_size, path,
				       NULL);
}
