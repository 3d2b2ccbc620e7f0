// SPDX-License-Identifier: Apache-2.0
/*
 * The cost of a sample by the depth of its stack: the slope from 11 to 101 frames, hot (the sampled
 * program spins) and cold (it writes through memory larger than every cache), beside a program that
 * reads one word for each frame and nothing else. Rounds alternate between all of them; each figure
 * is the median of the rounds.
 *
 * usage: bench_walker [ROUNDS]; prints TSV: name, unit, median, p10, p90, n.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench_floor.skel.h"
#include "bpf/shared.h"
#include "bpf/walk_state.h"
#include "fpless.skel.h"
#include "unwind/table.h"
#include "tests/support/elf_path.h"

#define NR_DEPTHS    2u
#define NR_MODES     2u /* hot, cold */
#define NR_TARGETS   (NR_DEPTHS * NR_MODES)
#define NR_PROGRAMS  2u /* walker, floor */
#define ROUNDS_MAX   101u
#define HZ	     4000u
#define ROUND_US     300000u
#define COLD_BYTES   (64u << 20)
#define NR_MAPS_MAX  64u
#define NR_CHUNK_MAX 64u

static const uint32_t depths[NR_DEPTHS] = { 11, 101 };

struct target {
	pid_t pid;
	double ns[NR_PROGRAMS][ROUNDS_MAX]; /* per sample, by round */
};

struct bench {
	struct fpless_bpf *walker;
	struct bench_floor_bpf *floor;
	struct fpl_object *objects;   /* the map, written through */
	struct fpl_mapping *mappings; /* the map, written through */
	uint32_t nr_objects, nr_mappings, nr_chunks;
	struct target targets[NR_TARGETS];
	uint32_t rounds;
};

static volatile uint64_t sink; /* stays 0: the compiler does not know */

__attribute__((__noinline__)) static uint64_t recurse(uint32_t depth, volatile uint8_t *memory)
{
	if (depth)
		return recurse(depth - 1, memory) + sink;
	for (uint64_t i = 0; !sink; i += 4096 + 64)
		memory[memory[0] ? i % COLD_BYTES : 0] = 1;
	return 0;
}

/* A child @depth calls deep: cold ones go through memory. Its code lies where ours does. */
static pid_t start_target(uint32_t depth, bool cold)
{
	pid_t pid = fork();

	if (pid == 0) {
		uint8_t *memory = calloc(1, COLD_BYTES);

		if (!memory)
			_exit(1);
		if (cold)
			memset(memory, 1, COLD_BYTES);
		raise(SIGSTOP);
		recurse(depth, memory);
	}
	return pid;
}

static int chunk_add(struct bench *bench, const uint8_t *bytes)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	AUTO_FD int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "chunk", 4, FPL_CHUNK_SIZE, 1, &opts);
	uint32_t no = bench->nr_chunks;

	if (fd < 0)
		return -errno;

	void *to = mmap(NULL, FPL_CHUNK_SIZE, PROT_WRITE, MAP_SHARED, fd, 0);

	if (to == MAP_FAILED)
		return -errno;
	memcpy(to, bytes, FPL_CHUNK_SIZE);
	munmap(to, FPL_CHUNK_SIZE);
	if (bpf_map_update_elem(bpf_map__fd(bench->walker->maps.chunks), &no, &fd, BPF_ANY))
		return -errno;
	bench->nr_chunks++;
	return 0;
}

/* Publishes the object at @path; its id and slot are one. */
static int object_add(struct bench *bench, const struct elf_file *elf, struct fpl_err *err)
{
	struct table *table;
	uint32_t id = ++bench->nr_objects;
	int code = table_compile(elf, NULL, &table_limits_default, &table, err);

	if (code)
		return code;
	bench->objects[id] = (struct fpl_object){
		.object = id,
		.images = { { .state = FPL_TABLE_READY,
			      .base = bench->nr_chunks << FPL_CHUNK_LOG2,
			      .rules_off = table->rules_off,
			      .dir_off = table->dir_off } },
		.nr_pages = table->nr_pages,
		.first_vaddr = table->first_vaddr,
		.entry_vaddr = table->entry_vaddr,
	};
	for (size_t i = 0; i < table->nr_chunks && !code; i++)
		code = chunk_add(bench, table->chunks[i]);
	table_destroy(table);
	return code;
}

/* Publishes this process's executable mappings, which the children share. */
static int publish_self(struct bench *bench, struct fpl_err *err)
{
	AUTO_FREE char *line = NULL;
	char path[4096];
	size_t size = 0;
	uint64_t bias = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	int code = maps ? 0 : -errno;

	while (!code && getline(&line, &size, maps) > 0) {
		struct elf_file *elf;
		struct fpl_mapping map = { .flags = FPL_MAPPING_MAIN };
		unsigned long start, end, off;
		char perms[8];

		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095s", &start, &end, perms, &off,
			   path) != 5 ||
		    perms[2] != 'x' || path[0] != '/')
			continue;
		code = elf_file_open_path(path, &elf, err);
		if (code)
			break;
		map.start = start;
		map.end = end;
		code = elf_file_bias(elf, start, off, &bias);
		map.bias = bias;
		if (!code)
			code = object_add(bench, elf, err);
		elf_file_close(elf);
		map.object = bench->nr_objects;
		map.slot = (__u16)bench->nr_objects;
		bench->mappings[bench->nr_mappings++] = map;
	}
	if (maps)
		fclose(maps);
	return code;
}

static int load(struct bench *bench)
{
	struct fpl_config *config;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint32_t nr_cpus = (uint32_t)libbpf_num_possible_cpus();

	bench->walker = fpless_bpf__open();
	bench->floor = bench_floor_bpf__open_and_load();
	if (!bench->walker || !bench->floor)
		return -errno;
	config = (struct fpl_config *)&bench->walker->rodata->config;
	config->flags = FPL_CONFIG_ALL | FPL_CONFIG_USER;
	config->max_depth = 1024;
	config->wakeup_bytes = 1 << 20;
	config->nr_stack_groups = bpf_map__max_entries(bench->walker->maps.stacks);
	bpf_map__set_max_entries(bench->walker->maps.snapshots, nr_cpus);
	bpf_map__set_max_entries(bench->walker->maps.scratch, nr_cpus);
	bench->walker->bss->gate = 1;
	if (fpless_bpf__load(bench->walker))
		return -errno;
	bench->objects = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED,
			      bpf_map__fd(bench->walker->maps.objects), 0);
	bench->mappings = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED,
			       bpf_map__fd(bench->walker->maps.mappings), 0);
	return bench->objects == MAP_FAILED || bench->mappings == MAP_FAILED ? -errno : 0;
}

/* As soon as the first sample has made the child's record. */
static int publish_mapset(struct bench *bench, pid_t pid)
{
	struct fpl_proc proc;
	uint32_t tgid = (uint32_t)pid;

	for (int i = 0; i < 1000; i++) {
		if (!bpf_map_lookup_elem(bpf_map__fd(bench->walker->maps.procs), &tgid, &proc)) {
			struct fpl_mapset set = {
				.gen = proc.gen, .nr = bench->nr_mappings, .version = 1, .serial = 1
			};

			set.check = fpl_mapset_check(&set);
			return bpf_map_update_elem(bpf_map__fd(bench->walker->maps.mapsets), &tgid,
						   &set, BPF_ANY);
		}
		usleep(1000);
	}
	return -ETIMEDOUT;
}

struct run {
	uint64_t ns, count;
};

static struct run run_of(const struct bpf_program *program)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size);
	return (struct run){ info.run_time_ns, info.run_cnt };
}

/* Cost of one sample of @target, which is running, ns; negative errno. */
static double measure_running(struct bench *bench, struct target *target, bool floor)
{
	struct bpf_program *program =
		floor ? bench->floor->progs.floor_sample : bench->walker->progs.sample;
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_freq = HZ,
					.freq = 1 };
	int event = (int)syscall(SYS_perf_event_open, &attr, target->pid, -1, -1, 0);

	if (event < 0)
		return -errno;

	struct bpf_link *link = bpf_program__attach_perf_event(program, event); /* takes event */

	if (!link)
		return -errno;
	if (!floor && publish_mapset(bench, target->pid)) {
		bpf_link__destroy(link);
		return -ETIMEDOUT;
	}
	usleep(ROUND_US / 10);

	struct run before = run_of(program);

	usleep(ROUND_US);

	struct run after = run_of(program);

	bpf_link__destroy(link);
	if (after.count == before.count)
		return -ENODATA;
	return (double)(after.ns - before.ns) / (double)(after.count - before.count);
}

/* The same; only @target runs meanwhile. */
static double measure(struct bench *bench, struct target *target, bool floor)
{
	double ns;

	kill(target->pid, SIGCONT);
	ns = measure_running(bench, target, floor);
	kill(target->pid, SIGSTOP);
	return ns;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_line(const char *name, const char *mode, const char *unit, double *values,
		       uint32_t nr)
{
	qsort(values, nr, sizeof(*values), compare_doubles);
	printf("%s.%s\t%s\t%.0f\t%.0f\t%.0f\t%u\n", name, mode, unit, values[nr / 2],
	       values[nr / 10], values[nr - 1 - nr / 10], nr);
}

/* The slope of each round, then the cost at each depth. */
static void print_results(struct bench *bench)
{
	static const char *const programs[NR_PROGRAMS] = { "walker", "floor" };
	static const char *const modes[NR_MODES] = { "hot", "cold" };

	puts("name\tunit\tmedian\tp10\tp90\tn");
	for (uint32_t p = 0; p < NR_PROGRAMS; p++) {
		for (uint32_t m = 0; m < NR_MODES; m++) {
			double *shallow = bench->targets[m].ns[p];
			double *deep = bench->targets[NR_MODES + m].ns[p];
			double slope[ROUNDS_MAX];
			char name[64];

			for (uint32_t r = 0; r < bench->rounds; r++)
				slope[r] = (deep[r] - shallow[r]) / (depths[1] - depths[0]);
			print_line(programs[p], modes[m], "ns/frame", slope, bench->rounds);
			for (uint32_t d = 0; d < NR_DEPTHS; d++) {
				snprintf(name, sizeof(name), "%s.depth%u", programs[p], depths[d]);
				print_line(name, modes[m], "ns/sample", d ? deep : shallow,
					   bench->rounds);
			}
		}
	}
}

static int run_rounds(struct bench *bench)
{
	for (uint32_t round = 0; round < bench->rounds; round++) {
		for (uint32_t i = 0; i < NR_TARGETS * NR_PROGRAMS; i++) {
			/* Every other round backwards: none always follows the same one. */
			uint32_t at = round & 1 ? NR_TARGETS * NR_PROGRAMS - 1 - i : i;
			uint32_t t = at / NR_PROGRAMS, p = at % NR_PROGRAMS;
			struct target *target = &bench->targets[t];

			bench->floor->bss->nr_words = depths[t / NR_MODES];
			target->ns[p][round] = measure(bench, target, p == 1);
			if (target->ns[p][round] < 0)
				return (int)target->ns[p][round];
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct bench bench;
	struct fpl_err err = { 0 };
	int code = load(&bench);

	bench.rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 11;
	if (bench.rounds < 1 || bench.rounds > ROUNDS_MAX)
		bench.rounds = ROUNDS_MAX;
	if (!code)
		code = publish_self(&bench, &err);

	AUTO_FD int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);

	for (uint32_t i = 0; i < NR_TARGETS; i++)
		bench.targets[i].pid = start_target(depths[i / NR_MODES], i % NR_MODES == 1);
	if (!code)
		code = run_rounds(&bench);
	for (uint32_t i = 0; i < NR_TARGETS; i++) {
		kill(bench.targets[i].pid, SIGKILL);
		waitpid(bench.targets[i].pid, NULL, 0);
	}
	if (code) {
		fprintf(stderr, "bench_walker: %s\n", err.msg[0] ? err.msg : strerror(-code));
		return 1;
	}
	print_results(&bench);
	return 0;
}
