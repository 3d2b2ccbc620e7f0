# SPDX-License-Identifier: Apache-2.0
"""The candidates that real shells offer for a line, by the completions of the build."""

import os
import pty
import re
import shutil
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))

from waiting import wait_for  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT_S = 180  # hung, not slow


class Bash:
    """Words are put into COMP_WORDS, as readline does."""

    programs = ("bash",)
    needs = "/usr/share/bash-completion/bash_completion"

    def __init__(self, completions, folder):
        self.script = os.path.join(completions, "bash", "fpless")
        self.folder = folder

    def candidates(self, line):
        """Of the last word of the line."""
        words = []
        for word in line.split(" "):
            words += [part for part in re.split("(=)", word) if part] or [""]
            if word.endswith("="):
                words[-1] = "="
        done = subprocess.run(["bash", "--norc", os.path.join(HERE, "completion_bash.sh"),
                               self.script, *words],
                              cwd=self.folder, env=environment(self.folder), check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S)
        assert not done.stderr, done.stderr.decode()
        return set(done.stdout.decode().splitlines())

    def close(self):
        """Nothing is left."""


class Fish:
    """complete -C."""

    programs = ("fish",)
    needs = None

    def __init__(self, completions, folder):
        self.script = os.path.join(completions, "fish", "fpless.fish")
        self.folder = folder

    def candidates(self, line):
        """Without their descriptions."""
        done = subprocess.run(["fish", "--no-config", "-c",
                               "source $argv[1]; complete -C $argv[2]", self.script, line],
                              cwd=self.folder, env=environment(self.folder), check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S)
        assert not done.stderr, done.stderr.decode()
        return {text.split("\t")[0] for text in done.stdout.decode().splitlines()}

    def close(self):
        """Nothing is left."""


class Zsh:
    """An interactive zsh at a terminal; its line editor asks the completions."""

    programs = ("zsh",)
    needs = None

    def __init__(self, completions, folder):
        self.path = os.path.join(folder, ".candidates")
        with open(self.path, "w", encoding="utf-8"):
            pass
        self.seen = 0
        master, slave = pty.openpty()
        env = dict(environment(folder), CANDIDATES=self.path,
                   COMPLETIONS=os.path.join(completions, "zsh"), ZDOTDIR=folder)
        # pylint: disable-next=consider-using-with
        self.zsh = subprocess.Popen(["zsh", "-f", "-i"], cwd=folder, env=env, stdin=slave,
                                    stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.master = master
        threading.Thread(target=self._drain, daemon=True).start()
        self._type(f". {HERE}/completion_capture.zsh\n")
        self._until_end()

    def _drain(self):
        try:
            while os.read(self.master, 4096):
                pass
        except OSError:
            pass

    def _type(self, text):
        os.write(self.master, text.encode())

    def _until_end(self):
        def text():
            with open(self.path, encoding="utf-8") as file:
                return file.read()[self.seen:]

        wait_for(lambda: f"zsh says more than {text()!r}", lambda: text().endswith("-- end --\n"), TIMEOUT_S)
        said = text()
        self.seen += len(said)
        return set(said.splitlines()) - {"-- end --", ""}

    def candidates(self, line):
        """What Tab would offer behind the line."""
        self._type("\x15" + line + "\t")
        return self._until_end()

    def close(self):
        """End the shell."""
        self.zsh.kill()
        self.zsh.wait()
        os.close(self.master)


def environment(folder):
    """Nothing of the caller's: no configuration, no terminal of his."""
    return {"HOME": folder, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "dumb"}


def missing(shell):
    """Why this shell cannot be asked; None: it can."""
    for program in shell.programs:
        if not shutil.which(program):
            return f"{program} is not installed"
    if shell is Zsh:
        try:
            for end in pty.openpty():
                os.close(end)
        except OSError as error:
            return f"no terminal can be made: {error}"
    if shell.needs and not os.path.exists(shell.needs):
        return f"{shell.needs} is not there"
    return None
