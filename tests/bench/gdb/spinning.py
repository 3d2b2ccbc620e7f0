# SPDX-License-Identifier: Apache-2.0
"""Run inside gdb: a process at a place where it spins, and what gdb and fpless say of it there."""

import collections
import json
import os
import subprocess
import sys

import gdb

OPTIONS = json.loads(os.environ["FPLESS_GDB"])
sys.path.insert(0, OPTIONS["tests"])
from gdb_check import load_segments, locate  # noqa: E402

SPIN = b"\xeb\xfe"  # jmp to itself
FRAMES_MAX = 3000
SETTINGS = ("set pagination off", "set confirm off", "set debuginfod enabled off", "set backtrace past-main on",
            "set backtrace past-entry on", "set backtrace limit unlimited", "set stack-cache off", "set code-cache off",
            "handle all nostop noprint pass", "handle SIGINT stop print nopass")


def set_up():
    for command in SETTINGS:
        gdb.execute(command, to_string=True)



def number(expression):
    return int(gdb.parse_and_eval(expression)) & (2**64 - 1)


def memory(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def mappings(pid):
    """[(start, end, offset, path)] of what can be executed."""
    found = []
    with open("/proc/%d/maps" % pid, encoding="utf-8") as file:
        for line in file:
            words = line.split(maxsplit=5)
            if "x" in words[1]:
                start, end = (int(word, 16) for word in words[0].split("-"))
                found.append((start, end, int(words[2], 16), words[5].strip() if words[5:] else ""))
    return found


def address_of(maps, frame):
    """Where in the process a frame of fpless is; None: nowhere, or in more places than one."""
    if "addr" in frame:
        return int(frame["addr"], 16)
    vaddr, places = int(frame["vaddr"], 16), set()
    for start, end, pgoff, path in maps:
        if path == frame["object"] and os.path.isfile(path):
            for offset, segment, _ in load_segments(path):
                address = vaddr - segment + offset - pgoff + start
                if offset & ~4095 <= pgoff and start <= address < end:
                    places.add(address)
    return places.pop() if len(places) == 1 else None


def frames_of_gdb(maps):
    """[(object, vaddr, name)] leaf first, without what was inlined or has jumped on."""
    found, frame = [], gdb.newest_frame()
    while frame is not None and frame.is_valid() and len(found) < FRAMES_MAX:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            found.append((*locate(maps, frame.pc()), frame.name()))
        try:
            frame = frame.older()
        except gdb.error:
            break
    return found


def frames_of_fpless(stack):
    return [(frame.get("object"), int(frame.get("vaddr") or frame["addr"], 16), frame["symbol"]) for frame in stack["user"]]


def places(frames):
    return [frame[:2] for frame in frames]


def sampled(tid, pc_place):
    """What fpless says of the thread: Counter of stacks (as JSON) whose leaf is where it spins."""
    path = os.path.join(OPTIONS["folder"], "stop.jsonl")
    subprocess.run([OPTIONS["fpless"], "profile", "-q", "-U", "-t", str(tid), "-F", "199", "-d", OPTIONS.get("window_s", "1"), "-o", path],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    counts = collections.Counter()
    with open(path, encoding="utf-8") as file:
        for stack in map(json.loads, file):
            if stack["type"] == "stack" and stack["user"] and frames_of_fpless(stack)[0][:2] == pc_place:
                counts[json.dumps({"user": stack["user"], "stop": stack["stop"]})] += stack["count"]
    return counts


def select(tid):
    for thread in gdb.selected_inferior().threads():
        if thread.ptid[1] == tid:
            thread.switch()
            return thread
    return None


def spin(pid, thread):
    """Lets the process go with a jump to itself where the thread is. Returns that place, what fpless says of it, and the
    thread of the process, which gdb has again and which is as it was; None: it is gone."""
    pc, tid = number("$pc"), thread.ptid[1]
    place, bytes_there = locate(mappings(pid), pc), memory(pc, len(SPIN))
    gdb.selected_inferior().write_memory(pc, SPIN)
    gdb.execute("detach", to_string=True)
    try:
        counts = sampled(tid, place)
    finally:
        gdb.execute("attach %d" % pid, to_string=True)
        gdb.selected_inferior().write_memory(pc, bytes_there)
    return place, counts, select(tid)
