# SPDX-License-Identifier: Apache-2.0
"""Packages of another Debian suite, or their sources, by the machine's own apt: same archives, keys,
proxies and credentials, but lists, cache and state in a folder of their own. Nothing is installed."""

import glob
import os
import re
import shutil
import subprocess

TIMEOUT_S = 300
_DEBIAN = re.compile(r"^(stable|oldstable|testing|unstable|sid|buster|bullseye|bookworm|trixie|"
                     r"forky|duke)$")


class AptError(Exception):
    """What apt or its configuration lacks, in words."""


class AptRoot:
    """An apt whose sources are the machine's, with these suites in place of its own. @kind: deb, or
    deb-src. @kept: suites beside them, where the machine has them, as that of security updates."""

    def __init__(self, folder, suites, kind="deb", kept=()):
        if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
            raise AptError("apt-get or dpkg-deb is not installed")
        self.folder = os.path.join(folder, "apt")
        for name in ("state/lists/partial", "cache/archives/partial", "sources", "parts"):
            os.makedirs(os.path.join(self.folder, name))
        if not self._write_sources(suites, kind, kept):
            raise AptError("apt has no source of a Debian suite with the component main")
        self._write_configuration()
        # An archive may have only some of the suites; the others are of use all the same.
        self.update = self._run("apt-get", "-q", "update")

    def _write_sources(self, suites, kind, kept):
        etc = _dump_value("Dir::Etc") or "etc/apt"
        etc = os.path.join(_dump_value("Dir") or "/", etc)
        paths = [os.path.join(etc, "sources.list"),
                 *sorted(glob.glob(os.path.join(etc, "sources.list.d", "*")))]
        written = 0
        for path in paths:
            try:
                with open(path, encoding="utf-8") as file:
                    text = file.read()
            except OSError:
                continue
            if path.endswith(".sources"):
                out, suffix = "\n\n".join(stanzas(text, suites, kind, kept)), "sources"
            elif path.endswith(".list"):
                out, suffix = "\n".join(lines(text, suites, kind, kept)), "list"
            else:
                continue
            if out:
                written += 1
                name = os.path.join(self.folder, "sources", f"{written}.{suffix}")
                with open(name, "w", encoding="utf-8") as file:
                    file.write(out + "\n")
        return written

    def _write_configuration(self):
        """How the machine reaches its archives, without its hooks."""
        kept = [line for line in _run_plain("apt-config", "dump").splitlines()
                if line.startswith("Acquire::") or line.startswith("Dir::Etc::netrc")
                or line.startswith("Dir::Etc::trusted")]
        root = self.folder
        kept += [
            'APT::Architecture "amd64";', 'APT::Architectures { "amd64"; };',
            'APT::Sandbox::User "root";',  # the folder may be closed to others
            'Acquire::Languages "none";',
            'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";',
            f'Dir::State "{root}/state";', f'Dir::State::status "{root}/state/status";',
            f'Dir::Cache "{root}/cache";', f'Dir::Etc::main "{root}/none";',
            f'Dir::Etc::parts "{root}/parts";', f'Dir::Etc::sourcelist "{root}/none";',
            f'Dir::Etc::sourceparts "{root}/sources";', f'Dir::Etc::preferences "{root}/none";',
            f'Dir::Etc::preferencesparts "{root}/parts";',
        ]
        with open(os.path.join(root, "apt.conf"), "w", encoding="utf-8") as file:
            file.write("\n".join(kept) + "\n")
        with open(os.path.join(root, "state/status"), "w", encoding="ascii"):
            pass

    def environment(self):
        """With which any program of apt uses these sources."""
        return dict(os.environ, APT_CONFIG=os.path.join(self.folder, "apt.conf"), LC_ALL="C")

    def _run(self, *command, folder=None):
        try:
            return subprocess.run(command, cwd=folder or self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise AptError(f"{command[0]}: no answer within {TIMEOUT_S} s") from None

    def names(self, pattern):
        """Names of packages that match a regular expression."""
        done = self._run("apt-cache", "search", "--names-only", pattern)
        found = [line.split(" ", 1)[0] for line in done.stdout.splitlines()]
        if not found:
            raise AptError("no package list could be fetched: " + _last_line(self.update.stdout))
        return found

    def download(self, package):
        """The path of its .deb, whose digest apt has compared with the signed lists."""
        done = self._run("apt-get", "-q", "download", package)
        paths = glob.glob(os.path.join(self.folder, package + "_*.deb"))
        if done.returncode or len(paths) != 1:
            raise AptError(f"{package}: {_last_line(done.stdout)}")
        return paths[0]

    def download_source(self, package):
        """The folder with the files of a source package, whose digests apt has compared."""
        folder = os.path.join(self.folder, "source")
        os.makedirs(folder, exist_ok=True)
        done = self._run("apt-get", "-q", "source", "--download-only", package, folder=folder)
        if done.returncode:
            raise AptError(f"{package}: {_last_line(done.stdout)}")
        return folder


def _last_line(text):
    lines_said = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines_said if line.startswith("E:")]
    return (errors or lines_said or ["no reason given"])[0]


def _run_plain(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=True).stdout


def _dump_value(key):
    values = _run_plain("apt-config", "shell", "VALUE", key).strip()
    return values.removeprefix("VALUE=").strip("'") if values else ""


def lines(text, suites, kind="deb", kept=()):
    """One-line sources of Debian's main, for the suites in place of their own, and for those of @kept."""
    out = []
    for line in text.splitlines():
        match = re.match(r"^\s*deb\s+(\[[^]]*\]\s+)?(\S+)\s+(\S+)((?:\s+\S+)*)\s*$",
                         line.split("#", 1)[0])
        if match and "main" in match[4].split():
            wanted = suites if _DEBIAN.match(match[3]) else [match[3]] if match[3] in kept else []
            out += [f"{kind} {match[1] or ''}{match[2]} {suite} main" for suite in wanted]
    return out


def stanzas(text, suites, kind="deb", kept=()):
    """The same of the deb822 form. Fields may go on in indented lines."""
    out = []
    plain = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", plain):
        fields = re.findall(r"^([^\s:]+):((?:.*)(?:\n[ \t].*)*)", stanza, re.M)
        values = {key.lower(): value.split() for key, value in fields}
        own = values.get("suites", [])
        wanted = [*(suites if any(map(_DEBIAN.match, own)) else ()), *(suite for suite in own if suite in kept)]
        if "deb" not in values.get("types", []) or values.get("enabled") == ["no"] or \
                "main" not in values.get("components", []) or not wanted:
            continue
        changed = {"types": " " + kind, "suites": " " + " ".join(wanted), "components": " main",
                   "architectures": " amd64"}
        same = [f"{key}:{value}" for key, value in fields if key.lower() not in changed]
        out.append("\n".join(same + [f"{key.title()}:{value}" for key, value in changed.items()]))
    return out
