/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pprof as hostile bytes. Judged: all indexes of the recording are in range, the counts add up,
 * and what is written of it is read back the same in all fields.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "format/pprof_read.h"
#include "format/pprof_write.h"
#include "tests/support/recording_dump.h"

#define MEMORY (UINT64_C(32) << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_stack(const struct recording *recording, const struct recording_stack *stack)
{
	size_t nr = (size_t)stack->nr_user + stack->nr_kernel + stack->nr_fp;

	if (stack->first_frame + nr > recording->nr_frame_ids ||
	    stack->comm >= recording->strings.nr || stack->cgroup >= recording->strings.nr)
		abort();
	for (size_t i = 0; i < nr; i++) {
		const struct recording_frame *frame = recording_frame_at(recording, stack, i);
		bool kernel = i >= stack->nr_user && i < (size_t)stack->nr_user + stack->nr_kernel;

		if (frame >= recording->frames + recording->nr_frames ||
		    frame->object >= recording->nr_objects ||
		    frame->first_line + (size_t)frame->nr_lines > recording->nr_lines ||
		    (frame->kind == RECORDING_KERNEL) != kernel)
			abort();
	}
}

static void check(const struct recording *recording)
{
	for (size_t i = 0; i < recording->nr_lines; i++)
		if (recording->lines[i].function >= recording->nr_functions)
			abort();
	for (size_t i = 0; i < recording->nr_stacks; i++)
		check_stack(recording, &recording->stacks[i]);
	for (size_t i = 0; i < recording->nr_events; i++)
		if (recording->events[i].stack >= recording->nr_stacks)
			abort();
}

/* Writing it and reading that changes nothing. */
static void check_again(const struct recording *recording)
{
	const struct pprof_read_options options = { .events = true };
	struct recording again;
	FILE *file = tmpfile();
	struct fpl_err err = { 0 };
	uint64_t shown;

	if (!file || recording_init(&again) || pprof_write(file, recording, NULL, &shown, &err) ||
	    shown != recording_shown(recording) || lseek(fileno(file), 0, SEEK_SET) ||
	    pprof_read("again", fileno(file), &options, &again, NULL, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		abort();
	}

	AUTO_FREE char *before = recording_dump(recording);
	AUTO_FREE char *after = recording_dump(&again);

	if (!before || !after || strcmp(before, after) != 0) {
		fprintf(stderr, "--- before\n%s--- after\n%s", before, after);
		abort();
	}
	recording_fini(&again);
	fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct pprof_read_options options = { .memory = MEMORY, .events = true };
	int fd = memfd_create("pprof", MFD_CLOEXEC);
	struct pprof_remarks remarks;
	struct recording recording;
	struct fpl_err err = { 0 };

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) ||
	    recording_init(&recording))
		abort();

	int error = pprof_read("input", fd, &options, &recording, &remarks, &err);

	if (error && !*err.msg)
		abort();
	if (recording_bytes(&recording) > 3 * MEMORY)
		abort();
	check(&recording);
	if (!error)
		check_again(&recording);
	recording_fini(&recording);
	close(fd);
	return 0;
}
