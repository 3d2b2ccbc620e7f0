#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_unit.py SOURCE

systemd understands every line of the units of fpless-agent, and their rights are few: an exposure of at most 3.3 of what
samples, of 1.5 of what serves and sends."""

import os
import shutil
import subprocess
import sys
import tempfile

# Of each: its file in debian, and the exposure in tenths.
UNITS = {"fpless-agent.service": ("fpless-agent.service", 33), "fpless-serve.service": ("fpless-agent.fpless-serve.service", 15),
         "fpless-push@.service": ("fpless-agent@.fpless-push.service", 15)}


def analyze(*arguments):
    """What systemd-analyze says, which must be content."""
    done = subprocess.run(["systemd-analyze", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=300)
    # an unknown key is a warning alone
    assert done.returncode == 0 and not done.stderr, (arguments, done.stdout[-3000:], done.stderr)
    return done.stdout


def main():
    """Exit status: 0, 1, or 77 where it cannot run."""
    if not shutil.which("systemd-analyze"):
        print("SKIP: systemd-analyze is not installed")
        return 77
    with tempfile.TemporaryDirectory() as root:
        units, programs = (os.path.join(root, folder) for folder in ("lib/systemd/system", "usr/bin"))
        for folder in (units, programs):
            os.makedirs(folder)
        with open(os.open(os.path.join(programs, "fpless"), os.O_CREAT | os.O_WRONLY, 0o755), "w",
                  encoding="utf-8") as program:
            program.write("#!/bin/sh\n")
        for name, (file, exposure) in UNITS.items():
            unit = shutil.copy(os.path.join(os.path.abspath(sys.argv[1]), "debian", file), os.path.join(units, name))
            analyze("verify", f"--root={root}", "--man=no", "--recursive-errors=no", name.replace("@.", "@pyroscope."))
            print(name, analyze("security", "--offline=true", f"--threshold={exposure}", "--no-pager", unit).splitlines()[-1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
