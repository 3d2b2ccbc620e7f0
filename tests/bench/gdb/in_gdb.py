# SPDX-License-Identifier: Apache-2.0
"""Run inside gdb, attached to a process: see run.py. Prints a line `STOP {...}` of JSON for each stop."""

import json
import os
import random
import signal
import sys
import threading
import time

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from spinning import (OPTIONS, address_of, frames_of_fpless, frames_of_gdb, locate, mappings, memory, number,  # noqa: E402
                      places, sampled, select, set_up, spin)

SYSCALL = b"\x0f\x05"
BACK_WITHIN_S = 20
STACK_BYTES = 1 << 20


def stack_memory():
    """From the stack pointer on, as much as there is of STACK_BYTES."""
    size, sp = STACK_BYTES, number("$rsp")
    while size:
        try:
            return memory(sp, size)
        except gdb.MemoryError:
            size //= 2
    return b""


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
    place, counts, thread = spin(pid, thread)
    if not thread or number("$pc") != pc or not counts:
        return {"moved": True, "place": place}
    return {"place": place, **judge(pid, thread, counts)}


def main():
    set_up()
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
