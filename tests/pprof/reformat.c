/* SPDX-License-Identifier: Apache-2.0 */
/* usage: reformat IN.pb.gz OUT...: what was read, in the formats that the extensions say. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "output/formats.h"
#include "recording/pprof_read.h"

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "reformat: %s: %s\n", what, why);
	return 1;
}

static int write_as(const char *path, const struct recording *recording)
{
	const struct format_options options = { 0 };
	const struct format *format = format_by_path(path);
	struct fpl_err err = { 0 };
	FILE *to = format ? fopen(path, "w") : NULL;
	uint64_t shown;

	if (!to)
		return fail(path, "no format, or not writable");
	if (format->write(to, recording, &options, &shown, &err))
		return fail(path, err.msg);
	return fclose(to) ? fail(path, "not written") : 0;
}

int main(int argc, char **argv)
{
	AUTO_FD int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	struct pprof_remarks remarks;
	struct recording recording;
	struct fpl_err err = { 0 };
	int status = 0;

	if (fd < 0)
		return fail(argc > 1 ? argv[1] : "usage", "a file to read");
	if (recording_init(&recording) ||
	    pprof_read(argv[1], fd, &(struct pprof_read_options){ .events = true }, &recording,
		       &remarks, &err))
		return fail(argv[1], err.msg);
	for (int i = 2; i < argc; i++)
		status |= write_as(argv[i], &recording);
	printf("samples %" PRIu64 " stacks %zu events %zu own %d dangling %" PRIu64
	       " negative %" PRIu64 "\n",
	       recording_shown(&recording), recording.nr_stacks, recording.nr_events, remarks.own,
	       remarks.dangling, remarks.negative);
	recording_fini(&recording);
	return status;
}
