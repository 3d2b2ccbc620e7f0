#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: run.py PACKAGES FOLDER [SERIES...]

The packages that tests/package/test_build.py left in PACKAGES, in the fresh Debian that tests/package/test_root.py left in
FOLDER, with systemd as the first process, on kernels of Debian under qemu (6.1, 6.12 and the newest): job.sh installs them,
has the services work, fail, be upgraded and removed; this judges its outputs, and prints figures. Times are of the guest,
whose clock counts instructions, 8 ns each. What a guest left stays in FOLDER/SERIES.
"""

import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, "..", "..")
MANUAL = os.path.join(TESTS, "..", "docs", "man")
for part in ("vm", "package"):
    sys.path.insert(0, os.path.join(TESTS, part))

import boot  # noqa: E402
import fresh_root  # noqa: E402
import systemd_guest  # noqa: E402
from rights import MASK  # noqa: E402

SERIES = ["6.1", "6.12", "newest"]
AT_A_TIME = 2  # a guest has one CPU
TOOLS = ["systemd", "curl", "bpftool"]  # of the Debian, beside what the packages depend on
# Files that no package needs, in a guest whose disk is memory.
NOT_READ = ["/usr/share/doc", "/usr/share/man", "/usr/share/locale", "/var/lib/apt/lists", "/var/cache/apt"]
SERVER = "http://127.0.0.1:4040"  # pyroscope.pl
# What systemd makes by itself, for services of any kind.
OF_SYSTEMD = {"/var/lib/systemd", "/var/lib/private", "/var/cache/private", "/var/tmp", "/etc/systemd/system.control"}
EXPOSURE_MAX = {"fpless-agent": 3.3, "fpless-serve": 1.5, "fpless-push@pyroscope": 1.5}
COMPLETE_MIN, JUDGED_MIN = 0.97, 50  # of the second window: in the first one tables are made
OF_PERL = "Perl_pp_modulo"
# Commands of job.sh that are to fail.
FAILING = {"installed", "serve.other", "port.refused", "mistake.start", "push.missing", "push.missing_status",
           "remove.active", "purge.user"}


def below_command(page, command):
    """The indented lines that a manual page shows below @command."""
    with open(os.path.join(MANUAL, page), encoding="utf-8") as file:
        text = file.read()
    match = re.search(rf"^{re.escape(command)}\n((?:\t.*\n)+)", text, re.M)
    assert match, f"{page}: no lines below {command!r}"
    return re.sub(r"^\t", "", match[1], flags=re.M)


def depends(debs):
    """The packages that @debs need, beside each other."""
    found = set()
    for deb in debs:
        said = subprocess.run(["dpkg-deb", "-f", deb, "Depends"], stdout=subprocess.PIPE, check=True, text=True).stdout
        found |= {entry.split()[0] for entry in said.strip().split(", ")}
    return sorted(name for name in found if not name.startswith("fpless"))


def make_newer(deb, path, work):
    """The same package with a higher version."""
    folder = os.path.join(work, "unpacked")
    subprocess.run(["dpkg-deb", "-R", deb, folder], check=True)
    control = os.path.join(folder, "DEBIAN", "control")
    with open(control, encoding="utf-8") as file:
        text = file.read()
    with open(control, "w", encoding="utf-8") as file:
        file.write(re.sub(r"^(Version: .*|Depends: .*\bfpless \(= [^)]*)", r"\1+newer", text, flags=re.M))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", folder, path], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(folder)


def make_root(packages, packed, work):
    """The Debian of the guests, packed."""
    debs = {name: glob.glob(os.path.join(packages, name + "_*.deb"))[0] for name in ("fpless", "fpless-agent")}
    root = fresh_root.FreshRoot(work, packed)
    root.run("apt-get", "-q", "-y", "--no-install-recommends", "install", *TOOLS, *depends(debs.values()))
    for folder in NOT_READ:
        for path, _, names in os.walk(root.path + folder):
            for name in names:
                os.unlink(os.path.join(path, name))
    home = os.path.join(root.path, "root")
    os.mkdir(os.path.join(home, "newer"))
    for name, deb in debs.items():
        shutil.copy(deb, os.path.join(home, name + ".deb"))
        make_newer(deb, os.path.join(home, "newer", name + ".deb"), work)
    for name in ("busy.pl", "pyroscope.pl"):
        shutil.copy(os.path.join(HERE, name), home)
    push = below_command("fpless-push.1.scd", "cat > /etc/fpless/push-pyroscope.conf")
    texts = {"serve.conf": below_command("fpless-serve.1.scd", "systemctl edit fpless-serve"),
             "push.conf": re.sub("URL=.*", "URL=" + SERVER, push),
             "push-drop-in.conf": below_command("fpless-push.1.scd", "systemctl edit fpless-push@pyroscope")}
    for name, text in texts.items():
        with open(os.path.join(home, name), "w", encoding="utf-8") as file:
            file.write(text)
    systemd_guest.prepare(root.path)
    made = os.path.join(work, "guest.tar")
    root.pack(made)
    return made


class Left:
    """What a guest has left, its faults and figures."""

    def __init__(self, folder):
        self.folder, self.faults, self.figures = folder, [], []

    def text(self, name):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="backslashreplace") as file:
            return file.read()

    def check(self, true, fault, *names):
        """@names: outputs that say more."""
        if not true:
            self.faults.append("\n".join([fault, *(f"  {name}: {self.text(name)[-1500:].strip()}" for name in names)]))

    def number(self, name):
        """0 where there is none."""
        text = self.text(name).strip()
        return int(text) if text.isdigit() else 0

    def shown(self, name):
        """{property: value} of `systemctl show`"""
        return dict(line.split("=", 1) for line in self.text(name).splitlines() if "=" in line)

    def json(self, name):
        try:
            return json.loads(self.text(name))
        except ValueError:
            return {}

    def processes(self, name):
        """[{field: {values}}] of each that did not end while it was looked at"""
        found = []
        for line in self.text(name).splitlines():
            field, _, value = line.partition(":")
            if field == "Process":
                found.append({})
            if found:
                found[-1].setdefault(field, set()).add(value.strip())
        return [process for process in found if "CapEff" in process]

    def ids(self, name):
        """Of loaded BPF programs."""
        return set(re.findall(r"^(\d+): ", self.text(name), re.M))


def judge_commands(left):
    """Those of job.sh that `keep` ran."""
    for path in sorted(glob.glob(os.path.join(left.folder, "*.status"))):
        name = os.path.basename(path).removesuffix(".status")
        failed = left.text(name + ".status").strip() != "0"
        left.check(failed == (name in FAILING), f"{name}: status {left.text(name + '.status').strip()}", name)
    left.faults += left.text("faults").splitlines()


def judge_rights(left, name, mask):
    """No process of the service is root's or has other capabilities than @mask, and one has all of these."""
    processes = left.processes(name)
    held = {int(value, 16) for process in processes for field in ("CapEff", "CapPrm") for value in process.get(field, ())}
    users = {word for process in processes for value in process.get("Uid", ()) for word in value.split()}
    left.check(mask in held and not any(one & ~mask for one in held), f"{name}: capabilities {[hex(one) for one in held]}")
    left.check("0" not in users and len(users) == 1, f"{name}: users {users}")
    for field, value in (("NoNewPrivs", "1"), ("Seccomp", "2")):
        left.check(all(process.get(field) == {value} for process in processes), f"{name}: {field}")
    kib = sum(int(value.split()[0]) for process in processes for value in process.get("Pss", ()))
    left.figures.append(f"{name.split('.')[0]}: {len(processes)} processes, {kib / 1024:.1f} MiB (Pss)")


def judge_agent(left):
    """It is active, and its windows have whole stacks, which the server shows."""
    shown = left.shown("agent.show")
    left.check(shown.get("ActiveState") == "active" and shown.get("User") == "_fpless" and shown.get("Type") == "notify" and
               shown.get("NRestarts") == "0" and shown.get("WatchdogUSec") == "4min", "fpless-agent", "agent.show")
    left.check(left.text("agent.paranoid").strip() == "3", "perf_event_paranoid", "agent.paranoid")
    judge_rights(left, "agent.processes", MASK)
    for i, window in enumerate(left.json("windows").get("windows", ())):
        share = window["complete"] / max(1, window["judged"])
        left.figures.append(f"window {i}: {window['samples']} samples, {100 * share:.1f} % of {window['judged']} complete, "
                            f"{window['lost']} lost")
        left.check(i != 1 or window["judged"] >= JUDGED_MIN and share >= COMPLETE_MIN, left.figures[-1])
    left.check(len(left.json("windows").get("windows", ())) >= 2, "fewer than two windows", "windows")
    left.figures.append(f"fpless-agent: active after {left.number('agent.start_ms')} ms, a window kept after "
                        f"{left.number('agent.window_ms')} ms; fpless-serve: after {left.number('serve.start_ms')} ms")
    for name in ("top", "serve.top", "port.top"):
        functions = [function["function"] for function in left.json(name).get("functions", ())]
        left.check(OF_PERL in functions, f"{name}: {functions}", name)
    for refusal in ("not permitted", "not implemented", "not kept"):
        left.check(refusal not in left.text("watchdog.journal"), f"fpless-agent: {refusal}", "watchdog.journal")


def judge_serve(left):
    """Root and the group are answered, others refused; at a port the token is asked for."""
    judge_rights(left, "serve.processes", 0)
    for name, wanted in (("serve.flame", OF_PERL), ("serve.report", "<html"), ("serve.page", "<html"),
                         ("serve.metrics", "fpless_windows_total "), ("serve.member", "ok"), ("port.page", "<html"),
                         ("port.report", "<html"), ("port.refused", "401"),
                         ("port.journal", "http://127.0.0.1:8421/, with the token in /run/fpless-serve/token")):
        left.check(wanted in left.text(name), f"{name}: expected {wanted!r}", name)
    left.check(not re.search("[0-9a-f]{64}", left.text("port.journal")), "the journal is told the token", "port.journal")
    for unit, most in EXPOSURE_MAX.items():
        found = re.search(r"Overall exposure level for \S+: ([\d.]+)", left.text("security." + unit))
        left.check(found and float(found[1]) <= most, f"{unit}: exposure", "security." + unit)
        left.figures.append(f"{unit}: exposure {found and found[1]}, at most {most}")


def judge_failures(left):
    """A watchdog, kills and mistakes end in what the units promise; nothing stays loaded."""
    left.check(left.shown("fed.show").get("NRestarts") == "0", "a watchdog that is fed", "fed.show")
    left.check("watchdog timeout" in left.text("watchdog.journal").lower(), "no watchdog", "watchdog.journal")
    left.check(left.shown("killed.show").get("NRestarts") == "3", "restarts", "killed.show")
    left.check(left.shown("stop.show").get("Result") == "success", "stopped", "stop.show")
    before = left.ids("programs.before")
    left.check(left.ids("programs.running") - before, "no program of the agent seen", "programs.running")
    for name in ("programs.after", "programs.purged"):
        left.check(not left.ids(name) - before, "programs stay loaded", name)
    counts = [left.number("nr_windows." + when) for when in ("before", "after", "upgraded")]
    left.check(2 <= counts[0] <= counts[1] <= counts[2], f"windows are lost: {counts}")
    shown = left.shown("mistake.show")
    left.check(shown.get("ActiveState") == "failed" and shown.get("NRestarts") == "0", "a mistake is tried again", "mistake.show")
    left.check("/etc/fpless/agent.conf:" in left.text("mistake.journal"), "a mistake is not said", "mistake.journal")


def judge_push(left):
    """Without a configuration it is refused in words; with one it sends once the server is there."""
    left.check("ssertion failed" in left.text("push.missing") and
               "/etc/fpless/push-pyroscope.conf" in left.text("push.missing_status"), "push without a configuration",
               "push.missing", "push.missing_status")
    judge_rights(left, "push.processes", 0)
    left.check(left.shown("push.away").get("ActiveState") == "active", "push without a server", "push.away")
    left.check("POST /push.v1.PusherService/Push" in left.text("push.requests") and
               "Bearer secret" in left.text("push.requests"), "push", "push.requests")


def judge_packages(left):
    """An upgrade has all services go on with what is new, a removal leaves the store, a purge nothing."""
    left.check("active" not in left.text("installed").split(), "the installation starts a service", "installed")
    before, after = (left.text("upgrade." + when).split() for when in ("before", "after"))
    left.check(len(before) == len(after) == 3 and not set(before) & set(after) and "0" not in after,
               f"upgrade: processes {before}, then {after}")
    left.check(left.text("upgrade.active").split() == ["active"] * 3, "upgrade", "upgrade.active")
    left.check("# of the administrator" in left.text("upgrade.conf"), "upgrade: agent.conf", "upgrade.conf")
    left.check("active" not in left.text("remove.active").split(), "removal: services go on", "remove.active")
    before, after = ({path for path in left.text("files." + when).split("\n") if not is_kept(path)} for when in ("before", "after"))
    left.check(before == after, f"purge: left {sorted(after - before)}, gone {sorted(before - after)}")


def is_kept(path):
    """Not a file that the packages answer for?"""
    def is_below(folders):
        return any((path + "/").startswith(folder + "/") for folder in folders)

    return is_below(("/out", "/root")) or "fpless" not in path and is_below(fresh_root.KEPT | OF_SYSTEMD)


def run(kernel, archive, folder):
    """Boots it; (what it is and took, faults, figures)."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with open(os.path.join(HERE, "job.sh"), encoding="utf-8") as file:
        script = file.read()
    with open(os.path.join(folder, "console"), "w", encoding="utf-8") as console:
        done = boot.boot(kernel, archive, script, folder, memory_mb=systemd_guest.MEMORY_MB, init=systemd_guest.INIT,
                         echo=console)
    left = Left(folder)
    for judge in (judge_commands, judge_agent, judge_serve, judge_failures, judge_push, judge_packages):
        judge(left)
    return f"Linux {kernel}: booted in {done.boot_s:.0f} s, {done.total_s:.0f} s in all", left


def test(packages, folder, series, work):
    packed = make_root(packages, fresh_root.packed_root(folder), work)
    kernels = {name: boot.kernel_or_skip(name) for name in series}
    archive = systemd_guest.archive(packed)
    faults = []
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        runs = [pool.submit(run, kernel, archive, os.path.join(folder, name)) for name, kernel in kernels.items()]
        for done in runs:
            heading, left = done.result()
            print(heading, *left.figures, sep="\n  ", flush=True)
            faults += [f"{heading.split(':')[0]}: {fault}" for fault in left.faults]
    sys.exit(boot.end(faults))


def main():
    packages, folder, *series = sys.argv[1:]
    packages, folder = os.path.abspath(packages), os.path.abspath(folder)
    fresh_root.main(folder, lambda work: test(packages, folder, series or SERIES, work))


if __name__ == "__main__":
    main()
