# SPDX-License-Identifier: Apache-2.0
"""Fresh copies of a program, each with a build-id of its own: no table of it can be there before it runs."""

import os
import shutil
import subprocess

from measure import Run, Timed

LOOP = """
import resource
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
while sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) < 0.3:
    fib(12)
    sorted(str(i * 7919 % 10007) for i in range(200))
"""


def build_id_at(path):
    """(offset, size) of the build-id in the file: the note's name is GNU, its type 3."""
    done = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    text = next(line.split()[-1] for line in done.splitlines() if "Build ID" in line)
    with open(path, "rb") as file:
        data = file.read()
    return data.index(b"GNU\0" + bytes.fromhex(text)) + 4, len(text) // 2


def make_copy(source, to):
    shutil.copyfile(source, to)
    os.chmod(to, 0o755)
    at, size = build_id_at(to)
    with open(to, "r+b") as file:
        file.seek(at)
        file.write(os.urandom(size))


def bench(fpless, folder, figures, options):
    program = options.program or os.path.realpath(shutil.which("python3"))
    script = os.path.join(folder, "loop.py")
    with open(script, "w") as file:
        file.write(LOOP)
    timed = Timed(folder)
    kinds = {"cold": [], "warm": []}
    for i in range(options.copies):
        copy = os.path.join(folder, "copy%d" % i)
        make_copy(program, copy)
        for kind in ("cold", "warm"):
            run = Run(fpless, "-F", str(options.hz), "--", *timed.words, copy, script)
            kinds[kind].append((run, sum(timed.times()[:2])))
        os.unlink(copy)
    for kind, pairs in kinds.items():
        runs = [run for run, _ in pairs]
        name = "copies " + kind
        figures.common(name, runs)
        figures.say(name, "lost, of all runs", sum(run.lost for run in runs), most=0)
        due = sum(cpu for _, cpu in pairs) * options.hz
        figures.say(name, "fired, % of CPU time x Hz", 100 * sum(run.passed for run in runs) / due, least=97.0)
        figures.say(name, "least complete run, %", min(
            100 * run.stats["complete"] / max(run.stats["user_samples"] - run.stats["stop"]["exiting"]
                                              - run.stats["stop"]["execing"], 1) for run in runs))
