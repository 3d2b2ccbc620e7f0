/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/cpu_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

/* A decimal number below CPU_LIST_MAX at *@at, which is moved behind it; -1: no number. */
static int take_cpu(const char **at)
{
	int cpu = -1;

	for (; isdigit((unsigned char)**at); ++*at) {
		cpu = (cpu < 0 ? 0 : cpu) * 10 + (**at - '0');
		if (cpu >= CPU_LIST_MAX)
			return -1;
	}
	return cpu;
}

/* Mark the CPUs of one number or range. Returns false on nonsense. */
static bool take_range(const char **at, bool *is_listed)
{
	int first = take_cpu(at), last = first;

	if (**at == '-') {
		++*at;
		last = take_cpu(at);
	}
	if (first < 0 || last < first)
		return false;
	for (int cpu = first; cpu <= last; cpu++)
		is_listed[cpu] = true;
	return true;
}

int cpu_list_parse(const char *text, struct cpu_list *ret)
{
	AUTO_FREE bool *is_listed = calloc(CPU_LIST_MAX, sizeof(*is_listed));
	AUTO_FREE int *cpus = calloc(CPU_LIST_MAX, sizeof(*cpus));
	size_t nr = 0;

	if (!is_listed || !cpus)
		return -ENOMEM;
	for (const char *at = text;; at++) {
		if (!take_range(&at, is_listed))
			return -EINVAL;
		if (!*at || (*at == '\n' && !at[1]))
			break;
		if (*at != ',')
			return -EINVAL;
	}
	for (int cpu = 0; cpu < CPU_LIST_MAX; cpu++)
		if (is_listed[cpu])
			cpus[nr++] = cpu;
	*ret = (struct cpu_list){ .cpus = TAKE_PTR(cpus), .nr = nr };
	return 0;
}

int cpu_list_online(struct cpu_list *ret)
{
	char text[4096];
	FILE *file = fopen("/sys/devices/system/cpu/online", "re");

	if (file && fgets(text, sizeof(text), file)) {
		fclose(file);
		return cpu_list_parse(text, ret);
	}
	if (file)
		fclose(file);
	/* no sysfs: they are numbered without gaps on all but odd machines */
	snprintf(text, sizeof(text), "0-%ld", sysconf(_SC_NPROCESSORS_ONLN) - 1);
	return cpu_list_parse(text, ret);
}

void cpu_list_fini(struct cpu_list *list)
{
	free(list->cpus);
	*list = (struct cpu_list){ 0 };
}

static int compare_cpus(const void *left, const void *right)
{
	const int *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

bool cpu_list_has(const struct cpu_list *list, int cpu)
{
	return list->nr && bsearch(&cpu, list->cpus, list->nr, sizeof(*list->cpus), compare_cpus);
}
