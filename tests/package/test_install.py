#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_install.py FOLDER FOLDER_OF_ROOT

The packages that test_build.py left in FOLDER, in the fresh Debian of test_root.py: installed by apt, fpless profiles a
perl of that Debian to the outermost frame, and both are removed without a trace. Installed again, beside systemd, the
service of fpless-agent keeps windows, and fpless-serve answers from them."""

import errno
import glob
import json
import os
import shutil
import subprocess
import sys

import fresh_root

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from waiting import wait_for  # noqa: E402  pylint: disable=wrong-import-position

BUSY = "$n += $_ % 7 for 1 .. 3e7; print $n"
OF_PERL = "Perl_pp_modulo"  # its loop is shown as the script that it runs


def profile(root):
    """Its stacks are whole, its books closed."""
    root.run("fpless", "doctor")
    said = root.run("fpless", "profile", "-e", "cpu-clock", "-F", "499", "--stats", "/root/s.json",
                    "-o", "/root/o.folded", "--", "perl", "-e", BUSY)
    with open(os.path.join(root.path, "root/s.json"), encoding="utf-8") as file:
        stats = json.load(file)
    judged = stats["user_samples"] - stats["stop"]["exiting"] - stats["stop"]["execing"]
    assert judged > 100 and stats["complete"] >= 0.97 * judged, said
    assert not sum(stats["lost"].values()) and "  books" not in said, said
    with open(os.path.join(root.path, "root/o.folded"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    mains = sum(int(line.rsplit(" ", 1)[1]) for line in lines
                if line.startswith("perl;_start;") and ";main;" in line)
    assert mains >= 0.9 * judged, lines
    assert root.run("fpless", "report", "-q", "-f", "/root/o.folded").count("\n") == len(lines)
    # Beside something to see: an idle machine has no sample to show, which is an error.
    beside = "perl -e '1 while 1' & fpless-bcc-profile 1; status=$?; kill $!; exit $status"
    assert "Sampling at 49 Hertz" in root.run("sh", "-c", beside)
    # bcc's own names, for who has that folder first in PATH.
    beside = beside.replace("fpless-bcc-profile 1", "PATH=/usr/lib/fpless/bcc:$PATH; profile -adf 1 && profile-bpfcc -U 1")
    assert "Sampling at 49 Hertz" in root.run("sh", "-c", beside)
    assert not os.path.lexists(os.path.join(root.path, "usr/sbin/profile-bpfcc")), "the name is bpfcc-tools'"
    assert os.path.isdir(os.path.join(root.path, "var/cache/fpless")), "no tables were kept"
    return f"{stats['complete']} of {judged} user stacks complete"


# GET over the Unix socket of the server.
GET = """
use IO::Socket::UNIX;
my $socket = IO::Socket::UNIX->new("/run/fpless-serve/socket") or die "no server: $!";
print $socket "GET $ARGV[0] HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n";
print <$socket>;
"""

# systemd as the first process of a namespace, as a container has it.
BOOT = """
root=$1
shift
for cgroup; do
	echo $$ >"$cgroup/cgroup.procs"
done
exec unshare --pid --mount --ipc --uts --fork --kill-child sh -ec '
	mount --make-rprivate /
	mount --bind "$0" "$0"
	mount -t proc proc "$0/proc"
	mount --rbind /sys "$0/sys"
	mount -t tmpfs -o mode=755 tmpfs "$0/run"
	mount -t tmpfs -o mode=755 tmpfs "$0/dev"
	for name in null zero full random urandom tty; do
		touch "$0/dev/$name"
		mount --bind "/dev/$name" "$0/dev/$name"
	done
	mkdir "$0/dev/shm" "$0/dev/pts"
	mount -t devpts -o newinstance,ptmxmode=666 devpts "$0/dev/pts"
	ln -s pts/ptmx "$0/dev/ptmx"
	exec chroot "$0" env -i container=other PATH=/usr/sbin:/usr/bin /lib/systemd/systemd' "$root"
"""


class Cgroups:
    """One of its own for systemd in each hierarchy that it uses; they go with all below them."""

    def __enter__(self):
        tops = ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")
        self.paths = [f"{top}/fpless-systemd-{os.getpid()}" for top in tops if os.path.exists(top + "/cgroup.procs")]
        for path in self.paths:
            os.mkdir(path)
        return self.paths

    def __exit__(self, *_):
        for path in self.paths:
            for folder, _, _ in os.walk(path, topdown=False):
                wait_for("the end of " + folder, lambda at=folder: self.is_removed(at))

    @staticmethod
    def is_removed(folder):
        """It is once its processes have gone."""
        try:
            os.rmdir(folder)
            return True
        except OSError as error:
            return error.errno == errno.ENOENT


def check_mistake(inside, root):
    """A wrong line of the configuration is named, and is not tried again."""
    with open(root.path + "/etc/fpless/agent.conf", "a", encoding="utf-8") as file:
        file.write("windo = 1\n")
    inside("systemctl", "start", "fpless-agent", status=1)
    assert "ActiveState=failed" in inside("systemctl", "show", "--property=ActiveState", "fpless-agent")
    assert "/etc/fpless/agent.conf:" in inside("journalctl", "--unit", "fpless-agent", "--output", "cat")


def agent(root):
    """The service, started by systemd: with its user, its rights and its filter of system calls."""
    with open(root.path + "/etc/fpless/agent.conf", "a", encoding="utf-8") as file:
        file.write("window = 1\n")
    with Cgroups() as cgroups, \
         subprocess.Popen(["sh", "-ec", BOOT, "sh", root.path, *cgroups], stdin=subprocess.DEVNULL) as booted:
        def first():
            """The first process of the namespace."""
            with open(f"/proc/{booted.pid}/task/{booted.pid}/children", encoding="ascii") as file:
                return file.read().split()

        def inside(*command, status=0):
            done = subprocess.run(["nsenter", "--target", first()[0], "--pid", "--mount", "--ipc", "--uts", "chroot",
                                   root.path, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  stdin=subprocess.DEVNULL, check=False, timeout=600)
            assert status is None or done.returncode == status, (command, done.stdout)
            return done.stdout

        try:
            wait_for("systemd", lambda: booted.poll() is not None or
                     first() and inside("systemctl", "is-system-running", status=None).strip() in ("running", "degraded"))
            assert booted.poll() is None, "systemd has ended"
            inside("sh", "-c", "systemctl start fpless-agent || { journalctl --unit fpless-agent --no-pager; exit 1; }")
            status = ("systemctl", "show", "--property=StatusText", "fpless-agent")
            wait_for(lambda: "windows: " + inside(*status), lambda: "windows kept, 0 not" in inside(*status))
            # a busy machine may give a program of a second less than a sample
            query = ("fpless", "query", "top", "--comm", "^perl$")
            wait_for(lambda: "a window of perl: " + inside(*query, status=None),
                     lambda: inside("perl", "-e", BUSY) and OF_PERL in inside(*query, status=None))
            inside("sh", "-c", "systemctl start fpless-serve || { journalctl --unit fpless-serve --no-pager; exit 1; }")
            for path, wanted in (("/api/top?comm=perl", OF_PERL), ("/metrics", "fpless_windows_total ")):
                answered = inside("perl", "-e", GET, path)
                assert wanted in answered, answered + inside("journalctl", "--unit", "fpless-serve", "--output", "cat")
            inside("systemctl", "stop", "fpless-serve")
            assert "Result=success" in inside("systemctl", "show", "--property=Result", "fpless-serve")
            inside("systemctl", "stop", "fpless-agent")
            assert "Result=success" in inside("systemctl", "show", "--property=Result", "fpless-agent")
            said = inside("journalctl", "--unit", "fpless-agent", "--output", "cat")
            for refusal in ("not permitted", "not implemented", "not kept"):
                assert refusal not in said, said
            assert "as it was written" in inside("fpless", "query", "check")
            assert "ssertion failed" in inside("systemctl", "start", "fpless-push@pyroscope", status=1)
            check_mistake(inside, root)
        finally:
            booted.kill()
    return "the service keeps windows, and they are served"


def test(folder, work):
    """Install, use, remove."""
    debs = [glob.glob(os.path.join(folder, name))[0] for name in ("fpless_*.deb", "fpless-agent_*.deb")]
    root = fresh_root.FreshRoot(work, fresh_root.packed_root(sys.argv[2]))
    before = root.files(fresh_root.KEPT)
    files = ("/root/fpless.deb", "/root/fpless-agent.deb")
    for deb, file in zip(debs, files):
        shutil.copy(deb, root.path + file)
        root.run("apt-get", "-q", "-y", "--no-install-recommends", "install", file)
    for name in ("fpless", "fpless-agent"):
        for path in root.run("dpkg", "-L", name).split():
            assert os.path.lexists(root.path + path), path
    print(profile(root))
    # what the service would leave
    root.run("install", "-d", "-o", "_fpless", "/var/lib/fpless/x", "/var/cache/fpless-agent/x")
    root.run("apt-get", "-q", "-y", "--auto-remove", "purge", "fpless-agent", "fpless")
    after = root.files(fresh_root.KEPT)
    left = {path for path in after if path not in before}
    gone = {path for path in before if path not in after}
    assert not left and not gone, (sorted(left), sorted(gone))
    root.run("apt-get", "-q", "-y", "--no-install-recommends", "install", "systemd", *files)
    print(agent(root))


if __name__ == "__main__":
    if not glob.glob(os.path.join(sys.argv[1], "fpless_*.deb")):
        fresh_root.skip("package.build has left nothing to install")
    fresh_root.main(sys.argv[1], lambda work: test(os.path.abspath(sys.argv[1]), work))
