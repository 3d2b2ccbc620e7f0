/* SPDX-License-Identifier: Apache-2.0 */
#include "format/read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "format/gunzip.h"
#include "format/unzstd.h"
#include "format/perf_header.h"
#include "format/pprof_read.h"
#include "format/reading.h"
#include "recording/sample_type.h"
#include "recording/sources.h"

/* The first bytes tell the format of a file: more than any first line but a folded one has. */
enum { PEEK_BYTES = 64 << 10, SPOOL_BYTES = 256 << 10 };

typedef void read_fn(struct reading *reading);

/* Does @line end in a blank and digits, as a folded one? */
static bool has_count(const char *line)
{
	const char *space = strrchr(line, ' ');

	return space && space > line && space[1] && !space[1 + strspn(space + 1, "0123456789")];
}

/* The reader of a file whose first line, or what was seen of it, is @line. */
static read_fn *reader_of_line(char *line, bool whole)
{
	struct perf_header header;

	if (*line == '{')
		return jsonl_read;
	if (*line == '#')
		return perf_script_read;
	if (whole ? has_count(line) : strchr(line, ';') != NULL)
		return folded_read;
	return perf_header_parse(line, &header) ? perf_script_read : NULL;
}

/* NULL: none of these formats. A file without a line is a folded one of no stack. */
static read_fn *reader_of(const char *bytes, size_t size, char *room)
{
	size_t begin = 0, length;

	while (begin < size && (bytes[begin] == '\n' || bytes[begin] == '\r'))
		begin++;
	if (begin == size)
		return folded_read;

	const char *newline = memchr(bytes + begin, '\n', size - begin);

	length = newline ? (size_t)(newline - bytes) - begin : size - begin;
	if (memchr(bytes + begin, '\0', length))
		return NULL;
	if (length && bytes[begin + length - 1] == '\r')
		length--;
	memcpy(room, bytes + begin, length);
	room[length] = '\0';
	return reader_of_line(room, newline || size < PEEK_BYTES);
}

/* Put @bytes and the rest of a pipe behind them into a file of memory. */
static int spool(const char *name, int fd, const char *bytes, size_t size, uint64_t memory,
		 int *ret, struct fpl_err *err)
{
	AUTO_FREE char *buf = must_malloc(SPOOL_BYTES);
	AUTO_FD int copy = memfd_create("pprof", MFD_CLOEXEC);
	uint64_t total = size;
	ssize_t nr = 0;
	int error = copy < 0 ? -errno : io_write(copy, bytes, size);

	while (!error && nr >= 0 && (nr = io_read(fd, buf, SPOOL_BYTES)) > 0) {
		total += (uint64_t)nr;
		error = total > memory ? -E2BIG : io_write(copy, buf, (size_t)nr);
	}
	if (!error && nr < 0)
		error = (int)nr;
	if (!error && lseek(copy, 0, SEEK_SET) < 0)
		error = -errno;
	if (error)
		return fpl_fail(err, error, "%s: %s", name,
				error == -E2BIG ? "more than --memory" : strerror(-error));
	*ret = TAKE_FD(copy);
	return 0;
}

/* Say what is not as it should be in a file that was read all the same. */
static void tell(const char *name, const struct pprof_remarks *remarks)
{
	if (remarks->negative)
		fpl_log(FPL_LOG_WARN, "%s: %" PRIu64 " samples with counts below 0 are left out",
			name, remarks->negative);
	if (remarks->cut)
		fpl_log(FPL_LOG_WARN, "%s: %" PRIu64 " stacks are cut to their innermost frames",
			name, remarks->cut);
	if (remarks->dangling || remarks->duplicate)
		fpl_log(FPL_LOG_WARN,
			"%s: %" PRIu64 " references to nothing, %" PRIu64 " ids that others have",
			name, remarks->dangling, remarks->duplicate);
}

/* A descriptor to read the file from its beginning: its own, or *spooled, which is owned. */
static int begin_again(struct line_input *input, const char *bytes, uint64_t memory, int *spooled,
		       int *ret, struct fpl_err *err)
{
	off_t at = lseek(input->fd, 0, SEEK_CUR);
	size_t size = input->end - input->begin;

	*ret = input->fd;
	if (at >= 0 && lseek(input->fd, at - (off_t)size, SEEK_SET) >= 0)
		return 0;

	int error = spool(input->name, input->fd, bytes, size, memory, spooled, err);

	*ret = *spooled;
	return error;
}

static int read_pprof(const char *name, int fd, const struct read_options *options,
		      struct recording *ret, struct fpl_err *err)
{
	const struct pprof_read_options pprof_options = {
		.memory = options->memory,
		.events = options->events,
		.sample_type = options->sample_type,
	};
	struct pprof_remarks remarks = { 0 };
	int error = pprof_read(name, fd, &pprof_options, ret, &remarks, err);

	if (!error)
		tell(name, &remarks);
	return error;
}

static bool is_gzip(const char *bytes, size_t size)
{
	return size >= 2 && !memcmp(bytes, "\x1f\x8b", 2);
}

static bool is_zstd(const char *bytes, size_t size)
{
	return size >= 4 && !memcmp(bytes, "\x28\xb5\x2f\xfd", 4);
}

/* Is it, unpacked, what a reader of text takes? A pprof has lengths among its first bytes. */
static bool is_text(const char *bytes, size_t size, char *room)
{
	/* what is packed twice could go on for ever */
	if (is_zstd(bytes, size) || pprof_looks_like((const unsigned char *)bytes, size) ||
	    !reader_of(bytes, size, room))
		return false;
	for (size_t i = 0; i < size && bytes[i] != '\n'; i++)
		if ((unsigned char)bytes[i] < ' ' && bytes[i] != '\t' && bytes[i] != '\r')
			return false;
	return true;
}

/* A packed file, read as what is in it. */
struct unpacking {
	bool zstd;
	struct gunzip gunzip; /* unless zstd */
	struct unzstd unzstd;
};

static void unpacking_fini(struct unpacking *unpacking)
{
	if (unpacking->zstd)
		unzstd_fini(&unpacking->unzstd);
	else
		gunzip_fini(&unpacking->gunzip);
}

static ssize_t unpacking_read(struct unpacking *unpacking, char *to, size_t size,
			      struct fpl_err *err)
{
	return unpacking->zstd ? unzstd_read(&unpacking->unzstd, to, size, err)
			       : gunzip_read(&unpacking->gunzip, to, size, err);
}

static void unpacking_init(struct unpacking *unpacking, const char *name, int fd, bool zstd)
{
	unpacking->zstd = zstd;
	if (zstd)
		unzstd_init(&unpacking->unzstd, name, fd);
	else
		gunzip_init(&unpacking->gunzip, name, fd);
}

/*
 * The text that @fd holds packed, in a file of memory; *ret stays -1 if it holds none: then @fd is
 * where it was, and the reader of pprofs says what is wrong.
 */
static int unpack_text(const char *name, int fd, bool zstd, uint64_t memory, char *room, int *ret,
		       struct fpl_err *err)
{
	AUTO_FREE char *buf = must_malloc(SPOOL_BYTES);
	AUTO_FD int copy = memfd_create("text", MFD_CLOEXEC);
	CLEANUP(unpacking_fini) struct unpacking unpacking;
	off_t at = lseek(fd, 0, SEEK_CUR);
	uint64_t total = 0;
	ssize_t nr = 0;
	bool is_jsonl;
	int error = 0;

	unpacking_init(&unpacking, name, fd, zstd);
	if (copy < 0)
		return fpl_fail(err, -errno, "%s: memfd: %s", name, strerror(errno));
	for (size_t size = 0; size < PEEK_BYTES; size += (size_t)nr, total = size) {
		nr = unpacking_read(&unpacking, buf + size, PEEK_BYTES - size, zstd ? err : NULL);
		if (nr <= 0)
			break;
	}
	/* of a .jsonl that was cut, what came out is good: its reader says what is missing */
	is_jsonl = total && *buf == '{';
	if (zstd && nr < 0 && !(nr == -ENODATA && is_jsonl))
		return (int)nr;
	if ((nr < 0 && !(nr == -ENODATA && is_jsonl)) || !total || !is_text(buf, total, room))
		return lseek(fd, at, SEEK_SET) < 0 ? -errno : 0;
	for (nr = (ssize_t)total; !error && nr > 0;) {
		error = io_write(copy, buf, (size_t)nr);
		nr = error ? 0 : unpacking_read(&unpacking, buf, SPOOL_BYTES, err);
		total += nr > 0 ? (uint64_t)nr : 0;
		if (total > memory)
			return fpl_fail(err, -E2BIG, "%s: more than --memory", name);
	}
	if (nr < 0 && !(nr == -ENODATA && is_jsonl))
		return (int)nr;
	if (error || lseek(copy, 0, SEEK_SET) < 0)
		return fpl_fail(err, error ? error : -errno, "%s: %s", name,
				strerror(error ? -error : errno));
	*ret = TAKE_FD(copy);
	return 0;
}

static int read_binary(struct line_input *input, const struct read_options *options,
		       const char *bytes, size_t size, char *room, struct recording *ret,
		       struct fpl_err *err)
{
	uint64_t memory = options->memory ? options->memory : READ_MEMORY_BYTES;
	AUTO_FD int spooled = -1, text = -1;
	bool zstd = is_zstd(bytes, size);
	int fd;
	int error = begin_again(input, bytes, memory, &spooled, &fd, err);

	if (!error && (zstd || is_gzip(bytes, size)))
		error = unpack_text(input->name, fd, zstd, memory, room, &text, err);
	if (error)
		return error;
	if (text < 0 && zstd)
		return fpl_fail(err, -EBADMSG, "%s: what zstd packed there is no text of ours",
				input->name);
	return text < 0 ? read_pprof(input->name, fd, options, ret, err)
			: recording_read(input->name, text, options, ret, err);
}

/* Advice about files that are often given by mistake; NULL: another file. */
static const char *advice_for(const char *bytes, size_t size)
{
	static const struct {
		const char *begins, *advice;
	} known[] = {
		{ "PERFILE2", "a perf.data: what `perf script` prints of it is read" },
		{ "{\"meta\":{",
		  "a profile for the Firefox Profiler is not read back: .jsonl and .pb.gz are" },
		{ "{\"$schema\":",
		  "a profile for speedscope is not read back: .jsonl and .pb.gz are" },
		{ "<", "a picture or page is not read back: .jsonl and .pb.gz are" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		size_t length = strlen(known[i].begins);

		if (size >= length && !memcmp(bytes, known[i].begins, length))
			return known[i].advice;
	}
	return NULL;
}

/* Show what is called @wanted. False: neither the counts nor the weights are. */
static bool choose_type(struct recording *recording, const char *wanted)
{
	/* one of several is chosen by who filters (recording/filter.h) */
	if (recording->nr_sources && sources_find_type(recording, wanted) != SOURCES_NONE)
		return true;
	recording->by_count = sample_type_is(recording, wanted);
	return recording->by_count || (sample_type_weighs_else(recording) &&
				       !strcmp(sample_type_weight(recording), wanted));
}

int recording_read(const char *name, int fd, const struct read_options *options,
		   struct recording *ret, struct fpl_err *err)
{
	CLEANUP(line_input_fini) struct line_input input;
	CLEANUP(reading_fini)
	struct reading reading = {
		.input = &input, .options = options, .recording = ret, .err = err
	};
	AUTO_FREE char *room = must_malloc(PEEK_BYTES + 1);
	const char *bytes = NULL;
	size_t size = 0;
	int error;

	line_input_init(&input, name, fd);
	error = line_input_peek(&input, PEEK_BYTES, &bytes, &size, err);
	if (error)
		return error;

	bool packed = is_gzip(bytes, size) || is_zstd(bytes, size);
	read_fn *read = packed ? NULL : reader_of(bytes, size, room);
	/* a folded line may begin with anything but a brace */
	const char *advice = !read || read == jsonl_read ? advice_for(bytes, size) : NULL;

	if (advice)
		return fpl_fail(err, -EBADMSG, "%s: %s", name, advice);
	if (packed || (!read && pprof_looks_like((const unsigned char *)bytes, size)))
		return read_binary(&input, options, bytes, size, room, ret, err);
	if (!read)
		return fpl_fail(err, -EBADMSG,
				"%s: neither pprof nor folded stacks nor .jsonl nor the text of "
				"perf script",
				name);
	read(&reading);
	if (!reading.error && options->sample_type && !choose_type(ret, options->sample_type)) {
		char counted[128];

		return fpl_fail(err, -ENOENT, "%s: no sample type is called '%.40s': there are %s",
				name, options->sample_type,
				sample_type_text(ret, counted, sizeof(counted)));
	}
	return reading.error;
}
