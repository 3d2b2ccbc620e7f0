#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Judge script frames by what tests/support/script_truth.py wrote about itself.

    script_judge.py TRUTH PROFILE.jsonl

Each sample of a thread with a number in its name is compared with that chain, from its loop, spin(), outwards: functions, files and
lines. Prints the sums and the first differences; returns them, too. Stacks of
snapshots have no script frames; "late" counts them, and they are not judged.
"""

import json
import os
import sys


def chains(path):
    found = {}
    with open(path) as lines:
        for line in lines:
            if line.endswith("\n"):
                record = json.loads(line)
                found["n%d" % record["n"]] = record["chain"]
    return found


def stacks(path):
    """Yields (comm, count, [(function, base of file, line), ...]) of each stack, leaf first: its script frames."""
    with open(path) as lines:
        for line in lines:
            record = json.loads(line)
            if record.get("type") != "stack":
                continue
            frames = [
                (f.get("symbol") or f.get("function"), os.path.basename(f.get("file") or ""), f.get("line") or 0)
                for f in record["user"]
                if f.get("origin") == "script"
            ]
            yield record["comm"], record["count"], frames, record


def judge(truth_path, profile_path, show=5):
    truth = chains(truth_path)
    sums = {"judged": 0, "equal": 0, "no_spin": 0, "none": 0, "late": 0, "frames": 0, "other": 0}
    for comm, count, frames, record in stacks(profile_path):
        if comm not in truth:
            sums["other"] += count
            continue
        if not frames and any(f.get("origin") == "cfi_user" for f in record["user"]):
            # the books have it as script_late
            sums["late"] += count
            continue
        sums["judged"] += count
        if not frames:
            sums["none"] += count
            if show > 0:
                show -= 1
                print(comm, "no script frames:", record.get("stop"), [f.get("symbol") for f in record["user"]][:6])
            continue
        want = [(name, os.path.basename(file), line) for name, file, line in truth[comm]]
        at = next((i for i, f in enumerate(frames) if f[:2] == want[0][:2]), None)
        got = frames[at + 1 :] if at is not None else frames
        sums["no_spin"] += count if at is None else 0
        sums["frames"] += count * len(frames)
        if at is not None and got == want[1:]:
            sums["equal"] += count
        elif show > 0:
            show -= 1
            print(comm, "at", at, "got", len(got), "want", len(want) - 1)
            for i in range(max(len(got), len(want) - 1)):
                g, w = got[i] if i < len(got) else None, want[i + 1] if i + 1 < len(want) else None
                if g != w:
                    print("   ", i, "got", g, "want", w)
                    break
    return sums


if __name__ == "__main__":
    result = judge(sys.argv[1], sys.argv[2])
    print(json.dumps(result))
