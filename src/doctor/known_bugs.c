/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/known_bugs.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define VERSION(major, minor, patch) \
	((uint64_t)(major) << 40 | (uint64_t)(minor) << 20 | (uint64_t)(patch))

enum { RANGES_MAX = 6 };

/* [from, until): one per branch of the stable kernel. */
struct range {
	uint64_t from, until;
};

/*
 * Sources of the versions:
 *
 * d319f344561d: mainline v6.4; stable ChangeLog-6.1.36 and ChangeLog-6.3.10; Debian bug 1033398.
 * The lock it takes came with 0aef499f3172 ("mm/usercopy: Detect vmalloc overruns") (v5.18).
 *
 * b583ef82b671: mainline v6.13; ChangeLog-6.1.131, -6.12.19, 6.6.83. Repairs cfa7f3d2c526
 * ("perf,x86: avoid missing caller address in stack traces captured in uprobe"): v6.12,
 * ChangeLog-6.1.113, -6.11.3, 6.6.55.
 *
 * 8b62645b09f8: mainline v6.12; ChangeLog-6.1.115, -6.11.6, 6.6.84. CVE-2024-50138. PREEMPT_RT
 * alone makes a spinlock_t sleep.
 */
static const struct listed {
	struct known_bug bug;
	bool only_rt;
	struct range ranges[RANGES_MAX]; /* ended by an empty one */
} list[] = {
	{
		.bug = {
			.commit = "d319f344561d",
			.title = "mm: Fix copy_from_user_nofault().",
			.effect = "a sample that reads a stack while its CPU changes kernel mappings can lock the machine up (CONFIG_HARDENED_USERCOPY)",
			.fix = "sudo apt-get upgrade linux-image-amd64, or another kernel from 6.1.36, 6.3.10 or 6.4 on",
		},
		.ranges = {
			{ VERSION(5, 18, 0), VERSION(6, 1, 36) },
			{ VERSION(6, 2, 0), VERSION(6, 3, 10) },
		},
	},
	{
		.bug = {
			.commit = "8b62645b09f8",
			.title = "bpf: Use raw_spinlock_t in ringbuf",
			.effect = "on this PREEMPT_RT kernel the ring buffer's lock sleeps, which a sample may not",
			.fix = "a kernel from 6.1.115, 6.6.84, 6.11.6 or 6.12 on, or one without PREEMPT_RT",
		},
		.only_rt = true,
		.ranges = {
			{ VERSION(5, 8, 0), VERSION(6, 1, 115) },
			{ VERSION(6, 2, 0), VERSION(6, 6, 84) },
			{ VERSION(6, 7, 0), VERSION(6, 11, 6) },
		},
	},
	{
		.bug = {
			.commit = "b583ef82b671",
			.title = "uprobes: Fix race in uprobe_free_utask",
			.effect = "`compare' and `--unwind fp' can crash the machine while another tool has uprobes; fpless's own walk is not concerned",
			.fix = "a kernel from 6.1.131, 6.6.83, 6.12.19 or 6.13 on, or no `compare' and no `--unwind fp' beside uprobes",
		},
		.ranges = {
			{ VERSION(6, 1, 113), VERSION(6, 1, 131) },
			{ VERSION(6, 6, 55), VERSION(6, 6, 83) },
			{ VERSION(6, 11, 3), VERSION(6, 12, 19) },
		},
	},
};

/*
 * Debian calls 6.1.176 "6.1.0-50-cloud-amd64": the number of the stable kernel stands in its
 * version, "#1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-07-01)".
 */
static bool parse_version(const struct host *host, uint64_t *ret)
{
	const char *debian = strstr(host->version, " Debian ");
	unsigned int major, minor, patch = 0;

	if (sscanf(debian ? debian + 8 : host->release, "%u.%u.%u", &major, &minor, &patch) < 2)
		return false;
	if (major > 0xfffff || minor > 0xfffff || patch > 0xfffff)
		return false;
	*ret = VERSION(major, minor, patch);
	return true;
}

const struct known_bug *known_bugs_find(const struct host *host)
{
	bool rt = strstr(host->version, "PREEMPT_RT") != NULL;
	uint64_t version;

	if (!parse_version(host, &version))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		if (list[i].only_rt && !rt)
			continue;
		for (size_t r = 0; r < RANGES_MAX && list[i].ranges[r].until; r++) {
			if (version >= list[i].ranges[r].from && version < list[i].ranges[r].until)
				return &list[i].bug;
		}
	}
	return NULL;
}

size_t known_bugs_count(void)
{
	return ARRAY_SIZE(list);
}
