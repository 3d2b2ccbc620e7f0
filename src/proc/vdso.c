/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/vdso.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/proc_maps.h"

/* proc_maps_fn: the size of [vdso]. */
static int find_vdso(const struct proc_map *map, void *ctx)
{
	size_t *size = ctx;

	if (strcmp(map->path, "[vdso]") == 0)
		*size = (size_t)(map->end - map->start);
	return 0;
}

int vdso_copy(const void *image, size_t size, int *ret, struct fpl_err *err)
{
	AUTO_FD int fd = memfd_create("fpless-vdso", MFD_CLOEXEC);

	if (fd < 0 || write(fd, image, size) != (ssize_t)size)
		return fpl_fail(err, fd < 0 ? -errno : -EIO, "[vdso]: memfd: %s", strerror(errno));
	*ret = TAKE_FD(fd);
	return 0;
}

int vdso_open(int *ret, struct fpl_err *err)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	size_t size = 0;

	if (!image || proc_maps_read(getpid(), find_vdso, &size, NULL) || !size)
		return fpl_fail(err, -ENOENT, "[vdso]: this process has none");
	return vdso_copy(image, size, ret, err);
}
