/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/worker.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/wire.h"
#include "obj/opener.h"
#include "parse/examination.h"
#include "parse/job.h"
#include "symbolize/debug_index.h"
#include "unwind/go_table.h"
#include "unwind/script_find.h"

#define HEAP_KEPT_BYTES (4 << 20)

enum {
	IDLE_MS = 200,	 /* without work until a worker gives back what it has freed */
	REST_MS = 15000, /* from then on, between two looks at the files that it keeps */
};

static void job_fini(struct job *job)
{
	reading_destroy(job->reading);
	cleanup_fd(&job->fd);
	free(job->vaddrs);
}

static int send_out(struct outbox *out)
{
	size_t nr = out->nr;

	out->nr = 0;
	return wire_send(out->sock, out->bytes, nr);
}

int job_send(const struct job *job, const void *bytes, size_t size)
{
	struct outbox *out = job->out;
	int rc = size > sizeof(out->bytes) - out->nr ? send_out(out) : 0;

	if (rc || !size)
		return rc;
	if (size > sizeof(out->bytes))
		return wire_send(out->sock, bytes, size);
	memcpy(out->bytes + out->nr, bytes, size);
	out->nr += size;
	return 0;
}

int job_answer(const struct job *job, int code, const struct fpl_err *err)
{
	const struct parse_answer head = {
		.op = job->request.op,
		.code = code,
		.text_size = code ? (uint32_t)strnlen(err->msg, sizeof(err->msg)) : 0,
	};
	int rc = job_send(job, &head, sizeof(head));

	return rc ? rc : job_send(job, err->msg, head.text_size);
}

static int do_names_digest(struct job *job)
{
	uint8_t digest[IDENTITY_DIGEST_SIZE];
	struct fpl_err err = { 0 };
	int code = identity_read_names(job->elf, digest, &err);
	int rc = job_answer(job, code, &err);

	return rc || code ? rc : job_send(job, digest, sizeof(digest));
}

static int do_crc(struct job *job)
{
	uint32_t crc = 0;
	struct fpl_err err = { 0 };
	int code = debug_file_crc(job->elf, &crc);
	int rc;

	if (code)
		code = fpl_fail(&err, code, "%s: %s", job->name, strerror(-code));
	rc = job_answer(job, code, &err);
	return rc || code ? rc : job_send(job, &crc, sizeof(crc));
}

static int do_match(struct job *job)
{
	bool by_link = job->request.flags & PARSE_BY_LINK;
	struct debug_link link;
	struct fpl_err err = { 0 };

	debug_link_read(job->elf, &link);
	return job_answer(
		job,
		job->debug && debug_file_belongs(job->debug, job->elf, by_link ? &link : NULL)
			? 0
			: -ENOENT,
		&err);
}

static int do_examine(struct job *job)
{
	struct examination examination;
	struct fpl_err err = { 0 };
	int code = examine(job->elf, job->debug, &examination, &err);
	int rc = job_answer(job, code, &err);

	return rc || code ? rc : job_send(job, &examination, sizeof(examination));
}

static int send_table(const struct job *job, const struct table *table)
{
	const struct parse_table head = {
		.first_vaddr = table->first_vaddr,
		.entry_vaddr = table->entry_vaddr,
		.image_bytes = table->image_bytes,
		.rules_off = table->rules_off,
		.dir_off = table->dir_off,
		.nr_pages = table->nr_pages,
		.stats = table->stats,
		.script = table->script,
	};
	int rc = job_send(job, &head, sizeof(head));

	for (size_t i = 0; !rc && i < table->nr_chunks; i++)
		rc = job_send(job, table->chunks[i], table_chunk_bytes(table, i));
	return rc;
}

static int do_table(struct job *job)
{
	struct table *table = NULL;
	struct fpl_err err = { 0 };
	struct table_limits limits = table_limits_default;

	limits.synth = (job->request.flags & PARSE_SYNTH) != 0;
	limits.synth_later = (job->request.flags & PARSE_SYNTH_LATER) != 0;
	limits.synth_near = job->vaddrs;
	limits.nr_synth_near = job->request.nr_vaddrs;

	int code = table_compile(job->elf, job->debug, &limits, &table, &err);

	if (!code)
		script_facts_find(job->elf, job->debug, table, &table->script);

	int rc = job_answer(job, code, &err);

	if (!rc && !code)
		rc = send_table(job, table);
	table_destroy(table);
	return rc;
}

static int do_facts(struct job *job)
{
	const struct elf_file *elf = job->elf;
	struct parse_facts facts = {
		.entry = elf->entry,
		.nr_segments = (uint32_t)elf->nr_segments,
		.type = elf->type,
		.machine = elf->machine,
		.has_debug_info = debug_index_has_info(elf) || go_table_is_likely(elf),
	};
	struct fpl_err err = { 0 };
	int code = 0, rc;

	if (job->request.flags & PARSE_NO_DIGEST) {
		facts.identity.build_id_size = elf->build_id_size;
		memcpy(facts.identity.build_id, elf->build_id, elf->build_id_size);
	} else {
		code = identity_read(elf, &facts.identity, &err);
	}

	debug_link_read(elf, &facts.link);
	debug_alt_link_read(elf, &facts.alt_link);
	rc = job_answer(job, code, &err);
	if (rc || code)
		return rc;
	rc = job_send(job, &facts, sizeof(facts));
	if (!rc)
		rc = job_send(job, elf->segments, elf->nr_segments * sizeof(*elf->segments));
	if (rc || !(job->request.flags & PARSE_WITH_TABLE) || facts.link.is_stripped)
		return rc;
	job->request.op = PARSE_TABLE;
	return do_table(job);
}

static int open_elf_files(struct job *job, int fds[WIRE_FDS_MAX], struct reading *reading,
			  struct fpl_err *err)
{
	int code = elf_file_open_sized(TAKE_FD(fds[0]), job->request.file_size, job->name,
				       &reading->elf, err);

	if (!code && (job->request.flags & PARSE_HAS_DEBUG))
		code = elf_file_open_sized(TAKE_FD(fds[1]), job->request.debug_size, job->name,
					   &reading->debug, err);
	if (!code && (job->request.flags & PARSE_HAS_ALT)) {
		/* descriptors that are there come one after the other */
		size_t idx = job->request.flags & PARSE_HAS_DEBUG ? 2 : 1;

		code = elf_file_open_sized(TAKE_FD(fds[idx]), job->request.alt_size, job->name,
					   &reading->alt, err);
	}
	return code;
}

/* Without a free descriptor for each, some are lost on the way. */
static bool has_all_files(const struct job *job, const int fds[WIRE_FDS_MAX])
{
	size_t nr = 1u + ((job->request.flags & PARSE_HAS_DEBUG) != 0) +
		    ((job->request.flags & PARSE_HAS_ALT) != 0);

	for (size_t i = 0; i < nr; i++) {
		if (fds[i] < 0)
			return false;
	}
	return true;
}

/* Takes out of their envelopes what came in such. */
static int unseal(const struct job *job, int fds[WIRE_FDS_MAX])
{
	static const uint32_t flags[] = { 0, PARSE_HAS_DEBUG, PARSE_HAS_ALT };
	static const uint32_t sealed[] = { PARSE_SEALED_FILE, PARSE_SEALED_DEBUG,
					   PARSE_SEALED_ALT };
	size_t at = 0;

	/* descriptors that are there come one after the other */
	for (size_t i = 0; i < ARRAY_SIZE(sealed); i++) {
		int fd, code;

		if ((job->request.flags & flags[i]) != flags[i])
			continue;
		if (job->request.flags & sealed[i]) {
			code = envelope_open(fds[at], &fd);
			if (code)
				return code;
			close(fds[at]);
			fds[at] = fd;
		}
		at++;
	}
	return 0;
}

/* Is it about a file that is no ELF file? */
static bool is_no_elf(uint32_t op)
{
	return op == PARSE_PERF_MAP || op == PARSE_JITDUMP || op == PARSE_SCRIPT ||
	       op == PARSE_JVM || op == PARSE_JVM_CODE || op == PARSE_MADE;
}

/* Opens the files of the request, or has them from the cache; code goes into the answer. */
static int open_files(struct job *job, struct file_cache *cache, int fds[WIRE_FDS_MAX],
		      struct fpl_err *err)
{
	int code = 0;

	if (!has_all_files(job, fds) || unseal(job, fds))
		return fpl_fail(err, -EMFILE, "%s: %s", job->name, strerror(EMFILE));
	if (is_no_elf(job->request.op)) {
		job->fd = TAKE_FD(fds[0]);
		return 0;
	}
	if (job->request.flags & PARSE_KEEP)
		job->reading = file_cache_take(cache, &job->request.key);
	if (!job->reading) {
		job->reading = calloc(1, sizeof(*job->reading));
		if (!job->reading)
			return fpl_fail(err, -ENOMEM, "%s: out of memory", job->name);
		job->reading->key = job->request.key;
		code = open_elf_files(job, fds, job->reading, err);
	}
	job->elf = job->reading->elf;
	job->debug = job->reading->debug;
	job->alt = job->reading->alt;
	return code;
}

/* Keeps a reading that is worth it. */
static void keep_reading(struct job *job, struct file_cache *cache, size_t bytes_before)
{
	struct reading *reading = job->reading;
	size_t now;

	if (!reading || !(job->request.flags & PARSE_KEEP) || (!reading->tab && !reading->index))
		return;
	job->reading = NULL;
	now = file_cache_heap_bytes();
	file_cache_put(cache, reading, now > bytes_before ? now - bytes_before : 0);
}

static int serve(struct job *job, struct file_cache *cache, int fds[WIRE_FDS_MAX])
{
	static int (*const ops[PARSE_OP_COUNT])(struct job *) = {
		[PARSE_FACTS] = do_facts,      [PARSE_MATCH] = do_match,
		[PARSE_TABLE] = do_table,      [PARSE_NAMES] = job_names,
		[PARSE_FRAMES] = job_frames,   [PARSE_PERF_MAP] = job_code,
		[PARSE_JITDUMP] = job_code,    [PARSE_EXAMINE] = do_examine,
		[PARSE_LINES] = job_lines,     [PARSE_NAMES_DIGEST] = do_names_digest,
		[PARSE_CRC] = do_crc,	       [PARSE_LISTING] = job_listing,
		[PARSE_FUNCTION] = job_probes, [PARSE_PROBES] = job_probes,
		[PARSE_SCRIPT] = job_script,   [PARSE_JVM] = job_jvm,
		[PARSE_JVM_CODE] = job_code,   [PARSE_MADE] = job_made,
	};
	struct fpl_err err = { 0 };

	size_t nr = job->request.nr_vaddrs;

	if (job->request.op >= PARSE_OP_COUNT || job->request.name_size > PARSE_NAME_MAX ||
	    nr > PARSE_VADDRS_MAX || job->request.text_size > PARSE_NAME_TEXT_MAX)
		return -EBADMSG;
	job->vaddrs = calloc(nr + 1, sizeof(*job->vaddrs));
	if (!job->vaddrs)
		return -ENOMEM;

	int rc = wire_recv(job->out->sock, job->name, job->request.name_size);

	if (!rc)
		rc = wire_recv(job->out->sock, job->vaddrs, nr * sizeof(*job->vaddrs));
	if (!rc)
		rc = wire_recv(job->out->sock, job->text, job->request.text_size);
	if (rc)
		return rc;
	job->name[job->request.name_size] = '\0';
	job->text[job->request.text_size] = '\0';

	int code = open_files(job, cache, fds, &err);

	rc = code ? job_answer(job, code, &err) : ops[job->request.op](job);
	return rc ? rc : send_out(job->out);
}

/* Wait for a request, or for the end of them. */
static void await_request(int sock, struct file_cache *cache)
{
	struct pollfd request = { .fd = sock, .events = POLLIN };

	file_cache_age(cache);
	if (poll(&request, 1, IDLE_MS))
		return;
	(void)malloc_trim(0);
	while (poll(&request, 1, file_cache_is_empty(cache) ? -1 : REST_MS) == 0)
		file_cache_rest(cache);
}

/* Keep the memory of a small file for the next file: giving it back and taking it again would cost
 * a fifth of the time that the file's table takes. */
static void keep_heap(void)
{
	mallopt(M_TRIM_THRESHOLD, HEAP_KEPT_BYTES);
	mallopt(M_TOP_PAD, HEAP_KEPT_BYTES / 4);
	mallopt(M_MMAP_THRESHOLD, HEAP_KEPT_BYTES);
}

void worker_main(int sock, size_t nr_kept)
{
	static struct file_cache cache;
	static struct outbox out;
	int rc = 0;

	out.sock = sock;
	keep_heap();
	cache.nr_files = nr_kept < FILE_CACHE_FILES ? nr_kept : FILE_CACHE_FILES;
	while (!rc) {
		struct job *job = calloc(1, sizeof(*job));
		size_t bytes = file_cache_heap_bytes();
		int fds[WIRE_FDS_MAX];

		if (!job)
			break;
		job->out = &out;
		job->fd = -1;
		await_request(sock, &cache);
		rc = wire_recv_fds(sock, &job->request, sizeof(job->request), fds);
		if (!rc) {
			rc = serve(job, &cache, fds);
			keep_reading(job, &cache, bytes);
			for (size_t i = 0; i < WIRE_FDS_MAX; i++)
				cleanup_fd(&fds[i]);
			job_fini(job);
		}
		free(job);
	}
	_exit(rc == -EPIPE ? 0 : 1);
}
