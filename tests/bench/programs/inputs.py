# SPDX-License-Identifier: Apache-2.0
"""Files that the programs of the table work on, made once in a folder: `work` is where the programs see it."""

import os
import random
import shutil
import subprocess

import texts

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sources")
VIDEO = "testsrc2=size=640x360:rate=25:duration=10,noise=alls=12:allf=t"
QUIET = ["ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error", "-y"]
MAKE_TIMEOUT_S = 300


class Missing(Exception):
    """An input could not be made; why."""


class Inputs:
    def __init__(self, machine):
        self.machine, self.folder, self.work = machine, machine.folder, machine.root.work

    def at(self, name):
        """The path, inside, of what a command makes in the folder."""
        return self.work + "/" + name

    def text(self, name, make):
        """The path, inside, of a file whose contents @make gives."""
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            data = make() if callable(make) else make
            with open(path + ".part", "wb") as file:
                file.write(data if isinstance(data, bytes) else data.encode())
            os.rename(path + ".part", path)
        return self.at(name)

    def source(self, name):
        shutil.copy(os.path.join(SOURCES, name), self.folder)
        return self.at(name)

    def run(self, words, env=None):
        """A command in the root, in the folder."""
        command, env = self.machine.inside(["sh", "-c", 'cd "$0" && exec "$@"', self.work, *words], env)
        self._run(command, env)

    def _run(self, command, env):
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  errors="replace", env={**os.environ, **env}, timeout=MAKE_TIMEOUT_S, check=False)
        except (subprocess.TimeoutExpired, FileNotFoundError) as error:
            raise Missing(str(error)) from None
        if done.returncode:
            raise Missing("%s: %s" % (command[-1], (done.stdout.strip().splitlines() or ["?"])[-1][:160]))

    def made(self, name, *words, env=None):
        """The path, inside, of a file that a command makes: its last word is where."""
        if not os.path.exists(os.path.join(self.folder, name)):
            self.run([*words, "part-" + name], env)
            os.rename(os.path.join(self.folder, "part-" + name), os.path.join(self.folder, name))
        return self.at(name)

    def built(self, name, *words):
        """The path, inside, of a program that the machine's own compiler makes of a source of ours."""
        path = os.path.join(self.folder, os.path.splitext(name)[0])
        self._run(["gcc", "-O1", "-o", path, os.path.join(SOURCES, name), *words], {})
        return self.at(os.path.basename(path))

    def built_by_go(self, name, to):
        """The path, inside, of a program that the machine's own Go makes of a source of ours: it needs no library."""
        env = {"GOCACHE": os.path.join(self.folder, "go-cache"), "GO111MODULE": "off", "GOFLAGS": "-p=2"}
        self._run(["go", "build", "-o", os.path.join(self.folder, to), os.path.join(SOURCES, name)], env)
        return self.at(to)

    def installed(self, name):
        """The path, inside, of a copy of a program that is installed on the machine and is no package's of Debian."""
        path = shutil.which(name)
        if not path:
            raise Missing("no %s is installed" % name)
        shutil.copy(os.path.realpath(path), os.path.join(self.folder, "installed-" + name))
        return self.at("installed-" + name)

    def compiled(self, name, *words, env=None):
        """A source of ours compiled by a command in the root."""
        self.source(name)
        self.run(list(words), env)

    def raw(self):
        return self.made("raw.y4m", *QUIET, "-f", "lavfi", "-i", VIDEO, "-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe")

    def h264(self):
        return self.made("h264.mkv", *QUIET, "-i", self.raw(), "-c:v", "libx264", "-preset", "medium", "-f", "matroska")

    def av1(self):
        """Ten seconds, repeated: dav1d plays a file once."""
        once = self.made("av1.ivf", *QUIET, "-i", self.raw(), "-c:v", "libsvtav1", "-preset", "9", "-crf", "35", "-f", "ivf")
        return self.made("av1-100.ivf", *QUIET, "-stream_loop", "100", "-i", once, "-c", "copy", "-f", "ivf")

    def repository(self):
        path = os.path.join(self.folder, "repo")
        if not os.path.exists(path):
            texts.make_repository(path, random.Random(7), texts.vocabulary())
        return self.at("repo")


def debug_file(root):
    """The largest separate debug file of a root, as it is called inside of it."""
    best, most = "", 0
    for folder, _, names in os.walk(os.path.join(root, "usr/lib/debug/.build-id")):
        for name in names:
            size = os.path.getsize(os.path.join(folder, name))
            best, most = (os.path.join(folder, name), size) if size > most else (best, most)
    if not best:
        raise Missing("no debug file")
    return "/" + os.path.relpath(best, root)
