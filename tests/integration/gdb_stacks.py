# SPDX-License-Identifier: Apache-2.0
"""Run inside gdb, attached to a process: prints its stack and its executable mappings as JSON."""

import json

import gdb

gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")

frames = []
frame = gdb.newest_frame()
while frame is not None and frame.is_valid() and len(frames) < 3000:
    if frame.type() != gdb.INLINE_FRAME:
        newer = frame.newer()
        while newer is not None and newer.type() == gdb.INLINE_FRAME:
            newer = newer.newer()
        exact = newer is None or newer.type() == gdb.SIGTRAMP_FRAME
        frames.append({"pc": frame.pc(), "exact": exact})
    frame = frame.older()
maps = []
with open(f"/proc/{gdb.selected_inferior().pid}/maps", encoding="utf-8") as file:
    for line in file:
        words = line.split(maxsplit=5)
        start, end = (int(word, 16) for word in words[0].split("-"))
        if "x" in words[1]:
            maps.append((start, end, int(words[2], 16), words[5].strip() if words[5:] else ""))
print("STACK " + json.dumps({"frames": frames, "maps": maps}))
