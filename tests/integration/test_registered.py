#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code made at run time that is registered for debuggers by GDB's interface: a program of ours, whose stacks are known, and
LLVM in postgres."""

import os
import subprocess

from fpless_run import TIMEOUT_S
from root_case import RootCase, fixture, main
from waiting import wait_until_busy

NOBODY = 65534
ENOUGH = 100  # samples
POSTGRES = "/usr/lib/postgresql/15/"
WHICH = "first", "second", "third"


def chain_of(stack):
    """What the code is called, in a stack through spin_first, spin_second or spin_third: (which, names)."""
    names = [frame["symbol"] for frame in stack["user"]]
    spin = next((name for name in names if (name or "").startswith("spin_")), None)
    return (spin[len("spin_"):], names[names.index(spin) + 1:]) if spin else (None, names)


class Registered(RootCase):
    def sample(self, how, length, *options):
        """The stacks of the first third of a long time, which has begun."""
        process = self.start(fixture("registered"), "3000000", how)
        wait_until_busy(process.pid, 100)
        run = self.profile_while_busy([process.pid], 300 * length, "-F", "997", *options, "-p", str(process.pid))
        process.kill()
        return [stack for stack in run.stacks if "enter" in chain_of(stack)[1] or "object" not in stack["user"][0]
                or chain_of(stack)[0]]

    def nr_of(self, stacks, *stops):
        return sum(stack["count"] for stack in stacks if not stops or stack["stop"] in stops)

    def test_frames_and_names_are_those_of_its_file(self):
        for how in "eh_frame", "debug_frame":
            with self.subTest(how):
                stacks = self.until_seen("samples", lambda length, how=how: self.sample(how, length),
                                         lambda stacks: self.nr_of(stacks) >= ENOUGH)
                whole = [stack for stack in stacks if stack["stop"] == "outermost"]
                print(f"{how}: {self.nr_of(stacks)} samples, {self.nr_of(whole)} complete")
                self.assert_share(self.nr_of(whole), self.nr_of(stacks), 0.998,
                                  [stack for stack in stacks if stack["stop"] != "outermost"])
                nr_leaves = 0
                for stack in whole:
                    which, names = chain_of(stack)
                    self.assertIn(which, (None, "first"), stack)
                    made = [frame for frame in stack["user"] if frame["origin"] == "jit"]
                    chain = [name for name in names if (name or "").startswith("first_")]
                    nr_leaves += stack["count"] if which is None and chain else 0
                    self.assertEqual(len(chain), len(made), stack)
                    if which or len(chain) == 2:
                        self.assertEqual(names[names.index("first_inner"):][:3], ["first_inner", "first_outer", "enter"], stack)
                self.assertGreater(nr_leaves, 0)
                stacks = self.until_seen("samples without methods", lambda length, how=how: self.sample(how, length, "--no-jit"),
                                         lambda stacks: self.nr_of(stacks) >= ENOUGH)
                self.assertLess(self.nr_of(stacks, "outermost"), self.nr_of(stacks) / 2)

    def run_all(self, length):
        """A run of all three thirds: {which: {names of the two callers: samples}}."""
        run = self.profile("-F", "997", "--", fixture("registered"), str(1500 * length))
        found = {which: {} for which in WHICH}
        for stack in run.stacks:
            which, names = chain_of(stack)
            if which:
                found[which][tuple(names[:2])] = found[which].get(tuple(names[:2]), 0) + stack["count"]
        return found

    def test_code_that_is_registered_no_more_gives_its_name_to_no_other(self):
        found = self.until_seen("samples of each third", self.run_all,
                                lambda found: all(sum(found[which].values()) >= ENOUGH for which in WHICH))
        print(found)
        for which in WHICH:
            for names in found[which]:
                for name in names:
                    if (name or "").endswith(("_inner", "_outer")):
                        self.assertNotEqual(which, "third", found)
                        self.assertEqual(name.split("_")[0], which, found)
        for which in WHICH[:2]:
            # also where stacks end in the code, until it is known how that is walked
            nr = sum(count for names, count in found[which].items() if names[:1] == (which + "_inner",))
            self.assert_share(nr, sum(found[which].values()), 0.8, found)

    def start_postgres(self, *options):
        os.chmod(self.folder, 0o755)
        data = self.path("data")
        if not os.path.exists(data):
            os.mkdir(data)
            os.chown(data, NOBODY, NOBODY)
            subprocess.run([POSTGRES + "bin/initdb", "-D", data, "-A", "trust", "--no-sync"], stdout=subprocess.DEVNULL, check=True,
                           user=NOBODY, group=NOBODY, timeout=TIMEOUT_S, env={"LC_ALL": "C"}, cwd="/")
            with open(self.path("sql"), "w", encoding="ascii") as file:
                file.write("select sum(i*2+length(i::text)) from generate_series(1,1000000) i where i % 3 <> 1;\n" * 200)
        words = " ".join(f"-c {option}" for option in ("jit=on", "jit_above_cost=0", *options))
        return self.start("sh", "-c", f"exec {POSTGRES}bin/postgres --single {words} -D {data} postgres <{self.path('sql')}",
                          user=NOBODY, group=NOBODY, env={"LC_ALL": "C"}, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def sample_postgres(self, length, *options):
        """Stacks of queries after the first one, which go through code made at run time."""
        process = self.start_postgres("jit_debugging_support=on")
        wait_until_busy(process.pid, 500)
        run = self.profile_while_busy([process.pid], 1500 * length, "-F", "997", *options, "-p", str(process.pid))
        process.kill()
        return [stack for stack in run.stacks if any("object" not in frame for frame in stack["user"])]

    def test_postgres(self):
        if not os.path.exists(POSTGRES + "lib/llvmjit.so"):
            self.skipTest("no postgres with LLVM")
        stacks = self.until_seen("samples of compiled expressions", self.sample_postgres, lambda stacks: self.nr_of(stacks) >= ENOUGH)
        made = [(frame["symbol"], stack["count"]) for stack in stacks for frame in stack["user"] if "object" not in frame]
        named = sum(count for symbol, count in made if symbol)
        print(f"{self.nr_of(stacks)} samples, {self.nr_of(stacks, 'outermost')} complete; of {sum(count for _, count in made)} frames "
              f"{named} named: {sorted({symbol for symbol, _ in made if symbol})}")
        self.assert_share(self.nr_of(stacks, "outermost"), self.nr_of(stacks), 0.95,
                          [stack for stack in stacks if stack["stop"] != "outermost"])
        self.assert_share(named, sum(count for _, count in made), 0.95)
        self.assertTrue(all(symbol.startswith(("evalexpr_", "deform_")) for symbol, _ in made if symbol), made)


if __name__ == "__main__":
    main()
