#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_go_profiles.py FPLESS: profiles that Go's own profiler makes, of all its kinds."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

# pylint: disable=wrong-import-position
import pprof_file

FPLESS = os.path.realpath(sys.argv[1])
GO = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
TIMEOUT_S = 280
BUILD_ID = "00112233445566778899aabbccddeeff00112233"
KINDS = ("cpu", "heap", "allocs", "mutex", "block", "goroutine")
SOURCE = """package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

var kept [][]byte

//go:noinline
func spin(n int) (sum int) {
	for i := 0; i < n; i++ {
		sum += i ^ sum
	}
	return sum
}

//go:noinline
func keep(n int) { kept = append(kept, make([]byte, n)) }

//go:noinline
func drop(n int) int { return len(make([]byte, n)) }

func write(name string) {
	file, _ := os.Create(os.Args[1] + "/" + name + ".pb.gz")
	pprof.Lookup(name).WriteTo(file, 0)
	file.Close()
}

func main() {
	runtime.MemProfileRate = 512
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	cpu, _ := os.Create(os.Args[1] + "/cpu.pb.gz")
	pprof.StartCPUProfile(cpu)
	var mutex sync.Mutex
	var group sync.WaitGroup
	for i := 0; i < 4; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
				mutex.Lock()
				spin(100000)
				keep(512)
				mutex.Unlock()
				drop(8192)
			}
		}()
	}
	group.Wait()
	pprof.StopCPUProfile()
	cpu.Close()
	runtime.GC()
	for _, name := range []string{"heap", "allocs", "mutex", "block", "goroutine"} {
		write(name)
	}
}
"""


class GoProfiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="fpless-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        source, program = cls.path("prog.go"), cls.path("prog")
        with open(source, "w", encoding="utf-8") as file:
            file.write(SOURCE)
        env = {**os.environ, "GO111MODULE": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
        if not env.get("HOME"):
            env["GOCACHE"] = cls.path("cache")
        subprocess.run([GO, "build", "-ldflags", "-B 0x" + BUILD_ID, "-o", program, source], check=True, env=env,
                       stdin=subprocess.DEVNULL, timeout=TIMEOUT_S)
        subprocess.run([program, cls.folder], check=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def report(self, *args, status=0):
        done = subprocess.run([FPLESS, "report", *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    @staticmethod
    def total(folded):
        return sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines())

    def test_every_value_of_every_kind_adds_up(self):
        for kind in KINDS:
            path = self.path(kind + ".pb.gz")
            sums, _ = pprof_file.sums(pprof_file.read(path))
            for name, total in sums.items():
                with self.subTest(kind=kind, type=name):
                    again = self.path("again.pb.gz")
                    done = self.report("-f", "--sample-type", name, "-o", again, path, status=0 if total else 3)
                    self.assertEqual(self.total(done.stdout), total)
                    self.assertEqual(self.report("-q", "-f", again, status=0 if total else 3).stdout, done.stdout)
                    if total:
                        self.assertEqual(pprof_file.sums(pprof_file.read(again))[0][name], total)

    def test_what_the_file_prefers_is_the_default(self):
        for kind, counted in (("cpu", "samples"), ("heap", "bytes of inuse_space"), ("allocs", "bytes of alloc_space"),
                              ("mutex", r"contentions \([\d.,]+ .?s of delay\)"), ("goroutine", "goroutine")):
            with self.subTest(kind=kind):
                self.assertRegex(self.report(self.path(kind + ".pb.gz")).stderr, rf"^fpless: [\d,]+ {counted} of 1 file")
        done = self.report("--sample-type", "space", self.path("heap.pb.gz"), status=2)
        for name in ("alloc_objects (count)", "alloc_space (bytes)", "inuse_objects (count)", "inuse_space (bytes)"):
            self.assertIn(name, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_names_come_from_the_program(self):
        recorded = self.path("cpu.pb.gz")
        nameless = self.path("nameless.pb")
        with open(nameless, "wb") as file:
            file.write(pprof_file.without_names(pprof_file.read(recorded)))
        self.assertNotIn("main.spin", self.report("-f", nameless).stdout)
        before = self.report("-q", "-f", recorded).stdout
        named = self.report("-f", "--symfs", self.folder, nameless)
        self.assertIn("main.spin", before)
        self.assertRegex(named.stderr, "by the files of 1 objects")
        # the linker's names for assembly are not Go's
        for function in ("main.main.func1", "main.spin", "main.keep", "main.drop"):
            self.assertEqual(*(self.total("\n".join(line for line in folded.splitlines()
                                                    if function in re.split("[; ]", line)))
                               for folded in (before, named.stdout)), function)


if __name__ == "__main__":
    if not GO:
        print("SKIP: no Go to make profiles with")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
