#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Probes as sources: as many samples as the program came by, with the callers that it came from, of the arguments that were
asked for; weights are sums of an argument."""

import json
import os
import re
import shutil
import subprocess
import sys

from fpless_run import skip
from return_probes import need_uprobes
from root_case import FPLESS, RootCase, fixture, main

NR = 2000
BYTES = 4242  # of an allocation
PROBED = fixture("probed")
ALLOCATES = ("/usr/bin/perl", "-e", "1")
# Does the kernel set many breakpoints at once, in all threads of a process?
HAS_LINKS = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2]) >= (6, 10)

# A burst of events of a process that is milliseconds old needs room for as many snapshots.
ROOM = ("--ring-memory", "256M")


def symbols(stack):
    return [frame.get("symbol") for frame in stack["user"]]


class Probes(RootCase):
    def probe(self, word, *options, program=(PROBED, str(NR)), all_complete=True):
        """A run whose samples are all that were due."""
        run = self.profile("-e", word, *options, *ROOM, "--", *program)
        gone = run.stats["stop"]["exiting"] + run.stats["stop"]["execing"]
        if all_complete:
            self.assertEqual(run.stats["complete"], run.stats["user_samples"] - gone, run.stats["stop"])
        self.assertEqual(sum(run.stats["lost"].values()), 0)
        self.assertEqual(run.stats["missed"], 0)
        self.assertEqual(run.stats["counted"], run.stats["fired"])
        self.assertEqual(run.stats["weight"], sum(stack["weight"] for stack in run.stacks))
        return run

    @staticmethod
    def samples(run, *names):
        """Samples that hold all functions of these names."""
        return sum(stack["count"] for stack in run.stacks if set(names) <= set(symbols(stack)))

    def test_each_call_is_a_sample_with_its_caller(self):
        run = self.probe(f"uprobe:{PROBED}:take")
        self.assertEqual(self.samples(run), NR)
        for stack in run.stacks:
            self.assertEqual(symbols(stack)[:2], ["take", "takes"])
        self.assertRegex(run.meta["event"], "^uprobe:.*probed:take$")

    def test_each_exception_is_a_sample_of_its_thrower(self):
        run = self.probe("usdt:libstdc++.so.6:libstdcxx:throw")
        self.assertEqual((self.samples(run, "left"), self.samples(run, "right")), (NR * 3 // 4, NR // 4))
        self.assertEqual(self.samples(run), NR)

    def test_a_return_is_a_sample_of_the_caller(self):
        run = self.probe(f"uretprobe:{PROBED}:take", "--weight", "retval")
        self.assertEqual(self.samples(run), NR)
        for stack in run.stacks:
            self.assertEqual(symbols(stack)[0], "takes")
        # take(N) is N + 1
        self.assertEqual(run.stats["weight"], NR // 100 * sum(range(100)) + NR)

    def test_filters_and_weights_take_arguments(self):
        run = self.probe(f"uprobe:{PROBED}:take", "--filter", "arg0 > 49 && arg0 <= 89", "--weight", "arg0", "--unit", "bytes")
        self.assertEqual(self.samples(run), NR // 100 * 40)
        self.assertEqual(run.stats["weight"], NR // 100 * sum(range(50, 90)))
        self.assertEqual(sum(stack["weight_squares"] for stack in run.stacks),
                         NR // 100 * sum(size * size for size in range(50, 90)))
        self.assertEqual((run.meta["weight_type"], run.meta["weight_unit"]), ("arg0", "bytes"))
        self.assertGreaterEqual(run.stats["filtered"], NR // 100 * 60)

    def test_allocations_of_libc_are_counted_and_weighed(self):
        run = self.probe("uprobe:libc.so.6:malloc", "--filter", f"arg0 == {BYTES}", "--weight", "arg0", "--unit", "bytes")
        self.assertEqual((self.samples(run, "allocates"), run.stats["weight"]), (NR, NR * BYTES))
        run = self.probe("uretprobe:libc.so.6:malloc", "--filter", "retval != 0")
        self.assertGreaterEqual(self.samples(run), NR)
        self.assertNotIn("malloc", {symbols(stack)[0] for stack in run.stacks})

    def test_texts_are_compared(self):
        run = self.probe(f"uprobe:{PROBED}:named", "--filter", 'str(arg0) ~ "/etc/*"')
        self.assertEqual(self.samples(run), NR // 4)
        run = self.probe(f"uprobe:{PROBED}:named", "--filter", 'str(arg0) !~ "/etc/*"')
        self.assertEqual(self.samples(run), NR - NR // 4)

    def test_arguments_of_marked_places(self):
        # values are -10, -9, ...
        for word, filter_, wanted in (("plain", "arg0 < 0", 10), ("plain", "arg1 == 7", NR), ("plain", "arg1 != 7", 0),
                                      ("memory", "arg0 < -5", 5), ("memory", "arg0 >= 1000", NR - 1010)):
            with self.subTest(word + " " + filter_):
                args = ("-e", f"usdt:{PROBED}:fixture:{word}", "--filter", filter_)
                if wanted:
                    run = self.probe(*args[1:])
                    self.assertEqual(self.samples(run, "marks"), wanted)
                    self.assertEqual(self.samples(run), wanted)
                else:
                    self.assertEqual(self.fpless("profile", *args, "--", PROBED, "10").returncode, 3)

    def test_all_places_of_a_probe_are_sampled(self):
        run = self.probe(f"usdt:{PROBED}:fixture:several")
        self.assertEqual(self.samples(run, "marks"), 2 * NR)
        self.assertEqual(len({stack["user"][0]["vaddr"] for stack in run.stacks}), 2)
        self.assert_refused(self.fpless("profile", "-e", f"usdt:{PROBED}:fixture:several", "--filter", "arg0", "--", PROBED), 1,
                            "--filter", "at 2 places, where these arguments lie in different registers")

    def test_a_thousand_places_are_set_and_taken_away_at_once(self):
        run = self.probe(f"usdt:{PROBED}:fixture:thousand", "--filter", "arg0 < 2", program=(PROBED, "3"))
        self.assertEqual(self.samples(run, "thousand"), 2000)
        self.assertEqual(len({stack["user"][0]["vaddr"] for stack in run.stacks}), 1000)
        if HAS_LINKS:  # else it takes the kernel 0.1 s for each
            self.assertNotIn("breakpoints", run.stderr)

    def test_a_probe_with_a_semaphore_is_on_while_it_is_sampled(self):
        run = self.probe(f"usdt:{PROBED}:fixture:counted")
        self.assertEqual(self.samples(run, "marks"), NR)
        self.assertEqual(run.stdout.split()[3], b"%d" % NR)
        self.assertEqual(subprocess.run([PROBED, "10"], capture_output=True, check=True).stdout.split()[3], b"0")

    def test_offsets_are_those_of_instructions(self):
        taken = 0
        for off in range(1, 12):
            word = f"uprobe:{PROBED}:takes+{off}"
            run = self.fpless("profile", "-e", word, "-f", *ROOM, "--", PROBED, "100")
            if run.returncode:
                self.assert_refused(run, 1, word, "no instruction begins there")
                continue
            taken += 1
            self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in run.stdout.decode().splitlines()), 100)
        self.assertIn(taken, range(1, 11))

    def test_addresses_tell_functions_of_one_name_apart(self):
        run = self.fpless("profile", "-e", f"uprobe:{PROBED}:twin", "--", PROBED)
        self.assert_refused(run, 1, "2 functions are called twin: name one by its address: 0x")
        for address in re.findall(r"0x[0-9a-f]+", run.stderr.decode()):
            found = self.probe(f"uprobe:{PROBED}:{address}")
            self.assertEqual(self.samples(found, "twin"), NR)
            self.assertEqual(self.samples(found), NR)

    def test_a_program_may_write_over_what_is_probed(self):
        program = fixture("rewrites")
        run = self.probe(f"uprobe:{program}:taken", program=(program, str(NR)))
        self.assertEqual(int(run.stdout), 2 * NR)
        self.assertEqual(self.samples(run, "calls"), NR)

    def test_another_file_takes_the_place_of_one_that_is_probed(self):
        """The probe belongs to the file that was found, whatever stands at its path later."""
        path, next_one = self.path("program"), self.path("next")
        for copy in (path, next_one):
            shutil.copy2(fixture("rewrites"), copy)
        script = f"{path} {NR}; mv {next_one} {path}; {path} {NR}"
        run = self.probe(f"uprobe:{path}:taken", program=("sh", "-c", script))
        self.assertEqual(run.stdout.split(), [b"%d" % (2 * NR)] * 2)
        self.assertEqual(self.samples(run, "calls"), NR)

    def test_one_in_so_many(self):
        run = self.probe(f"uprobe:{PROBED}:take", "-c", "10")
        self.assertLess(abs(NR // 10 - self.samples(run)), os.cpu_count() + 1)
        self.assertEqual(run.stats["weight"], 10 * self.samples(run))

    def test_processes_pay_for_no_other(self):
        """A probe of -p is set in the processes that were named."""
        others = self.start(PROBED, "100", "60", stdout=subprocess.DEVNULL)
        process = self.start(PROBED, "100", "60", stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        process.stdout.readline()
        run = self.profile("-e", "uprobe:probed:take", "-p", str(process.pid), "-d", "1", *ROOM)
        self.assertIsNone(others.poll())
        self.assertEqual((run.stats["filtered"], run.stats["shown"]), (0, run.stats["fired"]))
        self.assertGreaterEqual(self.samples(run), 100)
        self.assertEqual({stack["pid"] for stack in run.stacks}, {process.pid})

    def test_a_library_is_found_where_the_process_has_it(self):
        """Its file is in no folder of libraries, and it is known by its soname."""
        library = os.path.join(self.folder, "libtaken.so.7.1")
        source = self.path("taken.c")
        with open(source, "w", encoding="ascii") as file:
            file.write("int taken(int x) { return x + 1; }\n")
        gcc = shutil.which("gcc")
        if not gcc:
            self.skipTest("no gcc")
        subprocess.run([gcc, "-shared", "-fPIC", "-o", library, source], check=True)
        process = self.start(sys.executable, "-S", "-c", "import ctypes, sys, time\n"
                             "taken = ctypes.CDLL(sys.argv[1]).taken\nprint(flush=True)\n"
                             "while True:\n    taken(1)\n    time.sleep(0.001)", library, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        process.stdout.readline()
        run = self.profile("-e", "uprobe:libtaken.so.7:taken", "-p", str(process.pid), "-d", "1", *ROOM)
        self.assertGreater(self.samples(run), 10)
        self.assertEqual({symbols(stack)[0] for stack in run.stacks}, {"taken"})

    def test_other_verbs_take_them(self):
        out = self.path("probes.jsonl")
        self.other_verbs_take(("-e", f"uprobe:{PROBED}:take"), (PROBED, "50"), out,
                              (("compare", (), b"complete"), ("top", ("--plain", "--since-start"), b"take"),
                               ("profile", ("--stream",), b"take"), ("record", ("-o", out), b"")),
                              (("report", (out,)), ("diff", (out, out)), ("script", (out,))))

    def test_the_report_counts_hits_that_were_filtered(self):
        run = self.fpless("profile", "-e", f"uprobe:{PROBED}:take", "--filter", "arg0 == 1", "-f", "--", PROBED, "1000")
        self.assertRegex(run.stderr.decode(), r"filtered +990 of 1000 hits were of other processes, or passed no filter: about 0\.6 ms")

    def test_what_cannot_be_probed_is_refused_by_name(self):
        for args, status, says in (
                ((f"uprobe:{PROBED}:tak",), 1, "probed: no function is called tak: did you mean take"),
                ((f"uprobe:{PROBED}:x" + 40 * "y",), 1, "probed: no function is called x"),
                ((f"uprobe:{PROBED}:take+100000",), 1, "take has "),
                ((f"uprobe:{PROBED}:0x1",), 1, "no function is called 0x1"),
                (("uprobe:libc.so.6:memcpy",), 1, "memcpy is no function, but chooses one when a program starts (IFUNC)"),
                ((f"usdt:{PROBED}:fixture:plane",), 1, "no USDT probe is called fixture:plane: did you mean fixture:plain?"),
                ((f"usdt:{PROBED}:other:nonsense",), 1, f"no USDT probe is called other:nonsense: fpless events {PROBED} names all"),
                (("usdt:/bin/true:a:b",), 1, "true: the file has no USDT probes"),
                (("uprobe:/no/such/file:f",), 2, "/no/such/file: No such file or directory"),
                (("uprobe:no_such_program:f",), 2, "no_such_program: no process of -p has it mapped, and no folder"),
                (("uprobe:/dev/null:f",), 2, "/dev/null: no regular file"),
                (("uprobe:/etc/passwd:f",), 2, "/etc/passwd: no ELF file"),
                ((f"uprobe:{PROBED}:take", "-C", "0"), 1, "is sampled on all CPUs"),
                ((f"uprobe:{PROBED}:take", "--filter", "retval"), 1, 'no field "retval": there are arg0'),
                ((f"uretprobe:{PROBED}:take", "--filter", "arg0"), 1, 'no field "arg0": there are retval, str(retval)'),
                ((f"uprobe:{PROBED}:take", "--weight", "str(arg0)"), 1, "--weight str(arg0): no number"),
                ((f"usdt:{PROBED}:fixture:memory", "--filter", "arg1"), 1, "arg1 is neither a number nor a text: 8@nowhere(%rip)"),
                ((f"uprobe:{PROBED}:take", "-F", "99"), 1, "-F: is for clocks")):
            with self.subTest(args):
                run = self.fpless("profile", "-e", *args, "--", "true")
                self.assert_refused(run, status, says)

    def test_rights_that_lack_are_named(self):
        shutil.copy(FPLESS, self.path("fpless"))
        os.chmod(self.folder, 0o755)
        caps = "+perfmon,+bpf,+sys_ptrace,+dac_read_search,+syslog"
        run = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps", caps,
                              "--ambient-caps", caps, self.path("fpless"), "profile", "-e", "uprobe:libc.so.6:malloc", "--", *ALLOCATES],
                             capture_output=True, check=False)
        if HAS_LINKS:
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertRegex(run.stderr, b"(?m)^fpless: [1-9][0-9,]* samples of uprobe:libc.so.6:malloc")
        else:
            self.assert_refused(run, 2, "uprobe:libc.so.6:malloc: probes need CAP_SYS_ADMIN, which is given up once they are set")

    def test_kernel_probes_are_taken_where_there_are_any(self):
        run = self.fpless("profile", "-e", "kprobe:do_exit", "-f", "--", "true")
        if os.path.exists("/sys/bus/event_source/devices/kprobe"):
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn(b"do_exit", run.stdout)
        else:
            self.assert_refused(run, 2, "kprobe: this kernel has none")

    def test_probes_of_a_file_are_listed(self):
        run = self.fpless("events", "--json", "--fields", PROBED)
        probes = {probe["name"]: probe for probe in json.loads(run.stdout)}
        self.assertEqual(set(probes), {f"usdt:{PROBED}:fixture:{name}"
                                       for name in ("counted", "memory", "plain", "several", "thousand")})
        plain = probes[f"usdt:{PROBED}:fixture:plain"]
        self.assertEqual((plain["kind"], plain["sampled_here"], plain["places"], plain["semaphore"]), ("usdt", "yes", 1, False))
        self.assertEqual([(field["name"], field["kind"]) for field in plain["fields"]],
                         [("arg0", "number"), ("arg1", "number"), ("str(arg1)", "text")])
        self.assertTrue(probes[f"usdt:{PROBED}:fixture:counted"]["semaphore"])
        self.assertEqual(probes[f"usdt:{PROBED}:fixture:several"]["places"], 2)
        run = self.fpless("events", PROBED)
        self.assertEqual([line.split()[0] for line in run.stdout.decode().splitlines()[1:]], sorted(probes))
        for name in probes:  # what is listed can be sampled
            self.probe(name, program=(PROBED, "10"))
        self.assert_refused(self.fpless("events", "/bin/true"), 1, "/bin/true: the file has no USDT probes")
        self.assert_refused(self.fpless("events", "/no/such"), 2, "/no/such: No such file or directory")


if __name__ == "__main__":
    need_uprobes()
    if not os.path.exists(PROBED):
        skip("no g++ built the program with probes")
    main()
