/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/jitdump.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbolize/file_window.h"

#define MAGIC	      0x4a695444u /* "JiTD" as a number of this byte order */
#define MAGIC_SWAPPED 0x4454694au
#define VERSION	      1u
#define ARCH_TIME     1u /* flag of the header: times are of a clock of the machine */

enum { RECORD_LOAD, RECORD_MOVE, RECORD_DEBUG_INFO, RECORD_CLOSE, RECORD_UNWINDING_INFO };

/* Moves look their function up one by one: enough for 1,000 moves among 65,536 functions. No JIT
 * that is known writes moves. */
#define MOVE_STEPS_MAX (1ull << 26)

struct header {
	uint32_t magic, version, total_size, elf_machine, pad, pid;
	uint64_t time_ns, flags;
};
_Static_assert(sizeof(struct header) == 40, "jitdump header");

struct record {
	uint32_t id, total_size;
	uint64_t time_ns;
};
_Static_assert(sizeof(struct record) == 16, "jitdump record");

struct load {
	struct record record;
	uint32_t pid, tid;
	uint64_t vma, code_addr, code_size, code_index;
	/* then the name, its NUL, and the code */
};
_Static_assert(sizeof(struct load) == 56, "jitdump load record");

struct move {
	struct record record;
	uint32_t pid, tid;
	uint64_t vma, old_addr, new_addr, code_size, code_index;
};
_Static_assert(sizeof(struct move) == 64, "jitdump move record");

struct reading {
	struct file_window window;
	uint32_t pid;
	bool has_time;
	uint64_t steps; /* that may still be taken for moves */
	struct code_table *table;
	struct code_file_result *result;
};

static void cleanup_reading(struct reading *reading)
{
	file_window_fini(&reading->window);
}

/* Copies @size bytes at @off; returns 1, 0 where the file has fewer, or a negative errno. */
static int take(struct reading *reading, uint64_t off, void *to, size_t size)
{
	const uint8_t *bytes;
	long nr = file_window_at(&reading->window, off, size, &bytes);

	if (nr < (long)size)
		return nr < 0 ? (int)nr : 0;
	memcpy(to, bytes, size);
	return 1;
}

/* The record at @off makes no sense by itself, but the next one can be found. */
static int leave_out(struct reading *reading, uint64_t off, enum code_fault fault)
{
	if (!reading->result->nr_bad++) {
		reading->result->bad_off = off;
		reading->result->fault = fault;
	}
	return 1;
}

static int add(struct reading *reading, uint64_t off, uint64_t start, uint64_t size,
	       uint64_t time_ns, const char *name, size_t name_size)
{
	int code = code_table_add(reading->table, start, size, reading->has_time ? time_ns : 0,
				  name, name_size);

	if (code == -EINVAL)
		return leave_out(reading, off,
				 size ? CODE_FAULT_CODE_BEYOND : CODE_FAULT_CODE_NO_SIZE);
	if (code == -ENOSPC) {
		reading->result->end = CODE_FILE_NO_ROOM;
		return 0;
	}
	return code ? code : 1;
}

/* The functions that take a record return 1 to go on, 0 to end, or a negative errno. */

static int take_load(struct reading *reading, uint64_t off, const struct record *record)
{
	char name[CODE_NAME_MAX];
	const uint8_t *bytes;
	struct load load;
	int code = take(reading, off, &load, sizeof(load));

	if (code <= 0)
		return code;
	if (record->total_size <= sizeof(load))
		return leave_out(reading, off, CODE_FAULT_NAMELESS);
	if (load.pid != reading->pid)
		return leave_out(reading, off, CODE_FAULT_OTHER_PID);

	size_t room = record->total_size - sizeof(load);

	if (room > CODE_NAME_MAX)
		room = CODE_NAME_MAX;

	long nr = file_window_at(&reading->window, off + sizeof(load), room, &bytes);

	/* The code may be missing in a record that is being written; it is not read. */
	if (nr < 0 || (nr < (long)room && !memchr(bytes, '\0', (size_t)nr)))
		return nr < 0 ? (int)nr : 0;
	room = (size_t)nr;

	size_t length = strnlen((const char *)bytes, room);

	if (length == room && room < CODE_NAME_MAX)
		return leave_out(reading, off, CODE_FAULT_ENDLESS_NAME);
	if (length == 0)
		return leave_out(reading, off, CODE_FAULT_NO_NAME);
	memcpy(name, bytes, length);

	size_t before = reading->table->nr;

	code = add(reading, off, load.code_addr, load.code_size, record->time_ns, name, length);
	reading->result->nr_entries += reading->table->nr - before;
	return code;
}

static int take_move(struct reading *reading, uint64_t off, const struct record *record)
{
	char name[CODE_NAME_MAX];
	struct move move;
	int code = take(reading, off, &move, sizeof(move));

	if (code <= 0)
		return code;
	if (record->total_size < sizeof(move))
		return leave_out(reading, off, CODE_FAULT_MOVE_CUT);
	if (move.pid != reading->pid)
		return leave_out(reading, off, CODE_FAULT_OTHER_PID);

	const char *known = code_table_last_at(reading->table, move.old_addr, &reading->steps);

	if (!known)
		return leave_out(reading, off, CODE_FAULT_MOVE_UNKNOWN);

	size_t length = strlen(known);

	memcpy(name, known, length); /* the table's memory moves when it grows */
	code = add(reading, off, move.old_addr, move.code_size, record->time_ns, NULL, 0);
	if (code > 0)
		code = add(reading, off, move.new_addr, move.code_size, record->time_ns, name,
			   length);
	return code;
}

static int take_record(struct reading *reading, uint64_t off, const struct record *record)
{
	switch (record->id) {
	case RECORD_LOAD:
		return take_load(reading, off, record);
	case RECORD_MOVE:
		return take_move(reading, off, record);
	case RECORD_DEBUG_INFO:
	case RECORD_UNWINDING_INFO:
		return 1;
	case RECORD_CLOSE:
		return 0;
	default:
		return leave_out(reading, off, CODE_FAULT_UNKNOWN_KIND);
	}
}

static int read_records(struct reading *reading, uint64_t off)
{
	struct code_file_result *result = reading->result;
	struct record record;
	int code;

	for (;; off += record.total_size) {
		result->end_off = off;
		code = take(reading, off, &record, sizeof(record));
		if (code <= 0)
			return code;
		if (record.total_size < sizeof(record)) {
			result->end = CODE_FILE_BROKEN;
			result->bad_off = off;
			result->fault = CODE_FAULT_SHORT_RECORD;
			return 0;
		}
		code = take_record(reading, off, &record);
		if (code <= 0)
			return code;
	}
}

static int read_header(struct reading *reading, struct header *ret, struct fpl_err *err)
{
	int code = take(reading, 0, ret, sizeof(*ret));

	if (code < 0)
		return fpl_fail(err, code, "%s", strerror(-code));
	if (code == 0)
		return fpl_fail(err, -EINVAL, "offset 0: shorter than the header of a jitdump");
	if (ret->magic == MAGIC_SWAPPED)
		return fpl_fail(err, -EINVAL, "offset 0: of a machine of the other byte order");
	if (ret->magic != MAGIC)
		return fpl_fail(err, -EINVAL, "offset 0: not a jitdump");
	if (ret->version != VERSION)
		return fpl_fail(err, -EINVAL, "offset 4: version %" PRIu32 ", known is %u",
				ret->version, VERSION);
	if (ret->total_size < sizeof(*ret))
		return fpl_fail(err, -EINVAL, "offset 8: a header of %" PRIu32 " bytes, wanted %zu",
				ret->total_size, sizeof(*ret));
	if (ret->elf_machine != EM_X86_64)
		return fpl_fail(err, -EINVAL,
				"offset 12: for another architecture (ELF machine %" PRIu32 ")",
				ret->elf_machine);
	if (reading->pid && ret->pid != reading->pid)
		return fpl_fail(err, -EINVAL, "offset 20: of process %" PRIu32 ", not %" PRIu32,
				ret->pid, reading->pid);
	return 0;
}

int jitdump_read(int fd, uint64_t read_max, uint32_t pid, struct code_table *table,
		 struct code_file_result *ret, struct fpl_err *err)
{
	CLEANUP(cleanup_reading)
	struct reading reading = {
		.pid = pid, .steps = MOVE_STEPS_MAX, .table = table, .result = ret
	};
	struct header header;

	*ret = (struct code_file_result){ .end = CODE_FILE_WHOLE };

	int code = file_window_init(&reading.window, fd, read_max);

	if (code)
		return fpl_fail(err, code, "out of memory");
	code = read_header(&reading, &header, err);
	if (code)
		return code;
	reading.pid = header.pid;
	reading.has_time = !(header.flags & ARCH_TIME);
	code = read_records(&reading, header.total_size);
	if (code)
		return fpl_fail(err, code, "offset %" PRIu64 ": %s", ret->end_off, strerror(-code));
	if (ret->end == CODE_FILE_WHOLE && !reading.window.budget)
		ret->end = CODE_FILE_TOO_LONG;
	return 0;
}
