# SPDX-License-Identifier: Apache-2.0
"""Run inside gdb, on a test program: see run.py. Prints a line `STOP {...}` of JSON for each place that is looked at."""

import json
import os
import re
import signal
import sys
import threading

import gdb

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gdb"))
from spinning import OPTIONS, frames_of_gdb, mappings, number, set_up, spin  # noqa: E402

REACHED_WITHIN_S = 20
SPEC = re.compile(r"^(?P<place>[^:+]+)(\+(?P<steps>\d+))?(:(?P<nth>\d+))?$")


def run_to(spec):
    """None, or why the program is not there."""
    match = SPEC.match(spec)
    point = gdb.Breakpoint(match["place"])
    point.ignore_count = int(match["nth"] or 1) - 1
    timer = threading.Timer(REACHED_WITHIN_S, stop_waiting)
    timer.start()
    try:
        gdb.execute("run %s < /dev/null > /dev/null 2>&1" % OPTIONS["args"], to_string=True)
        if not gdb.selected_inferior().pid:
            return "it ended before"
        if point.hit_count < int(match["nth"] or 1):
            return "it did not come there"
        gdb.execute("delete", to_string=True)
        for _ in range(int(match["steps"] or 0)):
            gdb.execute("stepi", to_string=True)
    finally:
        timer.cancel()
        gdb.execute("delete", to_string=True)
    return None


def stop_waiting():
    if gdb.selected_inferior().pid:
        os.kill(gdb.selected_inferior().pid, signal.SIGINT)


def look(spec):
    why = run_to(spec)
    if why:
        return {"place": spec, "missing": why}
    pid, thread, pc = gdb.selected_inferior().pid, gdb.selected_thread(), number("$pc")
    theirs = frames_of_gdb(mappings(pid))
    _, counts, thread = spin(pid, thread)
    moved = not thread or number("$pc") != pc
    return {"place": spec, "moved": moved, "theirs": theirs, "stacks": [[json.loads(text), count] for text, count in counts.most_common()]}


def main():
    set_up()
    gdb.execute("set breakpoint pending off", to_string=True)
    for spec in OPTIONS["stops"]:
        try:
            result = look(spec)
        except gdb.error as error:
            result = {"place": spec, "missing": str(error)}
        print("STOP " + json.dumps(result), flush=True)
        if gdb.selected_inferior().pid:
            gdb.execute("kill", to_string=True)


main()
