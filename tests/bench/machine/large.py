# SPDX-License-Identifier: Apache-2.0
"""While the table of a binary of 230 MB is compiled: do the samples of other processes wait for it?"""

import os
import shutil
import subprocess
import sys
import time

from copies import LOOP, make_copy
from large_object import make_object
from measure import Run, compile_c

# Maps the object and runs its last function, forever.
DRIVER = r"""
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
	int fd = argc > 3 ? open(argv[1], O_RDONLY) : -1;
	uint8_t *text = mmap(NULL, strtoul(argv[3], NULL, 0), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)strtoul(argv[2], NULL, 0));
	if (text == MAP_FAILED) return 1;
	for (;;) ((void (*)(uint64_t))text)(1000000);
}
"""


def bench(fpless, folder, figures, options):
    path = os.path.join(folder, "large.so")
    driver = compile_c(folder, "driver", DRIVER)
    off, size = make_object(path, options.megabytes)
    python = os.path.realpath(shutil.which("python3"))
    script = os.path.join(folder, "loop.py")
    with open(script, "w") as file:
        file.write(LOOP)
    busy = subprocess.Popen([sys.executable, "-c", "n = 0\nwhile True: n = (n * 7919 + 1) % 10007"])
    runs = []
    try:
        for i in range(options.rounds):
            with open(path, "r+b") as file:  # another file than the last time
                file.seek(off + size - 8)
                file.write(os.urandom(8))
            copy = os.path.join(folder, "small%d" % i)
            make_copy(python, copy)
            # the large one first, and then programs that begin while it is compiled
            shell = '"$1" "$2" "$3" "$4" & large=$!; sleep 0.1; for i in 1 2 3 4; do "$5" "$6"; done; kill $large'
            runs.append(Run(fpless, "-F", "999", "--", "sh", "-c", shell, "sh", driver, path, str(off), str(size), copy,
                            script, keep=True))
            time.sleep(0.1)
    finally:
        busy.kill()
        busy.wait()
    figures.common("large", runs, least_complete=None)
    others = [stack for run in runs for stack in run.stacks if stack["comm"].startswith("small") and stack["stop"]]
    judged = sum(stack["count"] for stack in others if stack["stop"] not in ("exiting", "execing"))
    figures.say("large", "programs that begin meanwhile: user samples", judged)
    figures.say("large", "the same: complete %", 100 * sum(
        stack["count"] for stack in others if stack["stop"] == "outermost") / max(judged, 1), least=99.0)
    figures.say("large", "the same: no_table %", 100 * sum(
        stack["count"] for stack in others if stack["stop"] == "no_table") / max(judged, 1), most=0.5)
    figures.say("large", "rows in the pool, millions", max(run.stats["tables"]["rows"] for run in runs) / 1e6)
    figures.say("large", "peak RssAnon, MB", max(run.stats["rss_peak_bytes"] for run in runs) / 1e6)
