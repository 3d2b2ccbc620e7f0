/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <linux/btf.h>
#include <linux/capability.h>
#include <string.h>

#include "base/cleanup.h"
#include "proc/advice.h"
#include "proc/host.h"
#include "tests/support/tree.h"

#define CAP(name) (1ull << CAP_##name)

static void everything_is_read_from_below_the_root(void **state)
{
	const struct tree *tree = *state;
	struct host host;

	tree_put(tree, "proc/sys/kernel/osrelease", "6.1.0-50-cloud-amd64\n");
	tree_put(tree, "proc/sys/kernel/version", "#1 SMP Debian 6.1.176-1 (2026-07-01)\n");
	tree_put(tree, "proc/sys/kernel/perf_event_paranoid", "3\n");
	tree_put(tree, "proc/sys/kernel/yama/ptrace_scope", "1\n");
	tree_put(tree, "proc/sys/net/core/bpf_jit_enable", "-1\n");
	tree_put(
		tree, "proc/self/status",
		"Name:\tx\nUid:\t1000\t1001\t1000\t1000\nCapEff:\t000000c000000000\nSeccomp:\t2\n");
	tree_link(tree, "proc/self/ns/user", "user:[4026531837]");
	tree_link(tree, "proc/self/ns/pid", "pid:[4026532000]");
	tree_put(tree, "sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	tree_put(tree, "proc/self/mounts",
		 "proc /proc proc rw 0 0\ntracefs /sys/kernel/tracing tracefs rw 0 0\n");
	tree_put(tree, "proc/kallsyms", "0000000000000000 A fixed\nffffffff81000000 T _text\n");
	tree_put(tree, "usr/lib/debug/.build-id/ab/cd.debug", "");
	tree_put(tree, "etc/os-release",
		 "NAME=\"Debian\"\nID=debian\nVERSION_CODENAME=bookworm\nID_LIKE=\"a b\"\n");
	tree_put(tree, "proc/self/limits",
		 "Limit                     Soft Limit           Hard Limit           Units\n"
		 "Max open files            1024                 4096                 files\n"
		 "Max locked memory         8388608              unlimited            bytes\n"
		 "Max nice priority         30                   30\n");
	tree_put(tree, "sys/devices/system/cpu/nohz_full", "2-3\n");
	tree_link(tree, "proc/self/exe", "/opt/fpless");

	host_read(tree->root, &host);
	assert_string_equal(host.release, "6.1.0-50-cloud-amd64");
	assert_string_equal(host.version, "#1 SMP Debian 6.1.176-1 (2026-07-01)");
	assert_int_equal(host.sysctls[HOST_SYSCTL_PARANOID], 3);
	assert_int_equal(host.sysctls[HOST_SYSCTL_PTRACE_SCOPE], 1);
	assert_int_equal(host.sysctls[HOST_SYSCTL_JIT_ENABLE], -1);
	assert_true(host.sysctls[HOST_SYSCTL_MAX_STACK] == HOST_UNKNOWN);
	assert_true(host.has_caps);
	assert_int_equal(host.caps, CAP(BPF) | CAP(PERFMON));
	assert_int_equal(host.euid, 1001);
	assert_int_equal(host.seccomp, 2);
	assert_int_equal(host.user_ns, HOST_NS_INITIAL);
	assert_int_equal(host.pid_ns, HOST_NS_OTHER);
	assert_false(host.foreign_proc);
	assert_int_equal(host.lockdown, HOST_LOCKDOWN_CONFIDENTIALITY);
	assert_string_equal(host.tracefs, "/sys/kernel/tracing");
	assert_int_equal(host.kallsyms, HOST_KALLSYMS_VISIBLE);
	assert_true(host.has_debug_files);
	assert_string_equal(host.os_id, "debian");
	assert_string_equal(host.os_like, "a b");
	assert_string_equal(host.os_codename, "bookworm");
	assert_int_equal(host.nofile_hard, 4096);
	assert_int_equal(host.memlock, 8388608);
	assert_true(host.memlock_hard == UINT64_MAX);
	assert_int_equal(host.nice_max, 30);
	assert_true(host.nohz_full);
	assert_string_equal(host.self_path, "/opt/fpless");
	assert_true(host_has_cap(&host, CAP_BPF));
	assert_false(host_has_cap(&host, CAP_SYS_ADMIN));
}

static void nothing_there_is_unknown_not_an_error(void **state)
{
	const struct tree *tree = *state;
	struct host host;

	host_read(tree->root, &host);
	assert_string_equal(host.release, "");
	for (size_t i = 0; i < HOST_SYSCTL_COUNT; i++)
		assert_true(host.sysctls[i] == HOST_UNKNOWN);
	assert_false(host.has_caps);
	assert_int_equal(host.seccomp, -1);
	assert_int_equal(host.user_ns, HOST_NS_UNKNOWN);
	assert_int_equal(host.btf.error, -ENOENT);
	assert_int_equal(host.lockdown, HOST_LOCKDOWN_NONE);
	assert_string_equal(host.tracefs, "");
	assert_int_equal(host.kallsyms, HOST_KALLSYMS_UNREADABLE);
	assert_false(host.has_debug_files);
	assert_true(host.nofile_hard == UINT64_MAX);
	assert_string_equal(host.self_path, "fpless");
}

static void btf_is_plausible_where_its_sections_lie_inside(void **state)
{
	const struct tree *tree = *state;
	static const struct {
		const char *what;
		struct btf_header header;
		size_t size;
		bool plausible;
	} cases[] = {
		{ "whole", { BTF_MAGIC, 1, 0, 24, 0, 40, 40, 36 }, 100, true },
		{ "strings behind the end", { BTF_MAGIC, 1, 0, 24, 0, 40, 40, 37 }, 100, false },
		{ "types behind the end", { BTF_MAGIC, 1, 0, 24, 60, 40, 0, 8 }, 100, false },
		{ "other magic", { 0x9feb, 1, 0, 24, 0, 40, 40, 36 }, 100, false },
		{ "other version", { BTF_MAGIC, 2, 0, 24, 0, 40, 40, 36 }, 100, false },
		{ "no types", { BTF_MAGIC, 1, 0, 24, 0, 0, 0, 36 }, 100, false },
		{ "no strings", { BTF_MAGIC, 1, 0, 24, 0, 40, 40, 0 }, 100, false },
		{ "header cut", { BTF_MAGIC, 1, 0, 24, 0, 40, 40, 36 }, 23, false },
		{ "lengths that wrap around",
		  { BTF_MAGIC, 1, 0, 24, ~0u, ~0u, 40, 36 },
		  100,
		  false },
		{ "empty", { 0, 0, 0, 0, 0, 0, 0, 0 }, 0, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t bytes[100] = { 0 };
		struct host host;

		memcpy(bytes, &cases[i].header, sizeof(cases[i].header));
		tree_put_bytes(tree, "sys/kernel/btf/vmlinux", bytes, cases[i].size);
		host_read(tree->root, &host);
		assert_int_equal(host.btf.error, 0);
		assert_int_equal(host.btf.bytes, cases[i].size);
		if (host.btf.plausible != cases[i].plausible)
			fail_msg("%s", cases[i].what);
	}
}

static void kallsyms_is_hidden_where_all_addresses_are_zero(void **state)
{
	const struct tree *tree = *state;
	struct host host;

	tree_put(tree, "proc/kallsyms", "0000000000000000 T _text\n0000000000000000 t other\n");
	host_read(tree->root, &host);
	assert_int_equal(host.kallsyms, HOST_KALLSYMS_HIDDEN);
}

static void proc_of_another_namespace_is_noticed(void **state)
{
	const struct tree *tree = *state;
	struct advice advice;
	struct host host;

	tree_link(tree, "proc/self", "4194303");
	host_read(tree->root, &host);
	assert_true(host.foreign_proc);
	assert_true(advice_namespaces(&host, &advice));
	assert_non_null(strstr(advice.why, "/proc"));
}

/* Causes given for refusals, by the state of the machine. */
static const struct {
	const char *what;
	uint64_t caps;
	int64_t paranoid;
	enum host_ns user_ns;
	int seccomp;
	const char *events[2], *bpf[2]; /* why, fix */
} refusals[] = {
	{ "nobody",
	  0,
	  2,
	  HOST_NS_INITIAL,
	  0,
	  { "no CAP_PERFMON", "run as root" },
	  { "no CAP_BPF and no CAP_PERFMON", "run as root" } },
	{ "nobody on Debian",
	  0,
	  3,
	  HOST_NS_INITIAL,
	  0,
	  { "perf_event_paranoid is 3", "run as root" },
	  { "no CAP_BPF and no CAP_PERFMON", "run as root" } },
	{ "CAP_PERFMON refused by Debian's patch",
	  CAP(PERFMON) | CAP(BPF),
	  3,
	  HOST_NS_INITIAL,
	  0,
	  { "demands CAP_SYS_ADMIN", "sudo sysctl kernel.perf_event_paranoid=2" },
	  { "security module", "dmesg" } },
	{ "root refused by a paranoid kernel",
	  CAP(SYS_ADMIN),
	  4,
	  HOST_NS_INITIAL,
	  0,
	  { "refuses even root", "sudo sysctl kernel.perf_event_paranoid=2" },
	  { "security module", "dmesg" } },
	{ "CAP_BPF alone",
	  CAP(BPF),
	  2,
	  HOST_NS_INITIAL,
	  0,
	  { "no CAP_PERFMON", "run as root" },
	  { "no CAP_PERFMON", "run as root" } },
	{ "CAP_PERFMON alone",
	  CAP(PERFMON),
	  2,
	  HOST_NS_INITIAL,
	  0,
	  { "security module", "dmesg" },
	  { "no CAP_BPF", "run as root" } },
	{ "root of a user namespace",
	  ~0ull,
	  2,
	  HOST_NS_OTHER,
	  0,
	  { "user namespace", "outside" },
	  { "user namespace", "outside" } },
	{ "root of a user namespace on Debian",
	  ~0ull,
	  3,
	  HOST_NS_OTHER,
	  0,
	  { "user namespace", "outside" },
	  { "user namespace", "outside" } },
	{ "root in a container",
	  ~0ull,
	  2,
	  HOST_NS_INITIAL,
	  2,
	  { "seccomp", "seccomp=unconfined" },
	  { "seccomp", "seccomp=unconfined" } },
};

static void advice_follows_from_the_machine(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		struct host host = {
			.has_caps = true,
			.caps = refusals[i].caps,
			.user_ns = refusals[i].user_ns,
			.seccomp = refusals[i].seccomp,
		};
		struct advice advice;

		host.sysctls[HOST_SYSCTL_PARANOID] = refusals[i].paranoid;
		advice_events(&host, &advice);
		if (!strstr(advice.why, refusals[i].events[0]) ||
		    !strstr(advice.fix, refusals[i].events[1]))
			fail_msg("%s: events: %s: %s", refusals[i].what, advice.why, advice.fix);
		advice_bpf(&host, &advice);
		if (!strstr(advice.why, refusals[i].bpf[0]) ||
		    !strstr(advice.fix, refusals[i].bpf[1]))
			fail_msg("%s: bpf: %s: %s", refusals[i].what, advice.why, advice.fix);
	}
}

static void advice_about_a_process_depends_on_ptrace(void **state)
{
	struct host host = { .has_caps = true, .caps = CAP(SYS_PTRACE) };
	struct advice advice;

	(void)state;
	advice_process(&host, &advice);
	assert_non_null(strstr(advice.why, "security module"));
	host.caps = 0;
	advice_process(&host, &advice);
	assert_non_null(strstr(advice.fix, "CAP_SYS_PTRACE"));
}

static void only_the_proc_of_another_pid_namespace_is_in_the_way(void **state)
{
	struct advice advice;

	(void)state;
	assert_false(advice_namespaces(&(struct host){ .pid_ns = HOST_NS_INITIAL }, &advice));
	assert_false(advice_namespaces(&(struct host){ .pid_ns = HOST_NS_UNKNOWN }, &advice));
	assert_false(advice_namespaces(&(struct host){ .pid_ns = HOST_NS_OTHER }, &advice));
	assert_true(advice_namespaces(&(struct host){ .foreign_proc = true }, &advice));
	assert_non_null(strstr(advice.fix, "--pid=host"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_setup, tree_teardown)
		TEST(everything_is_read_from_below_the_root),
		TEST(nothing_there_is_unknown_not_an_error),
		TEST(btf_is_plausible_where_its_sections_lie_inside),
		TEST(kallsyms_is_hidden_where_all_addresses_are_zero),
		TEST(proc_of_another_namespace_is_noticed),
#undef TEST
		cmocka_unit_test(advice_follows_from_the_machine),
		cmocka_unit_test(advice_about_a_process_depends_on_ptrace),
		cmocka_unit_test(only_the_proc_of_another_pid_namespace_is_in_the_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
