/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/process_report.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/vector.h"
#include "obj/file_stat.h"
#include "proc/advice.h"
#include "proc/code_place.h"
#include "proc/mapped_file.h"
#include "proc/pidfd.h"
#include "proc/proc_files.h"
#include "proc/proc_maps.h"
#include "proc/vdso.h"
#include "profile/jvm.h"

/* A file that was met. */
struct seen {
	uint64_t dev, inode; /* as maps shows them */
	char *path;	     /* owned */
};

/* The reading of one maps file. */
struct reading {
	struct process_report *report;
	struct parse_client *client; /* borrowed */
	VECTOR(struct seen) seen;
};

static void cleanup_reading(struct reading *reading)
{
	for (size_t i = 0; i < reading->seen.nr; i++)
		free(reading->seen.list[i].path);
	vector_fini(&reading->seen);
}

void process_report_fini(struct process_report *report)
{
	for (size_t i = 0; i < report->nr; i++)
		object_report_fini(&report->objects[i]);
	for (size_t i = 0; i < report->nr_refused; i++)
		free(report->refused[i].path);
	free(report->objects);
	free(report->refused);
	*report = (struct process_report){ .pid = 0 };
}

static void add_refused(struct reading *reading, const char *path, const struct fpl_err *why)
{
	struct process_report *report = reading->report;
	struct refused_object *refused;

	alloc_check(array_reserve(&report->refused, sizeof(*refused), &report->room_refused,
				  report->nr_refused + 1));
	refused = &report->refused[report->nr_refused++];
	refused->path = must_strdup(path);
	memcpy(refused->why, why->msg, sizeof(refused->why));
}

/* Has the file open as @fd examined. */
static void add_object(struct reading *reading, int fd, const char *path, bool deleted)
{
	struct process_report *report = reading->report;
	struct fpl_err err = { 0 };

	alloc_check(array_reserve(&report->objects, sizeof(*report->objects), &report->room,
				  report->nr + 1));
	if (object_report_make(reading->client, fd, path, &report->objects[report->nr], &err)) {
		report->nr_deleted_refused += deleted;
		add_refused(reading, path, &err);
		return;
	}
	report->objects[report->nr++].deleted = deleted;
}

/* The image the kernel maps into every process, read from this one. */
static void take_vdso(struct reading *reading, const struct proc_map *map)
{
	AUTO_FD int fd = -1;
	struct fpl_err err = { 0 };

	if (vdso_open(&fd, &err))
		add_refused(reading, map->path, &err);
	else
		add_object(reading, fd, map->path, false);
}

/* Is the file met for the first time? It is remembered then. */
static bool is_first_sight(struct reading *reading, const struct proc_map *map)
{
	uint64_t dev = (uint64_t)map->dev_major << 32 | map->dev_minor;

	for (size_t i = 0; i < reading->seen.nr; i++) {
		const struct seen *seen = &reading->seen.list[i];

		if (seen->dev == dev && seen->inode == map->inode && !strcmp(seen->path, map->path))
			return false;
	}
	must_push(&reading->seen, { dev, map->inode, must_strdup(map->path) });
	return true;
}

static void take_file(struct reading *reading, const struct proc_map *map)
{
	struct process_report *report = reading->report;
	struct mapped_file file = { .fd = -1 };
	struct fpl_err err = { 0 };
	int code;

	if (report->nr + report->nr_refused >= PROCESS_REPORT_OBJECTS_MAX) {
		report->nr_beyond++;
		return;
	}
	if (!is_first_sight(reading, map))
		return;
	report->nr_deleted += map->deleted;
	code = mapped_file_open(client_opener(reading->client), report->pid, map->start, map->end,
				map->path, &file, &err);
	if (!code && map->deleted && file.source != MAPPED_FILE_EXACT)
		code = fpl_fail(
			&err, -ESTALE,
			"pid %d: %s: deleted or replaced, and /proc/%d/map_files is closed without CAP_CHECKPOINT_RESTORE",
			(int)report->pid, map->path, (int)report->pid);
	if (!code) {
		add_object(reading, file.fd, map->path, map->deleted);
	} else {
		report->nr_deleted_refused += map->deleted;
		add_refused(reading, map->path, &err);
	}
	cleanup_fd(&file.fd);
}

static bool has_name(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return slash && !strcmp(slash + 1, name);
}

/* proc_maps_fn */
static int take_map(const struct proc_map *map, void *ctx)
{
	struct reading *reading = ctx;
	struct process_report *report = reading->report;

	if (!map->file_off && has_name(map->path, "libjvm.so"))
		report->jvm_base = map->start;
	if (!map->file_off && has_name(map->path, "beam.smp"))
		report->beam_base = map->start;
	if (!map->executable || strcmp(map->path, "[vsyscall]") == 0)
		return 0;
	if (strcmp(map->path, "[vdso]") == 0) {
		take_vdso(reading, map);
	} else if (map->inode && map->path[0] == '/') {
		take_file(reading, map);
	} else {
		report->jit_bytes += map->end - map->start;
		report->nr_jit++;
	}
	return 0;
}

static void read_comm(struct process_report *report)
{
	AUTO_FD int fd = proc_file_open(report->pid, "comm", O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, report->comm, sizeof(report->comm) - 1);

	if (n < 0)
		n = 0;
	report->comm[n] = '\0';
	report->comm[strcspn(report->comm, "\n")] = '\0';
}

/* The ELF class of the running program; a file on a file system served by a process is not opened.
 */
static bool is_32bit(struct opener *opener, pid_t pid)
{
	unsigned char ident[EI_NIDENT] = { 0 };
	AUTO_FD int place = proc_file_open(pid, "exe", O_PATH);
	AUTO_FD int fd = -1;
	struct stat st;

	return place >= 0 && !opener_take(opener, pid, place, &fd, &st) &&
	       read(fd, ident, sizeof(ident)) == (ssize_t)sizeof(ident) &&
	       memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS32;
}

/* Is @pid's namespace @name different from ours? An unreadable one counts as ours. */
static bool is_other_ns(pid_t pid, const char *name)
{
	char file[16];
	struct stat theirs, ours;

	snprintf(file, sizeof(file), "ns/%s", name);

	AUTO_FD int fd = proc_file_open(pid, file, O_PATH);
	AUTO_FD int own_fd = proc_file_open(getpid(), file, O_PATH);

	return fd >= 0 && own_fd >= 0 && !file_stat(fd, &theirs, NULL) &&
	       !file_stat(own_fd, &ours, NULL) && theirs.st_ino != ours.st_ino;
}

/* Does a file exist that describes the process's code and that a profile would read? */
static bool names_code(struct opener *opener, pid_t pid)
{
	AUTO_FD int map_fd = -1;
	AUTO_FD int dump_fd = -1;
	struct code_place place;

	if (code_place_open(opener, pid, 0, &place, NULL))
		return false;

	bool found = !code_place_open_map(&place, &map_fd, NULL) ||
		     !code_place_open_dump(&place, &dump_fd, NULL);

	code_place_close(&place);
	return found;
}

/* Asks the JVM in the process, if there is one, how its code is walked. */
static void describe_jvm(struct process_report *report, struct parse_client *client)
{
	struct hotspot hotspot;
	struct fpl_err err = { 0 };

	if (!report->jvm_base)
		return;
	report->has_jvm =
		!jvm_describe(client, (uint32_t)report->pid, report->jvm_base, &hotspot, &err);
	if (report->has_jvm)
		snprintf(report->jvm, sizeof(report->jvm), "%s", hotspot.version);
	else
		snprintf(report->jit_why, sizeof(report->jit_why), "%.255s", err.msg);
}

/* The same of Erlang. */
static void describe_beam(struct process_report *report, struct parse_client *client)
{
	const struct made_question asked = { .base = report->beam_base };
	struct made_code made;
	struct fpl_err err = { 0 };

	if (!report->beam_base)
		return;
	report->has_beam = !jvm_made(client, (uint32_t)report->pid, &asked, &made, &err);
	if (!report->has_beam)
		snprintf(report->jit_why, sizeof(report->jit_why), "%.255s", err.msg);
}

int process_report_make(pid_t pid, struct parse_client *client, struct process_report *ret,
			struct fpl_err *err)
{
	CLEANUP(cleanup_reading) struct reading reading = { .report = ret, .client = client };
	AUTO_FD int fd = -1;
	int code;

	*ret = (struct process_report){ .pid = pid };
	code = pidfd_of(pid, &fd, err);
	if (code)
		return code;
	read_comm(ret);
	ret->is_32bit = is_32bit(client_opener(client), pid);
	ret->other_pid_ns = is_other_ns(pid, "pid");
	ret->other_mnt_ns = is_other_ns(pid, "mnt");
	ret->names_code = names_code(client_opener(client), pid);
	code = proc_maps_read(pid, take_map, &reading, err);
	if (code == -ENOMEM)
		return fpl_fail(err, code, "pid %d: out of memory", (int)pid);
	if (code == -ENODATA)
		return fpl_fail(
			err, code,
			"pid %d: no user code: a kernel thread, or a process that has ended",
			(int)pid);
	if (advice_is_refusal(code))
		return advice_fail_process(err, code, pid);
	if (!code) {
		describe_jvm(ret, client);
		describe_beam(ret, client);
	}
	return code;
}
