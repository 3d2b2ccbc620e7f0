/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/advice.h"

/* Tried in this order: 256 KiB hold about 2,500 mappings between two drains. */
static const size_t buffer_pages[] = { 64, 16, 4 };

/*
 * Room in the alarm's buffer: for a record of a mapping whose path has some 400 bytes, behind one
 * that counts records without room.
 */
#define ALARM_BYTES 512u

struct sideband_event {
	int fd;
	struct perf_event_mmap_page *meta; /* mapped: meta page, then the buffer. NULL: none */
	size_t buffer_size;
};

/*
 * A wakeup costs the process that makes a mapping 6 us, as much as the record itself, so only a
 * reader that sleeps is woken. perf wakes by bytes alone. So an event of its own wakes by each
 * record, as long as its buffer has room: its records are never read, and its tail says how much
 * room there is.
 */
struct sideband_cpu {
	struct sideband_event records;
	struct sideband_event alarm;
};

struct sideband {
	struct sideband_cpu *cpus; /* owned [nr] */
	size_t nr;
	uint8_t *record; /* owned: one record put together, 64 KiB */
};

/* A record read front to back; too short a record fails for good. */
struct reader {
	const uint8_t *pos, *end;
	bool bad;
};

static void take(struct reader *r, void *to, size_t size)
{
	if (r->bad || (size_t)(r->end - r->pos) < size) {
		r->bad = true;
		memset(to, 0, size);
		return;
	}
	memcpy(to, r->pos, size);
	r->pos += size;
}

static uint32_t take_u32(struct reader *r)
{
	uint32_t v;

	take(r, &v, sizeof(v));
	return v;
}

static uint64_t take_u64(struct reader *r)
{
	uint64_t v;

	take(r, &v, sizeof(v));
	return v;
}

/* A NUL-terminated string in the rest of the record. */
static const char *take_string(struct reader *r)
{
	size_t room = (size_t)(r->end - r->pos);
	const char *s = (const char *)r->pos;

	if (r->bad || strnlen(s, room) == room) {
		r->bad = true;
		return "";
	}
	return s;
}

/* PERF_RECORD_MMAP2: returns 1 if it is executable. */
static int parse_map(struct reader *r, uint16_t misc, struct sideband_record *ret)
{
	ret->type = SIDEBAND_MAP;
	ret->pid = take_u32(r);
	ret->tid = take_u32(r);
	ret->start = take_u64(r);
	ret->size = take_u64(r);
	ret->file_off = take_u64(r);
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		uint8_t id[24]; /* size, 3 reserved bytes, 20 of build-id */

		take(r, id, sizeof(id));
		if (id[0] > SIDEBAND_BUILD_ID_MAX)
			return -EINVAL;
		ret->build_id_size = id[0];
		memcpy(ret->build_id, id + 4, SIDEBAND_BUILD_ID_MAX);
	} else {
		ret->dev_major = take_u32(r);
		ret->dev_minor = take_u32(r);
		ret->inode = take_u64(r);
		take_u64(r); /* inode generation */
	}

	uint32_t prot = take_u32(r);

	take_u32(r); /* flags */
	ret->path = take_string(r);
	if (ret->size == 0 || ret->start + ret->size < ret->start)
		return -EINVAL;
	return (prot & PROT_EXEC) != 0;
}

/* PERF_RECORD_FORK and _EXIT: pid, ppid, tid, ptid, time. */
static int parse_task(struct reader *r, uint32_t type, struct sideband_record *ret)
{
	ret->type = type == PERF_RECORD_FORK ? SIDEBAND_FORK : SIDEBAND_EXIT;
	ret->pid = take_u32(r);
	ret->parent = take_u32(r);
	ret->tid = take_u32(r);
	take_u32(r);
	take_u64(r);
	return type == PERF_RECORD_EXIT || ret->pid != ret->parent;
}

/* A process without a number in the PID namespace of the reader, or without one any more. */
static bool is_nobody(uint32_t pid)
{
	return pid == 0 || pid == UINT32_MAX;
}

int sideband_parse(const void *bytes, size_t size, struct sideband_record *ret)
{
	struct reader r = { .pos = bytes, .end = (const uint8_t *)bytes + size };
	struct perf_event_header header;
	int keep = 0;

	memset(ret, 0, sizeof(*ret));
	ret->path = "";
	take(&r, &header, sizeof(header));
	/* sample_id_all with PERF_SAMPLE_TIME alone: the last 8 bytes are the time */
	if (r.bad || header.size != size || size < sizeof(header) + 8 || size % 8)
		return -EINVAL;
	memcpy(&ret->time_ns, (const uint8_t *)bytes + size - 8, 8);
	r.end -= 8;

	switch (header.type) {
	case PERF_RECORD_MMAP2:
		keep = parse_map(&r, header.misc, ret);
		break;
	case PERF_RECORD_COMM:
		ret->type = SIDEBAND_EXEC;
		ret->pid = take_u32(&r);
		ret->tid = take_u32(&r);
		keep = (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		keep = parse_task(&r, header.type, ret);
		break;
	case PERF_RECORD_LOST:
		ret->type = SIDEBAND_LOST;
		take_u64(&r);
		ret->nr_lost = take_u64(&r);
		keep = 1;
		break;
	case PERF_RECORD_CGROUP:
		ret->type = SIDEBAND_CGROUP;
		ret->cgroup = take_u64(&r);
		ret->path = take_string(&r);
		keep = 1;
		break;
	default:
		return 0;
	}
	if (ret->type != SIDEBAND_LOST && ret->type != SIDEBAND_CGROUP && is_nobody(ret->pid))
		keep = 0;
	return r.bad ? -EINVAL : keep;
}

/* Open an event as @attr says, with a buffer of @buffer_size bytes. Returns -errno. */
static int open_event(struct perf_event_attr *attr, int cpu, size_t buffer_size,
		      struct sideband_event *ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	attr->size = sizeof(*attr);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->watermark = 1;

	AUTO_FD int fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;

	void *map = mmap(NULL, page + buffer_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return -errno;
	*ret = (struct sideband_event){ TAKE_FD(fd), map, buffer_size };
	return 0;
}

static void close_event(struct sideband_event *event)
{
	if (!event->meta)
		return;
	munmap(event->meta, event->buffer_size + (size_t)sysconf(_SC_PAGESIZE));
	close(event->fd);
}

static int open_alarm(int cpu, struct sideband_event *ret)
{
	struct perf_event_attr attr = { .mmap = 1, .wakeup_watermark = 1 };

	return open_event(&attr, cpu, (size_t)sysconf(_SC_PAGESIZE), ret);
}

static int open_records(int cpu, bool cgroups, struct sideband_event *ret)
{
	struct perf_event_attr attr = {
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.build_id = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.cgroup = cgroups,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int code = 0;

	for (size_t i = 0; i < ARRAY_SIZE(buffer_pages); i++) {
		size_t size = buffer_pages[i] * page;

		attr.wakeup_watermark = (uint32_t)(size / 2);
		code = open_event(&attr, cpu, size, ret);
		if (!code)
			break;
	}
	return code;
}

static int open_cpu(int cpu, bool cgroups, struct sideband_cpu *ret)
{
	int code = open_alarm(cpu, &ret->alarm);

	return code ? code : open_records(cpu, cgroups, &ret->records);
}

int sideband_open(const int *cpus, size_t nr_cpus, bool cgroups, struct sideband **ret,
		  struct fpl_err *err)
{
	struct sideband *sideband = calloc(1, sizeof(*sideband));
	int code = -ENOMEM;

	if (!sideband)
		return fpl_fail(err, code, "side-band: out of memory");
	sideband->record = malloc(UINT16_MAX + 1);
	sideband->cpus = calloc(nr_cpus, sizeof(*sideband->cpus));
	for (size_t i = 0; sideband->cpus && sideband->record && i < nr_cpus; i++) {
		sideband->nr = i + 1;
		code = open_cpu(cpus[i], cgroups, &sideband->cpus[i]);
		if (code == -ENODEV) /* the CPU went offline just now: it runs nothing */
			code = 0;
		if (code)
			break;
	}
	if (code) {
		sideband_close(sideband);
		if (advice_is_refusal(code))
			return advice_fail_events(err, code, "perf side-band");
		return fpl_fail(err, code, "perf side-band: perf_event_open: %s", strerror(-code));
	}
	*ret = sideband;
	return 0;
}

void sideband_close(struct sideband *sideband)
{
	if (!sideband)
		return;
	for (size_t i = 0; i < sideband->nr; i++) {
		close_event(&sideband->cpus[i].records);
		close_event(&sideband->cpus[i].alarm);
	}
	free(sideband->cpus);
	free(sideband->record);
	free(sideband);
}

int sideband_fd(const struct sideband *sideband, size_t idx, enum sideband_fd which)
{
	const struct sideband_cpu *cpu = &sideband->cpus[idx];
	const struct sideband_event *event =
		which == SIDEBAND_FD_ALARM ? &cpu->alarm : &cpu->records;

	return event->meta ? event->fd : -1;
}

static uint64_t head_of(const struct sideband_event *event)
{
	return __atomic_load_n(&event->meta->data_head, __ATOMIC_ACQUIRE);
}

/* Give the alarm's buffer room for @size bytes. */
static void set_room(struct sideband_event *alarm, uint64_t size)
{
	if (alarm->meta) /* the kernel leaves the last byte free */
		__atomic_store_n(&alarm->meta->data_tail, head_of(alarm) + 1 + size,
				 __ATOMIC_SEQ_CST);
}

bool sideband_arm(struct sideband *sideband)
{
	bool is_empty = true;

	for (size_t i = 0; i < sideband->nr; i++)
		set_room(&sideband->cpus[i].alarm, ALARM_BYTES);
	for (size_t i = 0; i < sideband->nr; i++) {
		const struct sideband_event *records = &sideband->cpus[i].records;

		if (records->meta && head_of(records) != records->meta->data_tail)
			is_empty = false;
	}
	return is_empty;
}

void sideband_disarm(struct sideband *sideband)
{
	for (size_t i = 0; i < sideband->nr; i++)
		set_room(&sideband->cpus[i].alarm, 0);
}

/* Copies @size bytes from position @at of the circular buffer. */
static void copy_out(const struct sideband_event *from, uint64_t at, void *to, size_t size)
{
	const uint8_t *buffer = (const uint8_t *)from->meta + from->meta->data_offset;
	size_t off = (size_t)(at % from->buffer_size);
	size_t first = from->buffer_size - off < size ? from->buffer_size - off : size;

	memcpy(to, buffer + off, first);
	memcpy((uint8_t *)to + first, buffer, size - first);
}

static size_t drain_event(struct sideband *sideband, struct sideband_event *from,
			  void (*fn)(const struct sideband_record *record, void *ctx), void *ctx)
{
	uint64_t head = head_of(from), tail = from->meta->data_tail;
	size_t nr_bad = 0;

	while (tail < head) {
		struct perf_event_header header;
		struct sideband_record record;

		copy_out(from, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail) {
			nr_bad++; /* no way to find the next record */
			tail = head;
			break;
		}
		copy_out(from, tail, sideband->record, header.size);
		tail += header.size;

		int keep = sideband_parse(sideband->record, header.size, &record);

		if (keep < 0)
			nr_bad++;
		else if (keep)
			fn(&record, ctx);
	}
	__atomic_store_n(&from->meta->data_tail, tail, __ATOMIC_RELEASE);
	return nr_bad;
}

size_t sideband_drain(struct sideband *sideband,
		      void (*fn)(const struct sideband_record *record, void *ctx), void *ctx)
{
	size_t nr_bad = 0;

	for (size_t i = 0; i < sideband->nr; i++) {
		if (sideband->cpus[i].records.meta)
			nr_bad += drain_event(sideband, &sideband->cpus[i].records, fn, ctx);
	}
	return nr_bad;
}
