# SPDX-License-Identifier: Apache-2.0
"""A store of windows that are alike, which fpless push sends, and what a server must have of them."""

import subprocess

from recordings import Recording

CONTAINER = "/system.slice/docker-" + "0123456789abcdef" * 4 + ".scope"
# of a window: (stack, samples, name, cgroup)
STACKS = ((["main", "work"], 200, "app", "/system.slice/cron.service"), (["main", "work", "[k]sys_read"], 40, "other", CONTAINER),
          (["main", "work"], 7, "worker", "/system.slice/cron.service"), (["main", "idle"], 3, "app", "/"))
NAMES = {"cron.service": {"main;work": 207}, "docker-0123456789ab": {"main;work;sys_read": 40}, "host": {"main;idle": 3}}
SAMPLES = sum(stack[1] for stack in STACKS)


def make_store(fpless, store, nr, first_s, every_s=10):
    """@nr windows from @first_s on."""
    files = []
    for i in range(nr):
        recording = Recording(start_unix_ns=(first_s + every_s * i) * 10**9 + 123456789)
        for stack, count, comm, cgroup in STACKS:
            recording.add(count, stack, comm=comm, cgroup=cgroup)
        files.append(f"{store}-{i}.jsonl")
        recording.write(files[-1])
    subprocess.run([fpless, "query", "import", "--store", store, *files], check=True)
