/* SPDX-License-Identifier: Apache-2.0 */
/* The file of code objects that a worker reads, as hostile bytes. Judged: what is made of it holds
 * together. */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/require.h"

#include "script/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script_names names;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (!script_names_read(fd, size, &names))
		REQUIRE(script_names_check(&names));
	script_names_fini(&names);
	close(fd);
	return 0;
}
