# SPDX-License-Identifier: Apache-2.0
"""In a guest, under Debian's perf_event_paranoid of 3, where its kernels let only CAP_SYS_ADMIN open events: root
and a user with it profile, and keep six capabilities; a user with the six alone is told what to do, and
profiles another user's program where the level is 2. fpless in a PID namespace of its own works."""

import json
import os
import shutil

FOLDER, PARANOID = "/out/rights", "/proc/sys/kernel/perf_event_paranoid"
SIX = ["bpf", "perfmon", "sys_ptrace", "dac_read_search", "checkpoint_restore", "syslog"]
MASK = sum(1 << number for number in (39, 38, 19, 2, 40, 34))
NOBODY, DAEMON = 65534, 1
# Where only rights are judged: the program is loaded in half the time, which is seconds here.
SHORT_PROGRAM = "--unwind fp"
# Written by a command under fpless: what its parent holds, and what it holds itself.
LOOK = """grep -h ^CapEff: /proc/$PPID/task/*/status > $1/held
grep ^CapEff: /proc/self/status > $1/command
i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done
"""


def user(uid, caps):
    given = ",".join("+" + cap for cap in caps)
    return f"setpriv --reuid={uid} --regid={uid} --clear-groups --inh-caps=-all,{given} " \
           f"--ambient-caps=-all,{given}"


class Rights:
    """Runs of fpless by users with more and with fewer capabilities."""

    def __init__(self, fpless, fixtures):
        self.fpless, self.chain = fpless, os.path.join(fixtures, "chain")

    @staticmethod
    def add_to(archive):
        for tool in ("setpriv", "unshare", "chmod", "kill"):
            archive.program(shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin"))
        archive.text("/look.sh", LOOK)

    def run(self, name, wrapper, words):
        folder = f"{FOLDER}/{name}"
        return f"mkdir {folder}; chmod 777 {folder}\n" \
               f"{wrapper} {self.fpless} profile -q -F 199 -o {folder}/run.jsonl {words} " \
               f"2> {folder}/stderr; echo $? > {folder}/status\n"

    def script(self):
        attached = f"-d 1 -p $(cat {FOLDER}/pid)"
        return f"mkdir {FOLDER}; chmod 777 {FOLDER}; paranoid=$(cat {PARANOID}); echo 3 > {PARANOID}\n" \
            + self.run("root", "", f"{SHORT_PROGRAM} -- sh /look.sh {FOLDER}/root") \
            + self.run("admin", user(NOBODY, [*SIX, "sys_admin"]), f"{SHORT_PROGRAM} -- sh /look.sh {FOLDER}/admin") \
            + self.run("refused", user(NOBODY, SIX), "-d 1") \
            + f"echo 2 > {PARANOID}\n" \
            + f"setpriv --reuid={DAEMON} --regid={DAEMON} --clear-groups --inh-caps=-all " \
            + f"{self.chain} 50000 & echo $! > {FOLDER}/pid\n" \
            + self.run("six", user(NOBODY, SIX), attached) \
            + f"kill $(cat {FOLDER}/pid)\n" \
            + self.run("inside", "unshare --mount --pid --fork --mount-proc",
                       f"-- {self.chain} 600") \
            + f"echo $paranoid > {PARANOID}\n"

    @staticmethod
    def judge(out):
        folder = out + FOLDER.removeprefix("/out")
        return [f"rights: {fault}" for fault in rights_faults(folder)]


def text(out, *names):
    with open(os.path.join(out, *names), encoding="utf-8", errors="backslashreplace") as file:
        return file.read()


def held(out, name, file):
    return {int(line.split()[1], 16) for line in text(out, name, file).splitlines()}


def stacks(out, name):
    records = [json.loads(line) for line in text(out, name, "run.jsonl").splitlines()]
    return [record for record in records if record["type"] == "stack"], records[-1]


def chain_faults(out, name):
    """All stacks of `chain` from its loop on are whole, and there are some."""
    found, books = stacks(out, name)
    spinning = [stack for stack in found if stack["user"] and stack["user"][0]["symbol"] == "spin"]
    print(f"  {name}: {sum(stack['count'] for stack in spinning)} samples, stops "
          f"{ {stop: nr for stop, nr in books['stop'].items() if nr} }")
    if not spinning or {(stack["stop"], len(stack["user"])) for stack in spinning} \
            != {("outermost", 9)}:
        return [f"{name}: not whole: {spinning[:3]}"]
    return []


def rights_faults(out):
    faults = []
    for name, expected in (("root", "0"), ("admin", "0"), ("refused", "2"), ("six", "0"),
                           ("inside", "0")):
        status = text(out, name, "status").strip()
        if status != expected:
            faults.append(f"{name}: status {status}, expected {expected}: "
                          + text(out, name, "stderr"))
    if faults:
        return faults
    for name in ("root", "admin"):
        print(f"  {name}: fpless holds {[hex(mask) for mask in held(out, name, 'held')]}, its "
              f"command {[hex(mask) for mask in held(out, name, 'command')]}")
        if held(out, name, "held") != {MASK}:
            faults.append(f"{name}: holds {held(out, name, 'held')}, expected {MASK}")
    if held(out, "admin", "command") != {MASK | 1 << 21} or held(out, "root", "command") <= {MASK}:
        faults.append("the command has not what it would have without fpless")
    said = text(out, "refused", "stderr")
    print("  refused:", said.strip())
    if "CAP_SYS_ADMIN" not in said or "kernel.perf_event_paranoid" not in said \
            or len(said.splitlines()) != 1:
        faults.append(f"refused: {said}")
    return faults + chain_faults(out, "six") + chain_faults(out, "inside")
