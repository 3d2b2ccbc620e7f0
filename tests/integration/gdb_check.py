#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: gdb_check.py FIXTURES EXPECTATION [STOPS]

Checks an expectation without fpless: stops the program a few times at random and compares gdb's
stacks with it. Threads that gdb does not select, children and short-lived images are not seen.
"""

import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

from expectation import Expectation, Judge
from fpless_run import TIMEOUT_S, Files, skip
from run_fixture import command


def load_segments(path):
    """[(p_offset, p_vaddr, p_filesz)] of the executable PT_LOADs."""
    with open(path, "rb") as file:
        image = file.read(65536)
    offset, = struct.unpack_from("<Q", image, 32)
    nr, = struct.unpack_from("<H", image, 56)
    headers = [struct.unpack_from("<IIQQQQQQ", image, offset + 56 * i) for i in range(nr)]
    return [(header[2], header[3], header[5]) for header in headers if header[0] == 1 and header[1] & 1]


def locate(maps, pc):
    """The object and the vaddr of a pc, by /proc/PID/maps and the program headers."""
    for start, end, pgoff, path in maps:
        if not start <= pc < end:
            continue
        if not os.path.isfile(path):
            return (path, pc) if path else (None, pc)
        for offset, vaddr, size in load_segments(path):
            if offset & ~4095 <= pgoff < offset + size:
                return path, pc - start + pgoff - offset + vaddr
    return None, pc


def sample(pid):
    """One stack of the process as a .jsonl record would say it; None where gdb saw none."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gdb_stacks.py")
    done = subprocess.run(["gdb", "-nx", "-batch", "-p", str(pid), "-x", script],
                          capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    line = [line for line in done.stdout.splitlines() if line.startswith("STACK ")]
    if not line:
        return None
    stack = json.loads(line[0][6:])
    user = []
    for frame in stack["frames"]:
        path, address = locate(stack["maps"], frame["pc"])
        where = {"object": path, "vaddr": hex(address)} if path else {"addr": hex(address)}
        user.append({**where, "symbol": None, "origin": "cfi", "exact": frame["exact"]})
    return {"count": 1, "stop": "outermost", "user": user}


def main():
    fixtures, path = os.path.realpath(sys.argv[1]), sys.argv[2]
    stops = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    if not shutil.which("gdb"):
        skip("gdb is not installed")
    with open(path, encoding="utf-8") as file:
        expectation = Expectation(file.read())
    folder = tempfile.mkdtemp(prefix="fpless-test-")
    words = command(expectation, fixtures, folder)
    words[1] = "50000"
    process = subprocess.Popen(words)
    judge = Judge(expectation, Files(fixtures))
    judge.symbols_told = False
    for token in [token for pattern in expectation.patterns for token in pattern.tokens]:
        token.origin = None  # gdb does not say how it found a frame
    try:
        for _ in range(stops):
            time.sleep(random.uniform(0.02, 0.05))
            stack = sample(process.pid)
            if stack:
                judge.add(stack)
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)
    print(f"{os.path.basename(path)}: {judge.judged} judged, {judge.others} others")
    for fault in judge.faults:
        print("FAULT:", fault)
    return 1 if judge.faults or not judge.judged else 0


if __name__ == "__main__":
    sys.exit(main())
