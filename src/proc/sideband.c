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

struct sideband_cpu {
	int fd;
	struct perf_event_mmap_page *meta; /* mapped: meta page, then the buffer */
	size_t buffer_size;
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

static int open_cpu(int cpu, bool cgroups, struct sideband_cpu *ret)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
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
		/* Each record wakes the reader, which paces itself: until it has read of a new
		 * mapping, code there is walked by the previous mapping. */
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int code = 0;

	for (size_t i = 0; i < ARRAY_SIZE(buffer_pages); i++) {
		size_t size = buffer_pages[i] * page;

		AUTO_FD int fd =
			(int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0)
			return -errno;

		void *map = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		code = map == MAP_FAILED ? -errno : 0;
		if (!code) {
			ret->meta = map;
			ret->buffer_size = size;
			ret->fd = TAKE_FD(fd);
			return 0;
		}
	}
	return code;
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
		code = open_cpu(cpus[i], cgroups, &sideband->cpus[i]);
		if (code == -ENODEV) { /* the CPU went offline just now: it runs nothing */
			sideband->cpus[i].fd = -1;
			code = 0;
		}
		if (code)
			break;
		sideband->nr = i + 1;
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
		struct sideband_cpu *cpu = &sideband->cpus[i];

		if (cpu->meta)
			munmap(cpu->meta, cpu->buffer_size + (size_t)sysconf(_SC_PAGESIZE));
		if (cpu->fd >= 0)
			close(cpu->fd);
	}
	free(sideband->cpus);
	free(sideband->record);
	free(sideband);
}

int sideband_fd(const struct sideband *sideband, size_t idx)
{
	return sideband->cpus[idx].fd;
}

/* Copies @size bytes from position @at of the circular buffer. */
static void copy_out(const struct sideband_cpu *cpu, uint64_t at, void *to, size_t size)
{
	const uint8_t *buffer = (const uint8_t *)cpu->meta + cpu->meta->data_offset;
	size_t off = (size_t)(at % cpu->buffer_size);
	size_t first = cpu->buffer_size - off < size ? cpu->buffer_size - off : size;

	memcpy(to, buffer + off, first);
	memcpy((uint8_t *)to + first, buffer, size - first);
}

static size_t drain_cpu(struct sideband *sideband, struct sideband_cpu *cpu,
			void (*fn)(const struct sideband_record *record, void *ctx), void *ctx)
{
	uint64_t head = __atomic_load_n(&cpu->meta->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = cpu->meta->data_tail;
	size_t nr_bad = 0;

	while (tail < head) {
		struct perf_event_header header;
		struct sideband_record record;

		copy_out(cpu, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail) {
			nr_bad++; /* no way to find the next record */
			tail = head;
			break;
		}
		copy_out(cpu, tail, sideband->record, header.size);
		tail += header.size;

		int keep = sideband_parse(sideband->record, header.size, &record);

		if (keep < 0)
			nr_bad++;
		else if (keep)
			fn(&record, ctx);
	}
	__atomic_store_n(&cpu->meta->data_tail, tail, __ATOMIC_RELEASE);
	return nr_bad;
}

size_t sideband_drain(struct sideband *sideband,
		      void (*fn)(const struct sideband_record *record, void *ctx), void *ctx)
{
	size_t nr_bad = 0;

	for (size_t i = 0; i < sideband->nr; i++) {
		if (sideband->cpus[i].meta)
			nr_bad += drain_cpu(sideband, &sideband->cpus[i], fn, ctx);
	}
	return nr_bad;
}
