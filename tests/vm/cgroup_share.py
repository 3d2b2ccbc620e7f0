# SPDX-License-Identifier: Apache-2.0
"""In a guest: a cgroup of root's has half of the files that may be open, whatever kernel makes the cgroup."""

import os
import shlex
import shutil
import sys
import tempfile

from fpless_run import Run

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from slow_code import slow_file  # noqa: E402

NAME, FOLDER, NR_FILES = "/a/b", "/out/cgroup", 16
LIMIT = 96 + 4 * 1 + 18  # as tests/integration/test_few_files.py: a guest has one CPU
STEPS = 100


class CgroupShare:
    """A program in a cgroup maps more files than its share, while fpless may open few."""

    def __init__(self, fpless, caller):
        self.fpless, self.caller = fpless, caller
        self.files = [f"/file{i}" for i in range(NR_FILES)]

    def add_to(self, archive):
        for tool in ("setpriv", "rm"):
            archive.program(shutil.which(tool))
        with tempfile.TemporaryDirectory(prefix="fpless-vm-") as folder:
            for i, path in enumerate(self.files):
                with open(slow_file(os.path.join(folder, "file"), STEPS + i), "rb") as file:
                    archive.data(path, file.read())

    def script(self):
        last = self.files[-1]
        enter = f"echo $$ >/cgroup{NAME}/cgroup.procs && exec \"$@\""
        inside = shlex.join(["sh", "-c", enter, "sh", self.caller, "1", "0", *self.files[:-1], "=" + last])
        # the program has all files mapped for as long as the shell sleeps
        command = f"{inside} & sleep 5; echo > {last}.go; wait"
        run = shlex.join([self.fpless, "profile", "--no-cache", "-F", "97", *Run.outputs(FOLDER), "--", "sh", "-c", command])
        # who may raise limits would
        limited = shlex.join(["setpriv", "--bounding-set", "-sys_resource", "sh", "-c", f"ulimit -n {LIMIT}; exec {run}"])
        return f"mkdir -p /cgroup {FOLDER}; mount -t cgroup2 cgroup2 /cgroup; mkdir -p /cgroup{NAME}\n" \
               f"{limited} 2> {FOLDER}/stderr; echo $? > {FOLDER}/status\n"

    @staticmethod
    def judge(out):
        folder = out + FOLDER.removeprefix("/out")
        with open(folder + "/stderr", "rb") as file, open(folder + "/status", encoding="ascii") as status:
            run = Run.of_folder(folder, int(status.read()), file.read())
        faults = [f"cgroup: {fault}" for fault in run.faults()]
        if faults:
            return faults
        no_room = run.stats["no_room"]
        print(f"cgroup: no room {no_room}")
        charged = [entry["cgroup"] for entry in no_room.get("by_cgroup", []) if entry["files"]]
        if charged != [NAME] or f"cgroup {NAME} has " not in run.stderr:
            faults.append(f"cgroup: charged {no_room}: {run.stderr}")
        return faults
