# SPDX-License-Identifier: Apache-2.0
"""Run inside gdb, attached to a process: see run.py. Prints a line `STOP {...}` of JSON for each stop."""

import collections
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import gdb

OPTIONS = json.loads(os.environ["FPLESS_GDB"])
sys.path.insert(0, OPTIONS["tests"])
from gdb_check import load_segments, locate  # noqa: E402

SPIN = b"\xeb\xfe"  # jmp to itself
SYSCALL = b"\x0f\x05"
BACK_WITHIN_S = 20
FRAMES_MAX = 3000
STACK_BYTES = 1 << 20


def number(expression):
    return int(gdb.parse_and_eval(expression)) & (2**64 - 1)


def memory(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def stack_memory():
    """From the stack pointer on, as much as there is of STACK_BYTES."""
    size, sp = STACK_BYTES, number("$rsp")
    while size:
        try:
            return memory(sp, size)
        except gdb.MemoryError:
            size //= 2
    return b""


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
    """[(object, vaddr, name)] leaf first, without what was inlined."""
    found, frame = [], gdb.newest_frame()
    while frame is not None and frame.is_valid() and len(found) < FRAMES_MAX:
        if frame.type() != gdb.INLINE_FRAME:
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


def candidates():
    """Threads that are at work in code of a file, and not behind a system call."""
    inferior, found = gdb.selected_inferior(), []
    maps = mappings(inferior.pid)
    for thread in inferior.threads():
        thread.switch()
        pc = number("$pc")
        if memory(pc - 2, 2) != SYSCALL and os.path.isfile(locate(maps, pc)[0] or ""):
            found.append((thread, pc))
    return found


def sampled(tid, pc_place):
    """What fpless says of the thread: Counter of stacks (as JSON) whose leaf is where it spins."""
    path = os.path.join(OPTIONS["folder"], "stop.jsonl")
    subprocess.run([OPTIONS["fpless"], "profile", "-q", "-U", "-t", str(tid), "-F", "199", "-d", "1", "-o", path],
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


def run_back(pid, thread, address):
    """Runs the process until the thread is at @address with less on its stack. False: it did not come there."""
    gdb.execute("thbreak *%d thread %d if $rsp > %d" % (address, thread.num, number("$rsp")), to_string=True)
    timer = threading.Timer(BACK_WITHIN_S, os.kill, (pid, signal.SIGINT))
    timer.start()
    try:
        gdb.execute("continue", to_string=True)
    finally:
        timer.cancel()
        gdb.execute("delete", to_string=True)
    return thread.is_valid() and gdb.selected_thread() == thread and number("$pc") == address


def judge(pid, thread, counts):
    """Compares one stack of fpless with gdb's, here and where the code without CFI has returned to."""
    maps = mappings(pid)
    text, count = counts.most_common(1)[0]
    stack = json.loads(text)
    ours, theirs = frames_of_fpless(stack), frames_of_gdb(maps)
    different = {tuple(places(frames_of_fpless(json.loads(one)))) for one in counts}
    result = {"samples": count, "stacks": len(different),
              "contradict": sum(places(ours)[:len(one)] != list(one) for one in different), "stop": stack["stop"], "ours": ours, "theirs": theirs,
              "equal": places(ours) == places(theirs), "guessed": 0}
    guessed = [i for i, frame in enumerate(stack["user"]) if frame["origin"] in ("synth", "fp")]
    if not guessed:
        return result
    result["guessed"] = len(guessed)
    result["origins"] = sorted({stack["user"][i]["origin"] for i in guessed})
    back = address_of(maps, stack["user"][guessed[-1]])
    if back is None:
        return result
    sp, old = number("$rsp"), stack_memory()
    if run_back(pid, thread, back):
        cfa = number("$rsp")
        result["behind_cfa"] = old[cfa - 8 - sp:cfa - sp] == back.to_bytes(8, "little")
        later = frames_of_gdb(maps)
        result["back"] = places(later) == places(ours[guessed[-1]:])
        result["theirs_back"] = later
    else:
        result["back"] = False
        result["no_return"] = True
    return result


def one_stop(pid):
    found = candidates()
    if not found:
        return None
    thread, pc = random.choice(found)
    thread.switch()
    tid, place, bytes_there = thread.ptid[1], locate(mappings(pid), pc), memory(pc, 2)
    gdb.selected_inferior().write_memory(pc, SPIN)
    gdb.execute("detach", to_string=True)
    try:
        counts = sampled(tid, place)
    finally:
        gdb.execute("attach %d" % pid, to_string=True)
        gdb.selected_inferior().write_memory(pc, bytes_there)
    thread = select(tid)
    if not thread or number("$pc") != pc or not counts:
        return {"moved": True, "place": place}
    return {"place": place, **judge(pid, thread, counts)}


def main():
    for command in ("set pagination off", "set confirm off", "set debuginfod enabled off", "set backtrace past-main on",
                    "set backtrace past-entry on", "set backtrace limit unlimited", "set stack-cache off",
                    "set code-cache off", "handle all nostop noprint pass", "handle SIGINT stop print nopass"):
        gdb.execute(command, to_string=True)
    pid, end = gdb.selected_inferior().pid, time.monotonic() + OPTIONS["seconds"]
    made = 0
    while made < OPTIONS["stops"] and time.monotonic() < end:
        result = one_stop(pid)
        if result:
            print("STOP " + json.dumps(result), flush=True)
            made += "moved" not in result
        gdb.execute("detach", to_string=True)
        time.sleep(random.uniform(0.05, 0.4))
        gdb.execute("attach %d" % pid, to_string=True)


main()
