#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an agent and a server take while hours go by: run as root.

usage: hours.py BUILD [--hours 3] [--every 600] [--load]

Runs `fpless agent` with its defaults and `fpless serve`, which is asked for an hour's top functions at each look. A look every
--every seconds prints a row: the load, CPU time since the look before, in percent of one CPU, MiB of resident memory and
descriptors of both, the kernel's BPF maps of the agent, the store's bytes, and what its windows say of themselves. --load
has the machine work meanwhile: compiling, pgbench, JavaScript and rest take turns.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from run import processes

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../mixed"))
import loads  # noqa: E402

ROW = "{:>6} {:>5} {:>6} {:>6} {:>6} {:>5} {:>5} {:>9} {:>8} {:>7} {:>8} {:>8} {:>5}"
NAMES = ("min", "load", "CPU %", "agent", "serve", "fds", "maps", "maps MiB", "store", "windows", "samples", "compl. %", "lost")
LOADS = (loads.Build, loads.Postgres, loads.Node, None)  # None: rest


def resident(pid):
    """(KiB, descriptors, ns of CPU time) of a process and all below it."""
    memory = descriptors = ticks = 0
    for one in processes(pid):
        try:
            with open(f"/proc/{one}/smaps_rollup", encoding="ascii") as file:
                memory += next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
            with open(f"/proc/{one}/stat", encoding="utf-8") as file:
                ticks += sum(int(field) for field in file.read().rsplit(")", 1)[1].split()[11:15])
            descriptors += len(os.listdir(f"/proc/{one}/fd"))
        except (OSError, StopIteration):
            continue
    return memory, descriptors, ticks * 10**9 // os.sysconf("SC_CLK_TCK")


def maps_of(pid):
    """(count, bytes) of the BPF maps that the agent's processes hold."""
    found = {}
    for one in processes(pid):
        for number in os.listdir(f"/proc/{one}/fd"):
            try:
                if os.readlink(f"/proc/{one}/fd/{number}") != "anon_inode:bpf-map":
                    continue
                with open(f"/proc/{one}/fdinfo/{number}", encoding="ascii") as file:
                    fields = dict(line.split(":", 1) for line in file if ":" in line)
                found[fields["map_id"].strip()] = int(fields["memlock"])
            except (OSError, KeyError):
                continue
    return len(found), sum(found.values())


def windows_of(fpless, store):
    """(windows, samples, percent complete, lost) as `fpless query list` has them."""
    shown = subprocess.run([fpless, "query", "list", "--json", "--from", "-24h", "--limit", "100000", "--store", store],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if shown.returncode:
        return 0, 0, 0.0, 0
    windows = json.loads(shown.stdout)["windows"]
    total = {key: sum(window[key] for window in windows) for key in ("samples", "judged", "complete", "lost")}
    return len(windows), total["samples"], 100 * total["complete"] / max(total["judged"], 1), total["lost"]


def bytes_below(folder):
    return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))


class Turns:
    """LOADS one after another, each until the next look."""

    def __init__(self, folder, wanted):
        self.folder, self.wanted, self.turn, self.running = folder, wanted, 0, []
        loads.find_postgres()

    def spawn(self, command, **more):
        self.running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **more))
        return self.running[-1]

    def next(self):
        self.end()
        kind = LOADS[self.turn % len(LOADS)]
        if self.wanted and kind:
            folder = os.path.join(self.folder, str(self.turn))
            os.mkdir(folder)
            os.chmod(folder, 0o755)
            kind(folder).start(self.spawn)
        self.turn += 1

    def end(self):
        for process in reversed(self.running):
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
        self.running = []


def look(options, agent, server, store, began, before):
    """Prints a row; the CPU time of now, for the next."""
    fpless, address = os.path.join(options.build, "fpless"), os.path.join(store, "..", "serve.sock")
    subprocess.run(["curl", "-s", "--unix-socket", address, "http://localhost/api/top?from=-1h", "-o", "/dev/null"], check=False)
    agent_kib, descriptors, used = resident(agent.pid)
    server_kib, more, more_used = resident(server.pid)
    count, size = maps_of(agent.pid)
    windows, samples, complete, lost = windows_of(fpless, store)
    now, used = time.monotonic(), used + more_used
    with open("/proc/loadavg", encoding="ascii") as file:
        load = file.read().split()[0]
    share = "-" if before is None else f"{100 * (used - before[1]) / ((now - before[0]) * 1e9):.2f}"
    print(ROW.format(int((now - began) / 60), load, share, f"{agent_kib / 1024:.1f}", f"{server_kib / 1024:.1f}",
                     descriptors + more, count, f"{size / 2**20:.1f}", f"{bytes_below(store) / 2**20:.1f}", windows, samples,
                     f"{complete:.2f}", lost), flush=True)
    return now, used


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--hours", type=float, default=3)
    parser.add_argument("--every", type=float, default=600)
    parser.add_argument("--load", action="store_true")
    options = parser.parse_args()
    fpless = os.path.join(options.build, "fpless")
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        store, turns = os.path.join(work, "store"), Turns(work, options.load)
        agent = subprocess.Popen([fpless, "agent", "-q", "--store", store], **quiet)
        server = None
        try:
            time.sleep(75)
            server = subprocess.Popen([fpless, "serve", "--store", store, "--socket", os.path.join(work, "serve.sock")], **quiet)
            time.sleep(2)
            print(ROW.format(*NAMES), flush=True)
            began = time.monotonic()
            before = look(options, agent, server, store, began, None)
            while time.monotonic() < began + options.hours * 3600:
                turns.next()
                time.sleep(options.every)
                before = look(options, agent, server, store, began, before)
        finally:
            turns.end()
            agent.send_signal(signal.SIGTERM)
            if server:
                server.terminate()
                server.wait()
    if agent.wait():
        sys.exit(f"fpless agent: status {agent.returncode}")


if __name__ == "__main__":
    main()
