#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_refusal.py SERIES FPLESS WORD...

On a kernel that is too old fpless says in one line what is missing and which kernel has it, and
exits with 2, whatever it is asked to profile; doctor comes to the same end."""

import os
import shutil
import sys
import tempfile

import boot
import guest

CASES = {
    "all": "profile -f -d 1",
    "command": "profile -f -d 1 -- /bin/ls",
    "pid": "profile -f -d 1 -p 1",
    "compare": "compare -d 1 -- /bin/ls",
}
CANNOT_RUN = "2"


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def refusal_faults(name, status, out, err, words):
    faults = []
    if status.strip() != CANNOT_RUN:
        faults.append(f"{name}: status {status.strip()}, expected {CANNOT_RUN}")
    if out:
        faults.append(f"{name}: wrote on stdout: {out[:200]!r}")
    if len(err.splitlines()) != 1:
        faults.append(f"{name}: {len(err.splitlines())} lines on stderr: {err[:500]!r}")
    faults += [f"{name}: {word!r} is not in {err!r}" for word in words if word not in err]
    return faults


def main():
    series, fpless, words = sys.argv[1], os.path.realpath(sys.argv[2]), sys.argv[3:]
    kernel = boot.kernel_or_skip(series)
    archive = guest.base_archive()
    archive.program(fpless)
    script = "".join(f"{fpless} {command} > /out/{name}.out 2> /out/{name}.err; "
                     f"echo $? > /out/{name}.status\n"
                     for name, command in [*CASES.items(), ("doctor", "doctor")])
    folder = tempfile.mkdtemp(prefix="fpless-vm-")
    try:
        done = boot.boot(kernel, archive, script, folder)
        print(f"Linux {kernel}: {done}")
        faults = []
        for name in CASES:
            out, err = read(folder, name + ".out"), read(folder, name + ".err")
            print(f"  {name}: {err.strip()}")
            faults += refusal_faults(name, read(folder, name + ".status"), out, err, words)
        verdict = read(folder, "doctor.out")
        print("  doctor: " + verdict.strip().replace("\n", "\n    "))
        if read(folder, "doctor.status").strip() != CANNOT_RUN:
            faults.append(f"doctor: status {read(folder, 'doctor.status').strip()}")
        faults += [f"doctor: {word!r} is not told" for word in words if word not in verdict]
        return boot.end(faults)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
