#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that are as good as equal: each one's frames have its own names, copies share a table."""

import filecmp
import os
import shutil
import subprocess

from root_case import RootCase, main

# Both functions have the same code, so the two orders differ in no loaded byte.
SOURCE = """
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
volatile uint64_t sink;
#define FUNCTION(name) __attribute__((noinline, noclone, noipa)) void name(void) \\
	{ for (int i = 0; i < 100000; i++) sink += i * 3; }
FUNCTION(FIRST)
FUNCTION(SECOND)
int main(int argc, char **argv)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	int64_t end = now.tv_sec * 1000000000ll + now.tv_nsec + atoi(argv[1]) * 1000000ll;
	do {
		FIRST();
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec * 1000000000ll + now.tv_nsec < end);
	return argc != 2;
}
"""
NAMES = ("alpha", "bravo")  # of one length: a string table of one size
NO_BUILD_ID = "-Wl,--build-id=none"
ONE_BUILD_ID = "-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567"
USER = 12345


class Twins(RootCase):
    def build(self, name, first, *options):
        source = self.path("twin.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(SOURCE)
        second = NAMES[1 - NAMES.index(first)]
        subprocess.run(["gcc", "-O1", *options, f"-DFIRST={first}", f"-DSECOND={second}",
                        "-o", self.path(name), source], check=True)
        return self.path(name)

    def twins(self, *options):
        paths = self.build("one", NAMES[0], *options), self.build("two", NAMES[1], *options)
        self.assertFalse(filecmp.cmp(*paths, shallow=False))
        self.assertEqual(*(os.path.getsize(path) for path in paths))
        return paths

    def run_all(self, *commands, options=()):
        """A run beside the commands, one after the other."""
        run = self.profile("-F", "999", "-U", *options, "--", "sh", "-ec", "\n".join(commands))
        self.assertEqual(run.books["lost"], {key: 0 for key in run.books["lost"]})
        return run

    def leaves(self, run, comm):
        """The symbols of the functions that one of these processes spent its time in."""
        counts = {}
        for stack in run.stacks:
            frames = [frame for frame in stack["user"] if "/" + comm in frame.get("object", "")]
            if stack["comm"] == comm and frames:
                self.assertEqual(stack["stop"], "outermost")
                name = frames[0].get("symbol")
                counts[name] = counts.get(name, 0) + stack["count"]
        return {name for name, count in counts.items() if count > sum(counts.values()) / 20}

    def named(self, run, **want):
        for comm, names in want.items():
            self.assertEqual(self.leaves(run, comm), set(names), comm)


class Names(Twins):
    def test_two_builds_without_build_id(self):
        one, two = self.twins(NO_BUILD_ID)
        self.named(self.run_all(f"{one} 300", f"{two} 300"), one=["alpha"], two=["bravo"])

    def test_two_builds_that_claim_one_build_id(self):
        one, two = self.twins(ONE_BUILD_ID)
        self.named(self.run_all(f"{one} 300", f"{two} 300"), one=["alpha"], two=["bravo"])

    def test_of_two_owners(self):
        one, two = self.twins(ONE_BUILD_ID)
        os.chown(one, USER, USER)
        self.named(self.run_all(f"{one} 300", f"{two} 300"), one=["alpha"], two=["bravo"])

    def test_what_is_kept_on_disk(self):
        for options in NO_BUILD_ID, ONE_BUILD_ID:
            one, two = self.twins(options)
            os.chown(one, USER, USER)
            for path in one, two:  # a file that was just written is not kept
                os.utime(path, (1, 1))
            cache = "--cache", self.path("cache" + options[-4:])
            for _ in range(2):
                self.named(self.run_all("sleep 0.1", f"{one} 300", options=cache), one=["alpha"])
                self.named(self.run_all("sleep 0.1", f"{two} 300", options=cache), two=["bravo"])

    def test_another_file_in_the_place_of_one(self):
        one, two = self.twins(NO_BUILD_ID)
        run = self.run_all(f"{one} 300", f"mv {two} {one}", f"{one} 300")
        self.named(run, one=["alpha", "bravo"])

    def test_an_inode_that_is_written_anew(self):
        """Nobody can read the names of the first any more: it has none, not those of the second."""
        for options in NO_BUILD_ID, ONE_BUILD_ID, "-Wl,--build-id=sha1":
            one, two = self.twins(options)
            run = self.run_all(f"{one} 300", "sleep 0.02", f"cat {two} >{one}", f"{one} 300")
            self.named(run, one=[None, "bravo"])
            self.assertEqual(run.stderr.count(f"{one}: was written to while it was profiled"), 1,
                             run.stderr)

    def test_from_a_recording(self):
        one, two = self.twins(NO_BUILD_ID)
        run = self.run_all(f"{one} 300", f"{two} 300")
        done = self.fpless("report", "-f", run.jsonl_path)
        self.assertEqual(done.returncode, 0, done.stderr)
        for comm, name in ("one", "alpha"), ("two", "bravo"):
            lines = [line for line in done.stdout.decode().splitlines()
                     if line.startswith(comm + ";") and ("alpha" in line or "bravo" in line)]
            self.assertTrue(lines)
            self.assertEqual([line for line in lines if name not in line], [])


class Copies(Twins):
    def tables(self, *paths):
        """How many tables the run has more than one of the first program alone."""
        commands = [f"{path} 100" for path in paths]
        return self.run_all(*commands).stats["tables"]["objects"]

    def test_copies_and_links_share_a_table(self):
        for options in NO_BUILD_ID, "-Wl,--build-id=sha1":
            one = self.build("one", NAMES[0], options)
            for name in "copy", "other":
                shutil.copy(one, self.path(name))
            os.link(one, self.path("link"))
            paths = [one, *map(self.path, ("copy", "other", "link"))]
            self.assertEqual(self.tables(*paths), self.tables(one))
            for path in paths:
                os.unlink(path)

    def test_copies_have_their_names(self):
        one = self.build("one", NAMES[0], NO_BUILD_ID)
        two = shutil.copy(one, self.path("two"))
        self.named(self.run_all(f"{one} 300", f"{two} 300"), one=["alpha"])
        run = self.run_all(f"{two} 300", f"{one} 300")
        # the object is the first one that was met
        self.assertEqual({frame["symbol"] for stack in run.stacks for frame in stack["user"]
                          if frame.get("object") == two and frame["symbol"] in NAMES}, {"alpha"})


if __name__ == "__main__":
    if not shutil.which("gcc"):
        print("SKIP: needs gcc")
        raise SystemExit(77)
    main()
