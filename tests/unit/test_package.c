/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "doctor/package.h"
#include "tests/support/tree.h"

static int setup(void **state)
{
	assert_int_equal(tree_setup(state), 0);

	const struct tree *tree = *state;

	tree_put(tree, "var/lib/dpkg/info/libc6:amd64.list",
		 "/.\n/lib\n/lib/x86_64-linux-gnu/libc.so.6\n/usr/share/doc/libc6\n");
	tree_put(tree, "var/lib/dpkg/info/libc6:i386.list", "/.\n/lib/i386-linux-gnu/libc.so.6\n");
	tree_put(tree, "var/lib/dpkg/info/coreutils.list", "/.\n/bin/ls\n/usr/bin/env");
	tree_put(tree, "var/lib/dpkg/info/merged.list", "/usr/bin/merged\n/usr/lib64/x.so\n");
	tree_put(tree, "var/lib/dpkg/info/perf-old.list", "/usr/bin/perf\n");
	tree_put(tree, "var/lib/dpkg/info/linux-perf.list", "/usr/bin/perf\n");
	tree_put(tree, "var/lib/dpkg/info/coreutils.md5sums", "/usr/bin/not-a-list\n");
	tree_put(tree, "var/lib/dpkg/info/.list", "/usr/bin/nameless\n");
	tree_put(tree, "var/lib/dpkg/diversions",
		 "/usr/bin/perf\n/usr/bin/perf.old\nlinux-perf\n/usr/bin/env\n");
	tree_put(tree, "var/lib/dpkg/status",
		 "Package: libc6\nStatus: install ok installed\nArchitecture: i386\n"
		 "Version: 2.36-i386\nSource: glibc\n\n"
		 "Package: libc6\nStatus: install ok installed\nArchitecture: amd64\n"
		 "Version: 2.36-9\nSource: glibc (2.36)\nDescription: x\n Package: coreutils\n\n"
		 "Package: coreutils\nStatus: deinstall ok config-files\nArchitecture: amd64\n"
		 "Version: 9.1-1\n\n"
		 "Package: merged\nVersion: 1\n");
	return 0;
}

static void files_have_their_owners(void **state)
{
	const struct tree *tree = *state;
	static const struct {
		const char *path, *name, *version;
		bool installed;
	} cases[] = {
		{ "/lib/x86_64-linux-gnu/libc.so.6", "libc6", "2.36-9", true },
		{ "/usr/lib/x86_64-linux-gnu/libc.so.6", "libc6", "2.36-9", true },
		{ "/usr/lib/i386-linux-gnu/libc.so.6", "libc6", "2.36-i386", true },
		{ "/bin/ls", "coreutils", "9.1-1", false },
		{ "/usr/bin/ls", "coreutils", "9.1-1", false },
		{ "/usr/bin/env", "coreutils", "9.1-1", false },
		{ "/bin/merged", "merged", "1", false },
		{ "/lib64/x.so", "merged", "1", false },
		{ "/usr/bin/perf", "linux-perf", "", false },
		{ "/usr/bin/not-a-list", "", "", false },
		{ "/usr/bin/nameless", "", "", false },
		{ "/usr/bin/l", "", "", false },
		{ "/opt/lib/x86_64-linux-gnu/libc.so.6", "", "", false },
		{ "", "", "", false },
	};
	struct package_query queries[ARRAY_SIZE(cases)];
	struct fpl_err err;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		queries[i] = (struct package_query){ .path = cases[i].path };
	assert_int_equal(packages_find(tree->root, queries, ARRAY_SIZE(cases), &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct package *owner = &queries[i].owner;

		if (strcmp(owner->name, cases[i].name) != 0 ||
		    strcmp(owner->version, cases[i].version) != 0 ||
		    owner->installed != cases[i].installed)
			fail_msg("%s: %s %s %d", cases[i].path, owner->name, owner->version,
				 owner->installed);
	}
	assert_string_equal(queries[0].owner.source, "glibc");
	assert_string_equal(queries[3].owner.source, "coreutils");
}

static void without_dpkg_there_is_nothing_to_ask(void **state)
{
	struct package_query query = { .path = "/bin/ls" };
	struct fpl_err err;
	struct tree empty;

	(void)state;
	tree_init(&empty);
	assert_int_equal(packages_find(empty.root, &query, 1, &err), -ENOENT);
	assert_string_equal(query.owner.name, "");
	tree_fini(&empty);
}

static void lists_without_a_status_file_still_name_owners(void **state)
{
	const struct tree *tree = *state;
	struct package_query query = { .path = "/bin/ls" };
	struct fpl_err err;

	assert_int_equal(unlink(tree_path(tree, "var/lib/dpkg/status")), 0);
	assert_int_equal(packages_find(tree->root, &query, 1, &err), 0);
	assert_string_equal(query.owner.name, "coreutils");
	assert_string_equal(query.owner.version, "");
}

/* Package: and Version: of a description, or of a field that goes on, are no fields. */
static void damaged_status_files_do_no_harm(void **state)
{
	const struct tree *tree = *state;
	static const char *const texts[] = {
		"",
		"\n",
		"\n\n\n\n",
		"Package:",
		"Package: \n\n",
		"Package: coreutils",
		"Version: 7\nPackage: coreutils\nVersion\n",
		"Package: coreutils\n Version: 8\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct package package = { .name = "coreutils" };
		struct package *packages[] = { &package };

		tree_put(tree, "var/lib/dpkg/status", texts[i]);
		assert_int_equal(packages_status(tree->root, packages, 1, NULL), 0);
		assert_false(package.installed);
		assert_string_equal(package.version, i == 6 ? "7" : "");
	}
}

static void debug_packages_are_named_by_source(void **state)
{
	static const struct {
		const char *name, *source, *debug;
	} cases[] = {
		{ "coreutils", "coreutils", "coreutils-dbgsym" },
		{ "libc6", "glibc", "libc6-dbg" },
		{ "libc-bin", "glibc", "libc6-dbg" },
		{ "perl-base", "perl", "perl-debug" },
		{ "python3.11-minimal", "python3.11", "python3.11-dbg" },
		{ "libpython3.13-stdlib", "python3.13", "python3.13-dbg" },
		{ "python3-minimal", "python3-defaults", "python3-minimal-dbgsym" },
		{ "python3.x", "python3.x", "python3.x-dbgsym" },
		{ "python3.11-foo", "python3.11-foo", "python3.11-foo-dbgsym" },
		{ "ceph-osd", "ceph", "ceph-osd-dbg" },
		{ "libkrb5-3", "krb5", "libkrb5-dbg" },
		{ "", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct package owner = { .version = "1-2", .arch = "amd64", .installed = true };
		struct package debug;

		snprintf(owner.name, sizeof(owner.name), "%s", cases[i].name);
		snprintf(owner.source, sizeof(owner.source), "%s", cases[i].source);
		package_debug_name(&owner, &debug);
		assert_string_equal(debug.name, cases[i].debug);
		assert_string_equal(debug.version, "1-2");
		assert_false(debug.installed);
	}
}

static void hints_are_commands_of_the_distribution(void **state)
{
	static const struct {
		const char *os_id, *os_like, *package, *path, *build_id, *want;
	} cases[] = {
		{ "debian", "", "ls-dbgsym", "/bin/ls", "abcd",
		  "sudo apt-get install ls-dbgsym=1-2, from deb "
		  "http://deb.debian.org/debian-debug/ bookworm-debug main" },
		{ "ubuntu", "debian", "ls-dbgsym", "/bin/ls", "abcd",
		  "sudo apt-get install ls-dbgsym=1-2, from deb http://ddebs.ubuntu.com bookworm "
		  "main" },
		{ "debian", "", "libc6-dbg", "/lib/libc.so.6", "abcd",
		  "sudo apt-get install libc6-dbg=1-2" },
		{ "mint", "ubuntu debian", "libc6-dbg", "/lib/libc.so.6", "abcd",
		  "sudo apt-get install libc6-dbg=1-2" },
		{ "debian", "", "", "/opt/x", "abcd",
		  "no package owns it: build it with -g, or put its debug file beside it" },
		{ "fedora", "", "", "/usr/bin/ls", "abcd",
		  "sudo dnf debuginfo-install \"$(rpm -qf /usr/bin/ls)\"" },
		{ "rocky", "rhel centos fedora", "", "/tmp/a'; rm b", "abcd",
		  "sudo dnf debuginfo-install \"$(rpm -qf FILE)\"" },
		{ "arch", "", "", "/usr/bin/ls", "abcd",
		  "f=$(debuginfod-find debuginfo abcd) && sudo install -D -m 644 \"$f\" "
		  "/usr/lib/debug/.build-id/ab/cd.debug" },
		{ "", "", "", "/usr/bin/ls", "", "not available: no package and no build-id" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct host host = { .os_codename = "bookworm" };
		struct package package = { .version = "1-2" };
		char hint[512];

		snprintf(host.os_id, sizeof(host.os_id), "%s", cases[i].os_id);
		snprintf(host.os_like, sizeof(host.os_like), "%s", cases[i].os_like);
		snprintf(package.name, sizeof(package.name), "%s", cases[i].package);
		package_debug_hint(&host, &package, cases[i].path, cases[i].build_id, hint,
				   sizeof(hint));
		assert_string_equal(hint, cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tree_teardown)
		TEST(files_have_their_owners),
		TEST(lists_without_a_status_file_still_name_owners),
		TEST(damaged_status_files_do_no_harm),
#undef TEST
		cmocka_unit_test(without_dpkg_there_is_nothing_to_ask),
		cmocka_unit_test(debug_packages_are_named_by_source),
		cmocka_unit_test(hints_are_commands_of_the_distribution),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
