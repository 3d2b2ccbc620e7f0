#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: names.py NAME_ADDRESSES FILE...: compare names with nm's and objdump's.

At the first byte, the last byte and the byte behind every function nm knows, the name must be one of those nm
has for the function that starts last among those covering it; where nm has none, there must be none. Every PLT
stub must have the name objdump gives it.
"""

import bisect
import os
import re
import subprocess
import sys

SHOWN = 10
CODE = "TtWwi"


def run(*command, given=None):
    return subprocess.run(command, input=given, capture_output=True, text=True, errors="replace", check=False).stdout


def functions_of(path):
    """Sized functions as {start: {size: names}}, and the starts of unsized ones, by nm."""
    sized, unsized = {}, set()
    for table in ((), ("-D",)):
        for line in run("nm", "-S", "--defined-only", *table, path).splitlines():
            match = re.match(r"^([0-9a-f]{16}) (?:([0-9a-f]{16}) )?(\S) (\S+)$", line)
            if not match or match[3] not in CODE:
                continue
            start, name = int(match[1], 16), match[4].split("@")[0]
            if match[2] and int(match[2], 16):
                sized.setdefault(start, {}).setdefault(int(match[2], 16), set()).add(name)
            else:
                unsized.add(start)
    return sized, unsized


def stubs_of(path):
    """PLT stubs as {start: name}, by objdump."""
    stubs = {}
    for section in (".plt", ".plt.sec", ".plt.got"):
        for line in run("objdump", "-d", "-j", section, path).splitlines():
            match = re.match(r"^([0-9a-f]{16}) <(.+@plt)>:$", line)
            # objdump has no names for IRELATIVE ones
            if match and not match[2].startswith("*"):
                stubs[int(match[1], 16)] = re.sub(r"@[^@]*@plt$", "@plt", match[2])
    return stubs


def expected(vaddr, sized, starts, reach):
    """The start and the names of the last function that covers vaddr; None where none does."""
    for i in range(bisect.bisect_right(starts, vaddr) - 1, -1, -1):
        start = starts[i]
        if vaddr - start >= reach:
            return None
        covering = [names for size, names in sized[start].items() if vaddr < start + size]
        if covering:
            return start, set().union(*covering)
    return None


def compare(tool, path):
    sized, unsized = functions_of(path)
    stubs = stubs_of(path)
    starts = sorted(sized)
    reach = max((size for sizes in sized.values() for size in sizes), default=0)
    asked = set(stubs)
    for start, sizes in sized.items():
        for size in sizes:
            asked |= {start, start + size - 1, start + size}
    given = sorted(asked)
    lines = run(tool, path, given="".join(f"{vaddr:x}\n" for vaddr in given)).splitlines()
    if len(lines) != len(given):
        return 0, [f"{path}: {len(lines)} answers to {len(given)} questions"]
    faults = []
    unsized_starts = sorted(unsized)
    for vaddr, line in zip(given, lines):
        _, start, name = line.split(" ", 2)
        want = expected(vaddr, sized, starts, reach)
        if vaddr in stubs:
            good = name == stubs[vaddr]
        elif want:
            good = start != "-" and int(start, 16) == want[0] and name in want[1]
        else:
            # an unsized label may reach to here, and so may a stub
            good = name == "-" or name.endswith("@plt") or \
                bisect.bisect_right(unsized_starts, int(start, 16)) > \
                bisect.bisect_left(unsized_starts, int(start, 16))
        if not good:
            faults.append(f"{path}: {vaddr:#x}: {start} {name}, want {stubs.get(vaddr, want)}")
    return len(given), faults


def main():
    tool, paths = sys.argv[1], [path for path in sys.argv[2:] if os.path.exists(path)]
    if not paths:
        print("SKIP: none of the files is on this machine")
        return 77
    total, faults = 0, []
    for path in paths:
        nr, found = compare(tool, os.path.realpath(path))
        print(f"{path}: {nr} addresses, {len(found)} differ")
        total += nr
        faults += found
    print("\n".join(faults[:SHOWN]))
    print(f"{total} addresses, {len(faults)} differ")
    return 1 if faults or not total else 0


if __name__ == "__main__":
    sys.exit(main())
