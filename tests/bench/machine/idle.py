# SPDX-License-Identifier: Apache-2.0
"""500 idle processes, most of them small, some with many mappings: until ready, and what it takes."""

import shutil
import subprocess

from measure import Run

PYTHON = "import ctypes, decimal, json, sqlite3, ssl, time; print(flush=True); time.sleep(1000)"


def bench(fpless, _folder, figures, options):
    children = []
    try:
        for i in range(options.processes):
            words = (["sleep", "1000"], ["python3", "-c", PYTHON], ["tail", "-f", "/dev/null"],
                     ["bash", "-c", "echo; read x"])[0 if i % 10 < 7 else i % 10 - 6]
            children.append(subprocess.Popen([shutil.which(words[0]), *words[1:]], stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL))
        for child in children:
            if child.args[1:2] == ["-c"]:
                child.stdout.readline()
        runs = [Run(fpless, "-a", "-F", "99", "-d", "5") for _ in range(options.rounds)]
    finally:
        for child in children:
            child.kill()
            child.communicate()
    figures.common("idle", runs)
    figures.say("idle", "ready, ms, worst run", max(run.stats["startup_ms"] for run in runs), most=2000)
    figures.say("idle", "peak RssAnon, MB, worst run", max(run.stats["rss_peak_bytes"] for run in runs) / 1e6, most=100)
    figures.say("idle", "all maps, MB", max(run.stats["maps_bytes"] for run in runs) / 1e6)
