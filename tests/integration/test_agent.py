#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The agent keeps windows in a store, and query answers from it what was sampled."""

import contextlib
import glob
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import time

from root_case import FPLESS, RootCase, fixture, main, wait_for
import dashboard  # in the folder that root_case adds

LENGTH_S = 1


class Agent(RootCase):
    def query(self, *args, status=0):
        done = self.fpless("query", *args, "--store", self.path("store"))
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout.decode()

    def answer(self, *args):
        return json.loads(self.query(*args, "--json"))

    def lines(self, path):
        """The folded lines whose frames all have names: a store keeps no addresses of code in no file."""
        with open(self.path(path), encoding="utf-8") as file:
            return sorted(line for line in file if not any(mark in line for mark in ("+0x", "[0x", "[unknown]")))

    def test_what_is_kept_is_what_was_sampled(self):
        began = time.time()
        done = self.fpless("agent", "--no-cache", "--store", self.path("store"), "--label", "host=a", "--window",
                           str(LENGTH_S), "-F", "199", "-d", "4", "-o", self.path("w-%t.pb.gz"), "--metrics",
                           self.path("x.prom"), "--top", "3", "--",
                           fixture("chain"), "100000000")
        self.assertEqual(done.returncode, 0, done.stderr)
        files = sorted(glob.glob(self.path("w-*.pb.gz")))
        windows = self.answer("list")["windows"]
        self.assertEqual(len(windows), len(files))
        self.assertGreaterEqual(len(windows), 3)

        # each stack and the sums: what report makes of the files is what the store has
        shape = ("-q", "--annotate", "--origin", "--delimited", "--by", "comm,cgroup")
        self.assertEqual(self.fpless("report", *shape, "-o", self.path("r.folded"), "--stats", self.path("r.json"),
                                     *files).returncode, 0)
        self.query("export", *shape, "-o", self.path("q.folded"), "--stats", self.path("q.json"))
        self.assertEqual(self.lines("r.folded"), self.lines("q.folded"))
        with open(self.path("r.json"), encoding="utf-8") as file:
            sampled = json.load(file)
        with open(self.path("q.json"), encoding="utf-8") as file:
            kept = json.load(file)
        for key in ("fired", "shown", "idle", "filtered", "lost", "expected", "missed", "stop", "complete", "user_samples"):
            self.assertEqual(sampled[key], kept[key], key)
        self.assertEqual(sum(window["samples"] for window in windows), sampled["shown"])
        self.assertEqual(sum(window["complete"] for window in windows), sampled["complete"])

        # and what the metrics say; the file is for a collector of another user
        with open(self.path("x.prom"), encoding="utf-8") as file:
            metrics = dict(line.rsplit(" ", 1) for line in file if not line.startswith("#"))
        self.assertEqual(os.stat(self.path("x.prom")).st_mode & 0o777, 0o644)
        self.assertEqual(int(metrics["fpless_windows_total"]), len(windows))
        self.assertEqual(int(metrics['fpless_samples_total{source="cpu-clock"}']), sampled["shown"])
        for key, name in (("lost", "fpless_lost_total{reason"), ("stop", "fpless_incomplete_total{stop")):
            self.assertEqual(sum(int(value) for series, value in metrics.items() if series.startswith(name)),
                             sum(number for reason, number in sampled[key].items() if reason != "outermost"))
        self.assertEqual(int(metrics["fpless_last_window_samples"]), windows[-1]["samples"])
        self.assertGreater(int(metrics["fpless_store_bytes"]), 4096)
        self.assertGreater(float(metrics["fpless_bpf_seconds_total"]), 0)
        self.assertIn('fpless_top_function_share{function="spin"}', metrics)
        # and what the dashboard shows is exported
        with open(self.path("x.prom"), encoding="utf-8") as file:
            self.assertEqual(dashboard.missing(dashboard.read(), file.read(), "fpless_(?!serve_|push_)"), [])

        # the same functions in each question
        chain = ("--comm", "^chain$")
        top = self.answer("top", *chain)
        spin = next(function for function in top["functions"] if function["function"] == "spin")
        self.assertEqual(top["windows"], len(windows))
        self.assert_share(spin["total"], top["sum"], 0.5)
        found = self.answer("find", "^spin$", *chain)
        self.assertEqual(sum(window["total"] for window in found["windows"]), spin["total"])
        first = windows[0]["start_unix_ns"]
        self.assertEqual(self.answer("find", f"@{first // 10**9 + 1}")["windows"], 1)
        self.assertIn("spin", self.query("top", *chain))

        # a part and the rest are the whole; a part before all has no samples
        middle = f"@{windows[len(windows) // 2]['start_unix_ns'] // 10**9 + 1}"
        parts = [self.answer("list", *part)["windows"] for part in (("--to", middle), ("--from", middle))]
        self.assertEqual(parts[0] + parts[1], windows)
        self.query("list", "--from", f"@{int(began) - 7200}", "--to", f"@{int(began) - 3600}", status=3)
        changes = self.query("diff", "--from", middle, "--before", f"@{int(began) - 60}..{middle}", *chain)
        self.assertIn("spin", changes)
        self.query("flame", "-q", "-o", self.path("x.svg"))
        self.assertGreater(os.path.getsize(self.path("x.svg")), 1000)
        self.assertIn("as it was written", self.query("check"))

        # windows of files become the same store
        self.assertEqual(self.fpless("query", "import", "--store", self.path("copy"), *files).returncode, 0)
        copied = json.loads(self.fpless("query", "list", "--json", "--store", self.path("copy")).stdout)
        self.assertEqual([window["samples"] for window in copied["windows"]], [window["samples"] for window in windows])

    def test_the_service_manager_hears_of_each_window(self):
        with open(self.path("conf"), "w", encoding="utf-8") as file:
            file.write(f"store = {self.path('store')}\n# all the time\nwindow = 1\nno-cache\nquiet\n")
        told = []
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(self.path("notify"))
            manager.settimeout(120)
            env = {**os.environ, "NOTIFY_SOCKET": self.path("notify"), "WATCHDOG_USEC": "5000000"}
            with subprocess.Popen([FPLESS, "agent", "--config", self.path("conf"), "--", "sh", "-c",
                                   'test -z "$NOTIFY_SOCKET$WATCHDOG_USEC" && exec sleep 300'], env=env,
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as agent:
                while sum("WATCHDOG=1" in message for message in told) < 2:
                    told.append(manager.recv(4096).decode())
                agent.terminate()
                while "STOPPING=1" not in told[-1]:
                    told.append(manager.recv(4096).decode())
                said = agent.communicate()[1]
                self.assertEqual(agent.returncode, 0, said)
        # three windows of a second and a minute are longer than what the manager would wait
        self.assertEqual(told[0], "WATCHDOG_USEC=63000000")
        self.assertTrue(told[1].startswith("READY=1\n"), told)
        fed = [message for message in told if "WATCHDOG=1" in message]
        self.assertRegex(fed[0], r"STATUS=1 windows kept, 0 not; the last of \d{8}T\d{6}Z has \d+ samples, \d+ more lost")
        self.assertRegex(fed[1], "STATUS=2 windows kept")
        self.assertGreaterEqual(len(self.answer("list")["windows"]), 2)

    def kept(self, table):
        """Rows of the store: two functions of one name are of two objects."""
        with contextlib.closing(sqlite3.connect(os.path.join(self.path("store"), "fpless.db"))) as store:
            return store.execute(f"SELECT * FROM {table}").fetchall()

    def test_names_come_with_a_debug_file(self):
        program, debug, aside = self.path("chain"), self.path("chain.debug"), self.path("aside")
        shutil.copy(fixture("chain"), program)
        subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
        subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", program], check=True)
        os.rename(debug, aside)
        for _ in range(2):
            done = self.fpless("agent", "--no-cache", "--store", self.path("store"), "--window", str(LENGTH_S), "-F", "199", "-q",
                               "-d", "3", "--", program, "100000000")
            self.assertEqual(done.returncode, 0, done.stderr)
        before = self.answer("top", "--comm", "^chain$")
        self.assertRegex(before["functions"][0]["function"], r"^\[chain\+0x")
        missing = {entry["object"]: entry for entry in self.answer("advice", "--comm", "^chain$")["names_missing"]}
        self.assertGreaterEqual(missing[program]["leaf_samples"], before["functions"][0]["self"])

        # nothing has come yet, and no window of a time before the first one lacks anything
        self.assertRegex(self.query("resymbolize"), "^0 of [1-9][0-9]* functions without a name have one now")
        os.rename(aside, debug)
        self.assertRegex(self.query("resymbolize", "--to", "-1d"), "^0 of 0 functions")
        self.assertRegex(self.query("resymbolize"), "^[1-9][0-9]* of [1-9][0-9]* functions without a name have one now")
        self.assertIn("as it was written", self.query("check"))
        after = self.answer("top", "--comm", "^chain$")
        self.assertEqual(after["functions"][0]["function"], "spin")
        self.assertEqual(after["sum"], before["sum"])
        # in the windows of both runs, which hold the rows that were there
        found = self.answer("find", "^spin$")
        self.assertEqual(found["windows_with_it"], len(self.answer("list", "--comm", "^chain$")["windows"]))
        callers = [entry["function"] for entry in self.answer("function", "^spin$")["functions"][0]["callers"]]
        self.assertTrue({"outer", "indirect", "far_away", "main"} & set(callers), callers)
        # and a run that comes is put beside them
        done = self.fpless("agent", "--no-cache", "--store", self.path("store"), "--window", str(LENGTH_S), "-F", "199", "-q",
                           "-d", "2", "--", program, "100000000")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("as it was written", self.query("check"))
        spins = [entry for entry in self.answer("top", "--comm", "^chain$")["functions"] if entry["function"] == "spin"]
        self.assertEqual(len(spins), 1, (spins, self.kept("object"), self.kept("string")))

    def test_an_agent_that_is_killed_loses_the_open_window_at_most(self):
        command = [FPLESS, "agent", "--no-cache", "--store", self.path("store"), "--window", "0.5", "-q", "-d", "300"]
        agent = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)

        def windows():
            if agent.poll() is not None:
                self.fail(agent.stderr.read())
            done = self.fpless("query", "list", "--json", "--store", self.path("store"))
            return json.loads(done.stdout)["windows"] if done.returncode == 0 else []

        wait_for("three windows", lambda: len(windows()) >= 3)
        seen = windows()
        # a second one may not write it
        second = self.fpless("agent", "--no-cache", "--store", self.path("store"), "-d", "1")
        self.assertEqual(second.returncode, 2)
        self.assertIn(b"another fpless writes this store", second.stderr)
        self.query("resymbolize", status=2)
        os.kill(agent.pid, signal.SIGKILL)
        agent.wait()
        agent.stderr.close()
        kept = self.answer("list")["windows"]
        self.assertEqual(kept[:len(seen)], seen)
        self.assertIn("as it was written", self.query("check"))
        # and the next one goes on where it ended
        wait_for("another agent", lambda: self.fpless(*command[1:-1], "1").returncode == 0)
        after = self.answer("list")["windows"]
        self.assertEqual(after[:len(kept)], kept)
        self.assertGreater(len(after), len(kept))


if __name__ == "__main__":
    main()
