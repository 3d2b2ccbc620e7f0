# SPDX-License-Identifier: Apache-2.0
"""Expected stacks (fixtures/expect/README) and how a sampled stack is compared with them."""

import os
import re

ALWAYS_ALLOWED_STOPS = {"outermost", "exiting", "execing", "no_user_regs"}
CFI_ORIGINS = {"cfi", "cfi_user"}
CRTBEGIN = {"deregister_tm_clones", "register_tm_clones", "__do_global_dtors_aux", "frame_dummy"}

_TOKEN = re.compile(r"^(?P<exact>!?)(?P<names>\[\*\]|[^/{}?*+]+?)(?:/(?P<origin>[a-z_]+))?"
                    r"(?P<times>\{\d+(?:,\d+)?\}|\?|\*|\+)?$")


class Frame:
    """One user frame: what fpless said, and what the file says about the same address."""

    def __init__(self, record, files):
        self.object = record.get("object")
        self.symbol = record.get("symbol")
        self.origin = record.get("origin")
        self.exact = record.get("exact", False)
        self.address = int(record["vaddr"] if self.object else record["addr"], 16)
        self.lookup = self.address - (0 if self.exact else 1)
        self.names = files.find(self.object) if self.object else None
        self.aliases = self.names.aliases(self.lookup) if self.names else set()
        self.section = self.names.section(self.lookup) if self.names else None
        self.basename = os.path.basename((self.object or "").strip("[]")).removesuffix(" (deleted)")

    def matches(self, name):
        """Whether NAME, [OBJECT], (SECTION) or [anon] of an expectation means this frame."""
        if name == "[anon]":
            return self.object is None
        if name.startswith("["):
            if name == "[vdso]":
                return self.object == "[vdso]"
            return name[1:-1] == self.basename
        if name.startswith("("):
            return self.section == name[1:-1] and not self.aliases
        return name in self.aliases

    def __str__(self):
        where = "|".join(sorted(self.aliases)) or self.symbol or self.section or "?"
        mark = "" if self.origin == "cfi" else "/" + str(self.origin)
        return f"{'!' if self.exact else ''}{where}@{self.basename or 'anon'}" \
               f"+{self.address:#x}{mark}"


class Token:
    """One word of a `stack` line: which frames it takes, and how many."""

    def __init__(self, text):
        match = _TOKEN.match(text)
        if not match:
            raise ValueError(f"not a frame: {text!r}")
        self.text = text
        self.exact = bool(match["exact"])
        self.names = match["names"].split("|")
        self.origin = match["origin"]
        times = match["times"] or "{1}"
        if times[0] == "{":
            bounds = [int(n) for n in times[1:-1].split(",")]
            self.least, self.most = bounds[0], bounds[-1]
        else:
            self.least = 1 if times == "+" else 0
            self.most = 1 if times == "?" else 1 << 30

    def takes(self, frame, is_leaf):
        if self.names == ["[*]"]:
            return True
        origins = {self.origin} if self.origin else CFI_ORIGINS
        return (any(frame.matches(name) for name in self.names)
                and (self.origin == "any" or frame.origin in origins)
                and frame.exact == (self.exact or is_leaf))


class Pattern:
    """A whole stack, leaf first."""

    def __init__(self, text, must_appear=True):
        self.text = text
        self.must_appear = must_appear
        self.tokens = [Token(word) for word in text.split()]

    def matches(self, frames):
        # States (token, how many frames it has taken); a token is left once it has its least.
        states = self._close({(0, 0)})
        for i, frame in enumerate(frames):
            taken = {(t, n + 1) for t, n in states if t < len(self.tokens)
                     and n < self.tokens[t].most and self.tokens[t].takes(frame, i == 0)}
            states = self._close(taken)
            if not states:
                return False
        return any(t == len(self.tokens) for t, _ in states)

    def _close(self, states):
        todo = list(states)
        closed = set(states)
        while todo:
            t, n = todo.pop()
            if t < len(self.tokens) and n >= self.tokens[t].least and (t + 1, 0) not in closed:
                closed.add((t + 1, 0))
                todo.append((t + 1, 0))
        return closed


class Expectation:
    """A file of fixtures/expect."""

    def __init__(self, text):
        self.run = self.spin = None
        self.options, self.patterns, self.distinct = [], [], []
        self.jumps, self.rejoins = set(), set()
        self.stops, self.others = {"outermost"}, set(ALWAYS_ALLOWED_STOPS)
        self.samples, self.wrong = 20, 0
        self.kernel_threads = self.unnamed = False
        tail = ""
        for line in text.splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            key, _, value = line.partition(":")
            words = value.split()
            if key == "run":
                self.run = words
            elif key == "options":
                self.options = words
            elif key == "spin":
                self.spin = words
            elif key == "tail":
                tail = value
            elif key in ("stack", "stack?"):
                self.patterns.append(Pattern(value.replace("@tail", tail), key == "stack"))
            elif key == "stop":
                self.stops = set(words)
            elif key == "others":
                self.others |= set(words)
            elif key == "distinct":
                self.distinct.append((words[0], int(words[1])))
            elif key == "jumps":
                self.jumps |= set(words)
            elif key == "rejoins":
                self.rejoins |= set(words)
            elif key == "samples":
                self.samples = int(words[0])
            elif key == "wrong":
                self.wrong = int(words[0])
            elif key == "unnamed":
                self.unnamed = words == ["yes"]
            elif key == "kernel_threads":
                self.kernel_threads = words == ["yes"]
            else:
                raise ValueError(f"not a key: {key!r}")
        if not self.run or not self.spin or not self.patterns:
            raise ValueError("an expectation needs run, spin and stack")


def call_site_fault(frames, jumps, rejoins=frozenset()):
    """What is wrong with the return addresses of a stack, by the disassembly; None if nothing.

    Each must follow a call, and where the call is direct, the frame below must be what it calls,
    or something that it jumps to, or that one of `jumps` went on to. Above one of `rejoins`, which
    is no function, there is where it goes on.
    """
    for below, frame in zip(frames, frames[1:]):
        if not frame.names or frame.exact or frame.origin == "fp" or below.aliases & rejoins:
            continue
        sites = frame.names.return_sites()
        if frame.address not in sites:
            return f"{frame} does not follow a call"
        callee = sites[frame.address]
        if callee is None or below.names is not frame.names:
            continue
        called = _whole(frame.names.aliases(callee))
        if called and not _whole(frame.names.may_become(called)) & (_whole(below.aliases) | jumps):
            return f"{frame} calls {'|'.join(called)}, not {below}"
    return None


def is_in_sigreturn(stack):
    """Was the kernel interrupted while it put the registers of a signal frame back? It does so one by one, and for some
    instructions rsp is the interrupted code's, rip still the trampoline's: its row then reads the wrong words."""
    return any("rt_sigreturn" in (frame["symbol"] or "") for frame in stack.get("kernel", ()))


def _whole(names):
    """Names of functions without the suffix of their cold parts."""
    return {name.removesuffix(".cold") for name in names}


class Judge:
    """Compares the stacks of a run with an expectation; `faults` is what is wrong, in words."""

    def __init__(self, expectation, files):
        self.expectation = expectation
        self.files = files
        self.symbols_told = True  # the records carry symbols
        self.faults = []
        self.length = 1  # how many times as long as the expectation says what was sampled has run
        self.judged = self.others = self.kernel_threads = self.wrong = 0
        self.by_pattern = [0] * len(expectation.patterns)
        self.misnamed = {}  # frame: the name fpless gives it
        self.leaf_pcs = {}  # function: {address}

    def add(self, stack):
        """One `stack` record of the .jsonl."""
        nr_faults = len(self.faults)
        self._add(stack)
        if len(self.faults) > nr_faults:
            self.wrong += stack["count"]

    def _add(self, stack):
        count, stop = stack["count"], stack["stop"]
        if is_in_sigreturn(stack):
            self.others += count
            return
        frames = [Frame(record, self.files) for record in stack["user"]]
        if stop is None:
            self.kernel_threads += count
            if frames:
                self._fault(count, "user frames without a stop", frames, stop)
            return
        if frames and any(frames[0].matches(name) for name in self.expectation.spin):
            self.judged += count
            self._judge(frames, stop, count)
        else:
            self.others += count
            if stop not in self.expectation.others and not self._is_startup_code(frames, stop):
                self._fault(count, "incomplete outside the spin functions", frames, stop)
        self._check_any(frames, stop, count)

    def _judge(self, frames, stop, count):
        for i, pattern in enumerate(self.expectation.patterns):
            if pattern.matches(frames):
                self.by_pattern[i] += count
                break
        else:
            self._fault(count, "not an expected stack", frames, stop)
        if stop not in self.expectation.stops:
            self._fault(count, "not an expected stop", frames, stop)
        for name, _ in self.expectation.distinct:
            if frames[0].matches(name):
                self.leaf_pcs.setdefault(name, set()).add(frames[0].address)

    def _check_any(self, frames, stop, count):
        """What holds for every stack, expected or not."""
        for frame in frames:
            if frame.origin == "fp":
                continue
            if self.symbols_told and frame.aliases and frame.symbol not in frame.aliases and \
                    not any(alias.startswith("_Z") for alias in frame.aliases) and \
                    not (frame.symbol is None and self.expectation.unnamed):
                self.misnamed[str(frame)] = frame.symbol
        fault = call_site_fault(frames, self.expectation.jumps, self.expectation.rejoins)
        if fault:
            self._fault(count, fault, frames, stop)
        if stop == "outermost" and not self._is_outermost(frames[-1]):
            self._fault(count, "does not end in an entry or a thread's start", frames, stop)

    def _is_startup_code(self, frames, stop):
        """No toolchain gives .init and .fini, put together from pieces, or crtbegin.o any CFI."""
        return stop == "no_cfi" and frames and \
            (self.files.section(frames[-1].object, frames[-1].lookup) in (".init", ".fini") or
             bool((frames[-1].aliases or {frames[-1].symbol}) & CRTBEGIN))

    @staticmethod
    def _is_outermost(frame):
        names = frame.aliases or {frame.symbol}
        if names & {"_start", "_dl_start_user", "clone3", "__clone3", "clone", "__clone"}:
            return True
        if frame.names:
            return frame.names.entry <= frame.address < frame.names.entry + 64
        # A stripped libc or ld.so says no more; clone3 has no symbol there.
        return frame.basename in ("libc.so.6", "ld-linux-x86-64.so.2")

    def _fault(self, count, what, frames, stop):
        shown = " ".join(str(frame) for frame in frames[:12])
        if len(frames) > 12:
            shown += f" ... {len(frames)} frames ... {frames[-1]}"
        self.faults.append(f"{count} samples: {what}: stop {stop}: {shown}")

    def missing(self):
        """What was not seen, and may be in more samples."""
        expected, missing = self.expectation, []
        if self.judged < expected.samples:
            missing.append(f"{self.judged} samples in {expected.spin}, "
                           f"at least {expected.samples} expected")
        for pattern, count in zip(expected.patterns, self.by_pattern):
            if pattern.must_appear and not count:
                missing.append(f"no sample of:{pattern.text}")
        for name, least in expected.distinct:
            if len(self.leaf_pcs.get(name, ())) < least:
                missing.append(f"samples on {len(self.leaf_pcs.get(name, ()))} pcs of {name}, "
                               f"at least {least} expected")
        if expected.kernel_threads and not self.kernel_threads:
            missing.append("no sample of a kernel thread")
        return missing

    def wrongs(self):
        """What is wrong with what was seen."""
        faults = self.faults if self.wrong > self.expectation.wrong * self.length else []
        return faults + [f"{frame} is called {name!r}" for frame, name in self.misnamed.items()]

    def finish(self):
        """All faults."""
        return self.wrongs() + self.missing()
