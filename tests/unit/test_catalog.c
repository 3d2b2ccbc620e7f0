/* SPDX-License-Identifier: Apache-2.0 */
/* The objects behind this process's own mappings, read by a real worker. */
#include "cmocka_all.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "proc/proc_maps.h"
#include "profile/catalog.h"
#include "profile/object.h"
#include "profile/share.h"
#include "unwind/table.h"
#include "tests/support/elf_builder.h"
#include "tests/support/skip_test.h"
#include "tests/support/elf_path.h"

#define FILES_MAX 3u

/* The executable mappings of the first few files. */
struct files {
	struct file_hint hints[FILES_MAX];
	char paths[FILES_MAX][256];
	size_t nr;
};

static int take_map(const struct proc_map *map, void *ctx)
{
	struct files *files = ctx;

	if (!map->executable || map->path[0] != '/' || files->nr == FILES_MAX)
		return 0;
	snprintf(files->paths[files->nr], sizeof(files->paths[0]), "%s", map->path);
	files->hints[files->nr] = (struct file_hint){
		.pid = getpid(),
		.start = map->start,
		.end = map->end,
		.path = files->paths[files->nr],
		.dev_major = map->dev_major,
		.dev_minor = map->dev_minor,
		.inode = map->inode,
	};
	files->nr++;
	return 0;
}

struct world {
	struct parser *parser;
	struct files files;
};

static int make_world(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	*state = world;
	return !world || parser_create(PARSER_FORK, &world->parser, NULL) ||
	       proc_maps_read(getpid(), take_map, &world->files, NULL) ||
	       world->files.nr < FILES_MAX;
}

static int drop_world(void **state)
{
	struct world *world = *state;

	parser_destroy(world->parser);
	free(world);
	return 0;
}

static void a_file_is_one_object_however_often_it_is_met(void **state)
{
	struct world *world = *state;
	struct catalog *catalog;
	struct object *first, *second;

	assert_int_equal(catalog_create(16, world->parser, &catalog, NULL), 0);
	first = catalog_object(catalog, &world->files.hints[0]);
	second = catalog_object(catalog, &world->files.hints[1]);
	assert_non_null(first);
	assert_non_null(second);
	assert_ptr_equal(catalog_object(catalog, &world->files.hints[0]), first);
	assert_int_equal(first->id, 1);
	assert_int_equal(second->id, 2);
	assert_int_not_equal(first->slot, second->slot);
	assert_int_equal(catalog_nr(catalog), 2);
	catalog_destroy(catalog);
}

static void files_beyond_the_slots_are_counted_once_and_have_no_object(void **state)
{
	struct world *world = *state;
	struct catalog *catalog;

	assert_int_equal(catalog_create(2, world->parser, &catalog, NULL), 0);
	assert_non_null(catalog_object(catalog, &world->files.hints[0]));
	for (int i = 0; i < 2; i++) {
		assert_null(catalog_object(catalog, &world->files.hints[1]));
		assert_null(catalog_object(catalog, &world->files.hints[2]));
	}
	assert_int_equal(catalog_nr(catalog), 1);
	assert_int_equal(finder_nr_beyond(catalog_finder(catalog)), 2);
	assert_int_equal(
		finder_refused(catalog_finder(catalog), PROFILE_LIMIT_OBJECTS)->owners[0].used, 2);
	assert_non_null(catalog_object(catalog, &world->files.hints[0]));
	catalog_destroy(catalog);
}

/* Runs a process that does nothing, and returns the number it had. */
static pid_t gone_pid(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void copy_file(const char *from, const char *to)
{
	AUTO_FD int in = open(from, O_RDONLY | O_CLOEXEC);
	AUTO_FD int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	char bytes[65536];
	ssize_t nr;

	assert_true(in >= 0 && out >= 0);
	while ((nr = io_read(in, bytes, sizeof(bytes))) > 0)
		assert_int_equal(io_write(out, bytes, (size_t)nr), 0);
	assert_int_equal(nr, 0);
}

/* Puts a copy of @from at @path, @owner's, that differs from others in its CFI and not in its
 * build-id. */
static void put_twin(const char *from, const char *path, uid_t owner, char nr)
{
	char copy[300];
	struct elf_file *elf = NULL;

	snprintf(copy, sizeof(copy), "%s.new", path);
	copy_file(from, copy);
	assert_int_equal(elf_file_open_path(copy, &elf, NULL), 0);

	const struct elf_section *section = elf_file_section(elf, ".eh_frame");
	AUTO_FD int fd = open(copy, O_WRONLY | O_CLOEXEC);

	assert_non_null(section);
	/* before the word of zeros at the end */
	assert_int_equal(pwrite(fd, &nr, 1, (off_t)(section->off + section->size - 5)), 1);
	assert_int_equal(fchown(fd, owner, owner), 0);
	assert_int_equal(rename(copy, path), 0);
	elf_file_close(elf);
}

/* The kernel's record of a mapping of the file at @path. */
static struct file_hint map_file(const char *path)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	struct stat st;

	assert_true(map != MAP_FAILED);
	assert_int_equal(fstat(fd, &st), 0);
	return (struct file_hint){
		.pid = getpid(),
		.start = (uintptr_t)map,
		.end = (uintptr_t)map + 4096,
		.path = path,
		.dev_major = major(st.st_dev),
		.dev_minor = minor(st.st_dev),
		.inode = st.st_ino,
	};
}

static void say_build_id(struct file_hint *hint, const struct object *of)
{
	hint->build_id = of->elf->build_id;
	hint->build_id_size = of->elf->build_id_size;
}

/* Does an object of the file say all that names need of its headers? */
static bool is_plain(const struct world *world, const char *path)
{
	struct catalog *catalog;
	struct file_hint hint = map_file(path);
	struct object *object;
	struct met_file file;
	bool is;

	assert_int_equal(catalog_create(16, world->parser, &catalog, NULL), 0);
	object = catalog_object(catalog, &hint);
	assert_non_null(object);
	file = object_file(object);
	is = file.plain.machine != EM_NONE;
	assert_int_equal(file.plain.machine, is ? object->elf->machine : EM_NONE);
	assert_int_equal(file.plain.build_id_size, is ? object->elf->build_id_size : 0);
	assert_memory_equal(file.plain.build_id, object->elf->build_id, file.plain.build_id_size);
	catalog_destroy(catalog);
	munmap((void *)(uintptr_t)hint.start, 4096);
	return is;
}

static void files_without_debugging_information_are_met_with_their_headers(void **state)
{
	assert_true(is_plain(*state, FIXTURES "/chain"));
	assert_false(is_plain(*state, FIXTURES "/chain_split")); /* it names a debug file */
	assert_false(is_plain(*state, FIXTURES "/inlined_gcc5"));
}

/* Does the table of a copy of the fixture come with its object? @is_new: it was copied since tables
 * are made. */
static bool has_table(const struct world *world, const char *fixture, bool is_new)
{
	char folder[] = "/tmp/test_catalog.XXXXXX", path[64];
	struct table *table = NULL;
	struct catalog *catalog;
	struct file_hint hint;
	struct object *object;
	bool has;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/copy", folder);
	assert_int_equal(catalog_create(16, world->parser, &catalog, NULL), 0);
	if (!is_new) {
		copy_file(fixture, path);
		/* times of files are those of the last tick */
		nanosleep(&(struct timespec){ .tv_nsec = 20 * (long)NS_PER_MS }, NULL);
	}
	finder_make_tables(catalog_finder(catalog), true);
	nanosleep(&(struct timespec){ .tv_nsec = 20 * (long)NS_PER_MS }, NULL);
	if (is_new)
		copy_file(fixture, path);
	hint = map_file(path);
	hint.table = &table;
	object = catalog_object(catalog, &hint);
	assert_non_null(object);
	has = table != NULL;
	table_destroy(TAKE_PTR(table));
	assert_ptr_equal(catalog_object(catalog, &hint), object);
	assert_null(table);
	catalog_destroy(catalog);
	munmap((void *)(uintptr_t)hint.start, 4096);
	unlink(path);
	rmdir(folder);
	return has;
}

static void the_table_of_a_small_new_file_comes_with_it(void **state)
{
	assert_true(has_table(*state, FIXTURES "/chain", true));
	assert_false(has_table(*state, FIXTURES "/chain", false));
	assert_false(has_table(*state, FIXTURES "/chain_static", true)); /* it is large */
	assert_false(has_table(*state, FIXTURES "/chain_split", true));	 /* it is stripped */
}

static void a_file_met_before_is_found_without_its_process(void **state)
{
	static const uint8_t other[20] = { 1 };
	struct world *world = *state;
	struct file_hint hint = world->files.hints[1];
	struct catalog *catalog;
	struct object *object;

	assert_int_equal(catalog_create(16, world->parser, &catalog, NULL), 0);
	object = catalog_object(catalog, &hint);
	assert_non_null(object);
	hint.pid = gone_pid();
	say_build_id(&hint, object);
	assert_ptr_equal(catalog_object(catalog, &hint), object);
	hint.build_id = other;
	hint.build_id_size = sizeof(other);
	assert_null(catalog_object(catalog, &hint));
	catalog_destroy(catalog);
}

/* A user can forge the build-id of his own files: it counts for nothing where the kernel knows
 * better. */
static void path_alone_does_not_identify_untrusted_files(void **state)
{
	struct world *world = *state;
	const char *from = world->files.paths[1];
	char folder[] = "/tmp/test_catalog.XXXXXX", path[64], aside[64];
	struct catalog *catalog;

	need_root();
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/library", folder);
	snprintf(aside, sizeof(aside), "%s/aside", folder);
	assert_int_equal(catalog_create(16, world->parser, &catalog, NULL), 0);
	put_twin(from, path, 1234, 1);

	struct file_hint first = map_file(path);
	struct object *was = catalog_object(catalog, &first);

	assert_int_equal(rename(path, aside), 0);
	put_twin(from, path, 1234, 2);

	struct file_hint second = map_file(path);
	struct object *is = catalog_object(catalog, &second);

	assert_non_null(was);
	assert_non_null(is);
	assert_ptr_not_equal(was, is);
	assert_int_equal(was->elf->build_id_size, is->elf->build_id_size);
	assert_memory_equal(was->elf->build_id, is->elf->build_id, is->elf->build_id_size);
	say_build_id(&first, was);
	say_build_id(&second, is);
	assert_ptr_equal(catalog_object(catalog, &first), was);
	assert_ptr_equal(catalog_object(catalog, &second), is);
	first.pid = gone_pid(); /* then there is nothing else to go by */
	assert_ptr_equal(catalog_object(catalog, &first), is);
	catalog_destroy(catalog);
	munmap((void *)(uintptr_t)first.start, 4096);
	munmap((void *)(uintptr_t)second.start, 4096);
	unlink(path);
	unlink(aside);
	rmdir(folder);
}

/*
 * Which of two files with one build-id a new mapping of the first is taken for, when the second has
 * taken its path: true for the one that is mapped, false for the one that stands there.
 */
static bool meets_what_is_mapped(const struct world *world, uid_t owner)
{
	const char *from = world->files.paths[1];
	char folder[] = "/tmp/test_catalog.XXXXXX", path[64], aside[64];
	struct catalog *catalog;
	struct elf_file *elf = NULL;
	struct stat mapped;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/library", folder);
	snprintf(aside, sizeof(aside), "%s/aside", folder);
	assert_int_equal(catalog_create(16, world->parser, &catalog, NULL), 0);
	assert_int_equal(elf_file_open_path(from, &elf, NULL), 0);
	put_twin(from, path, owner, 1);

	struct file_hint hint = map_file(path);
	struct object *object;
	bool is_mapped;

	hint.build_id = elf->build_id;
	hint.build_id_size = elf->build_id_size;
	assert_int_equal(rename(path, aside), 0);
	assert_int_equal(stat(aside, &mapped), 0);
	put_twin(from, path, owner, 2);
	object = catalog_object(catalog, &hint);
	assert_non_null(object);
	is_mapped = object->stamp.inode == mapped.st_ino;
	catalog_destroy(catalog);
	elf_file_close(elf);
	munmap((void *)(uintptr_t)hint.start, 4096);
	unlink(path);
	unlink(aside);
	rmdir(folder);
	return is_mapped;
}

static void a_new_file_is_met_by_its_path_where_its_owner_is_trusted(void **state)
{
	need_root();
	assert_true(meets_what_is_mapped(*state, 1234));
	assert_false(meets_what_is_mapped(*state, 0));
}

/* As in another root: library 2 is mapped, and library 1 stands at its path here. */
static void a_file_that_stands_in_place_of_the_mapped_one_is_told_from_it_each_time(void **state)
{
	struct world *world = *state;
	struct file_hint mapped = world->files.hints[2], here = world->files.hints[1];
	struct elf_file *elf_mapped = NULL, *elf_here = NULL;
	struct catalog *catalog;
	struct stat stat_mapped;

	assert_int_equal(catalog_create(16, world->parser, &catalog, NULL), 0);
	assert_int_equal(elf_file_open_path(mapped.path, &elf_mapped, NULL), 0);
	assert_int_equal(elf_file_open_path(here.path, &elf_here, NULL), 0);
	assert_int_equal(stat(mapped.path, &stat_mapped), 0);
	mapped.path = here.path;
	mapped.build_id = elf_mapped->build_id;
	mapped.build_id_size = elf_mapped->build_id_size;
	here.build_id = elf_here->build_id;
	here.build_id_size = elf_here->build_id_size;
	for (int i = 0; i < 2; i++) {
		/* read for the first mapping of each round, and not met; then met */
		struct object *first = catalog_object(catalog, &mapped), *other;

		assert_non_null(first);
		assert_int_equal(first->stamp.inode, stat_mapped.st_ino);
		assert_ptr_equal(catalog_object(catalog, &mapped), first);
		other = catalog_object(catalog, &here);
		assert_non_null(other);
		assert_ptr_not_equal(other, first);
	}
	catalog_destroy(catalog);
	elf_file_close(elf_mapped);
	elf_file_close(elf_here);
}

/* A build-id and a path are easily forged; both files are gone when the question comes. */
static void a_forged_file_met_first_does_not_speak_for_roots(void **state)
{
	struct world *world = *state;
	const char *from = world->files.paths[1];
	char folder[] = "/tmp/test_catalog.XXXXXX", path[64];
	struct catalog *catalog;

	need_root();
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/library", folder);
	assert_int_equal(catalog_create(16, world->parser, &catalog, NULL), 0);
	put_twin(from, path, 1234, 1);

	struct file_hint hers = map_file(path);
	struct object *forged = catalog_object(catalog, &hers);

	put_twin(from, path, 0, 2);

	struct file_hint roots = map_file(path);
	struct object *true_one = catalog_object(catalog, &roots);

	assert_non_null(forged);
	assert_non_null(true_one);
	assert_ptr_not_equal(forged, true_one);
	unlink(path);
	munmap((void *)(uintptr_t)hers.start, 4096);
	munmap((void *)(uintptr_t)roots.start, 4096);
	say_build_id(&roots, true_one);
	roots.pid = gone_pid();
	assert_ptr_equal(catalog_object(catalog, &roots), true_one);
	catalog_destroy(catalog);
	rmdir(folder);
}

/* Changes one byte of section @name of the file at @path. */
static void change_section(const char *path, const char *name)
{
	struct elf_file *elf = NULL;

	assert_int_equal(elf_file_open_path(path, &elf, NULL), 0);

	const struct elf_section *section = elf_file_section(elf, name);
	AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
	char byte;

	assert_non_null(section);
	assert_int_equal(pread(elf->fd, &byte, 1, (off_t)(section->off + section->size - 1)), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)(section->off + section->size - 1)), 1);
	elf_file_close(elf);
}

static void copies_are_one_object_and_other_names_are_another(void **state)
{
	struct world *world = *state;
	static const struct {
		const char *what, *changed;
		bool same;
	} cases[] = {
		{ "a copy", NULL, true },
		{ "other strings", ".dynstr", false },
		{ "other symbols", ".dynsym", false },
		{ "a build-id says which code it is", ".text", true },
	};
	char folder[] = "/tmp/test_catalog.XXXXXX", paths[ARRAY_SIZE(cases) + 1][64];
	struct file_hint hints[ARRAY_SIZE(cases) + 1];
	struct catalog *catalog;
	struct object *first;

	assert_non_null(mkdtemp(folder));
	assert_int_equal(catalog_create(16, world->parser, &catalog, NULL), 0);
	for (size_t i = 0; i <= ARRAY_SIZE(cases); i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/%zu", folder, i);
		copy_file(world->files.paths[1], paths[i]);
		if (i && cases[i - 1].changed)
			change_section(paths[i], cases[i - 1].changed);
		hints[i] = map_file(paths[i]);
	}
	first = catalog_object(catalog, &hints[0]);
	assert_non_null(first);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct object *object = catalog_object(catalog, &hints[i + 1]);

		assert_non_null(object);
		if ((object == first) != cases[i].same)
			fail_msg("%s: %s object", cases[i].what,
				 object == first ? "the same" : "another");
	}
	/* what the first one's names would be read from is not what it was any more */
	change_section(paths[0], ".dynstr");
	unlink(paths[1]);
	copy_file(world->files.paths[1], paths[1]);

	struct file_hint again = map_file(paths[1]);

	assert_ptr_not_equal(catalog_object(catalog, &again), first);
	catalog_destroy(catalog);
	munmap((void *)(uintptr_t)again.start, 4096);
	for (size_t i = 0; i <= ARRAY_SIZE(cases); i++) {
		munmap((void *)(uintptr_t)hints[i].start, 4096);
		unlink(paths[i]);
	}
	rmdir(folder);
}

#define LARGE	  (240u << 20) /* of CFI: a quarter of a second to read */
#define HOSTILE	  4242u	       /* users: not who runs the test */
#define BYSTANDER 4243u

/* Maps a new file of @uid with @cfi_bytes of zeros as its CFI; its path is @path. */
static void map_file_of(uid_t uid, unsigned int nr, size_t cfi_bytes, char path[64],
			struct file_hint *ret)
{
	struct elf_builder b;
	AUTO_FD int fd = -1;
	struct stat st;
	void *code;

	elf_builder_init(&b, ET_DYN);
	elf_builder_segment(&b, PT_LOAD, PF_R | PF_X, 0, 0, 0x1000, 0x1000 + nr);
	elf_builder_section_at(&b, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0x100000, 0x10000,
			       cfi_bytes);
	elf_builder_finish(&b);
	snprintf(path, 64, "/tmp/test_catalog.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, b.bytes, b.size), b.size);
	assert_int_equal(ftruncate(fd, (off_t)(0x10000 + cfi_bytes)), 0);
	assert_int_equal(fchown(fd, uid, (gid_t)-1), 0);
	assert_int_equal(fstat(fd, &st), 0);
	code = mmap(NULL, 0x1000, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	*ret = (struct file_hint){
		.pid = getpid(),
		.start = (uint64_t)(uintptr_t)code,
		.end = (uint64_t)(uintptr_t)code + 0x1000,
		.path = path,
		.dev_major = major(st.st_dev),
		.dev_minor = minor(st.st_dev),
		.inode = st.st_ino,
	};
	elf_builder_fini(&b);
}

static void unmap_file(const struct file_hint *hint)
{
	munmap((void *)(uintptr_t)hint->start, 0x1000);
	unlink(hint->path);
}

/* The thread of the run waits while a file is read, at most half of the time for one user's. */
static void who_has_large_files_read_does_not_keep_others_waiting(void **state)
{
	struct world *world = *state;
	struct catalog *catalog;
	struct file_hint hint;
	uint64_t began_ns = clock_monotonic_ns();
	unsigned int nr_refused = 0;
	char path[64];

	need_root();
#ifdef __SANITIZE_ADDRESS__
	skip_test("with sanitizers, reading such a file takes more than it may");
#endif
	assert_int_equal(catalog_create(256, world->parser, &catalog, NULL), 0);
	for (unsigned int i = 0; i < 20 && !nr_refused; i++) {
		map_file_of(HOSTILE, i, LARGE, path, &hint);
		nr_refused += !catalog_object(catalog, &hint);
		unmap_file(&hint);
	}
	if (!nr_refused && clock_monotonic_ns() > began_ns + 20 * NS_PER_S) {
		catalog_destroy(catalog);
		skip_test("the files took too little CPU time to be refused");
	}
	assert_int_equal(nr_refused, 1);
	assert_true(catalog_nr(catalog) > 0);
	map_file_of(BYSTANDER, 100, 16, path, &hint);
	assert_non_null(catalog_object(catalog, &hint));
	unmap_file(&hint);
	map_file_of(0, 101, LARGE, path, &hint);
	assert_non_null(catalog_object(catalog, &hint));
	unmap_file(&hint);
	catalog_destroy(catalog);
}

/*
 * Files of root are charged to the cgroup of the process that is met with them first, files of
 * users to their users. With 8 slots each has 3 objects.
 */
static void a_cgroup_has_half_of_the_room_for_files_of_root(void **state)
{
	const uint64_t cgroup = owner_of_cgroup("/a.slice/b.scope", 0);
	const struct {
		const char *what;
		uid_t uid;
		uint64_t owner, charged; /* OWNER_UNKNOWN: refused */
	} cases[] = {
		{ "the first", 0, cgroup, cgroup },
		{ "the second", 0, cgroup, cgroup },
		{ "a user's, which is no matter of the cgroup", HOSTILE, cgroup, HOSTILE },
		{ "the third", 0, cgroup, cgroup },
		{ "one too many", 0, cgroup, OWNER_UNKNOWN },
		{ "root's", 0, 0, 0 },
		{ "of another cgroup", 0, cgroup + 1, cgroup + 1 },
	};
	struct world *world = *state;
	struct catalog *catalog;

	need_root();
	assert_int_equal(catalog_create(8, world->parser, &catalog, NULL), 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct object *object;
		struct file_hint hint;
		char path[64];

		map_file_of(cases[i].uid, i, 16, path, &hint);
		hint.owner = cases[i].owner;
		object = catalog_object(catalog, &hint);
		if ((object ? object->owner : OWNER_UNKNOWN) != cases[i].charged)
			fail_msg("%s: another owner", cases[i].what);
		/* whoever maps it later */
		hint.owner = 0;
		assert_ptr_equal(object, object ? catalog_object(catalog, &hint) : NULL);
		assert_true(!object || object->owner == cases[i].charged);
		unmap_file(&hint);
	}
	assert_int_equal(catalog_nr_of_limited(catalog), 3);
	assert_int_equal(
		share_used(finder_refused(catalog_finder(catalog), PROFILE_LIMIT_FILES), cgroup),
		1);
	catalog_destroy(catalog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_is_one_object_however_often_it_is_met,
						make_world, drop_world),
		cmocka_unit_test_setup_teardown(
			files_beyond_the_slots_are_counted_once_and_have_no_object, make_world,
			drop_world),
		cmocka_unit_test_setup_teardown(the_table_of_a_small_new_file_comes_with_it,
						make_world, drop_world),
		cmocka_unit_test_setup_teardown(
			files_without_debugging_information_are_met_with_their_headers, make_world,
			drop_world),
		cmocka_unit_test_setup_teardown(a_file_met_before_is_found_without_its_process,
						make_world, drop_world),
		cmocka_unit_test_setup_teardown(path_alone_does_not_identify_untrusted_files,
						make_world, drop_world),
		cmocka_unit_test_setup_teardown(
			a_file_that_stands_in_place_of_the_mapped_one_is_told_from_it_each_time,
			make_world, drop_world),
		cmocka_unit_test_setup_teardown(
			a_new_file_is_met_by_its_path_where_its_owner_is_trusted, make_world,
			drop_world),
		cmocka_unit_test_setup_teardown(a_forged_file_met_first_does_not_speak_for_roots,
						make_world, drop_world),
		cmocka_unit_test_setup_teardown(
			who_has_large_files_read_does_not_keep_others_waiting, make_world,
			drop_world),
		cmocka_unit_test_setup_teardown(a_cgroup_has_half_of_the_room_for_files_of_root,
						make_world, drop_world),
		cmocka_unit_test_setup_teardown(copies_are_one_object_and_other_names_are_another,
						make_world, drop_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
