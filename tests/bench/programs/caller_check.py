# SPDX-License-Identifier: Apache-2.0
"""Which stacks of a recording hold a frame that certainly is wrong?

A return address follows a call that can reach the function of the frame below. It is certainly wrong
where no call of any form ends there, and where the one that does is direct and its target is in
another function than the frame below, which is no stub of the linker and which nothing leaves but by
returning: no jump out of it, no jump by register, no end to fall off. All else may be right: indirect
calls, stubs, tail calls, code that is in no file. objdump says what the bytes are."""

import os
import re
import subprocess
import tempfile

from elf_code import ElfCode, NotElf

CALL_SIZES = range(2, 9)
GAP = b"\x90" * 16  # between pieces of code: an instruction that begins in one ends before the next
FUNCTION_MAX = 64 << 10
PIECES_MAX = 32 << 20
LINE = re.compile(r"^\s*([0-9a-f]+):\s+(.+?)\s*$")
TARGET = re.compile(r"\s0x([0-9a-f]+)$")
ENDS = re.compile(r"^(bnd |notrack |repz? )*(ret|jmp|ud2|hlt)")
PADDING = re.compile(r"^((data16|cs) )*(nop|xchg +%ax,%ax|int3|lea +0x0\(%rsi)")
JUMP = re.compile(r"^(bnd |notrack |[cd]s )*(j[a-z]+|loop[a-z]*|xbegin)\b")


def disassemble(pieces):
    """For each piece of code, bytes: [(offset, text)], a target as 0x and its offset in the piece."""
    found = []
    batch, size = [], 0
    for piece in pieces:
        if batch and size + len(piece) > PIECES_MAX:
            found += _objdump(batch)
            batch, size = [], 0
        batch.append(piece)
        size += len(piece) + len(GAP)
    return found + (_objdump(batch) if batch else [])


def _objdump(pieces):
    starts, blob = [], bytearray()
    for piece in pieces:
        starts.append(len(blob))
        blob += piece + GAP
    with tempfile.NamedTemporaryFile(suffix=".code") as file:
        file.write(blob)
        file.flush()
        done = subprocess.run(["objdump", "-D", "-w", "--no-show-raw-insn", "-b", "binary", "-m", "i386:x86-64",
                               file.name], stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, "LC_ALL": "C"})
    found, at = [[] for _ in pieces], 0
    for match in filter(None, map(LINE.match, done.stdout.splitlines())):
        offset = int(match[1], 16)
        while at + 1 < len(starts) and offset >= starts[at + 1]:
            at += 1
        if offset - starts[at] < len(pieces[at]):
            target = TARGET.search(match[2])
            text = match[2][:target.start()] + " 0x%x" % (int(target[1], 16) - starts[at]) if target else match[2]
            found[at].append((offset - starts[at], text))
    return found


def text_target(text, base):
    """The address a direct call or jump goes to, None of an indirect one."""
    match = re.search(r"\s0x(-?[0-9a-f]+)$", text)
    return base + int(match[1], 16) & (1 << 64) - 1 if match and "*" not in text else None


class Check:
    """@locate: the path of an object by its name in the recording, None where there is no such file."""

    def __init__(self, locate):
        self.locate = locate
        self.codes = {}
        self.stacks = []  # (count, [pair])
        self.pairs = {}   # (callee place, caller place) -> why it is wrong, None: it may be right

    def code(self, name):
        if name not in self.codes:
            path = self.locate(name)
            try:
                self.codes[name] = ElfCode(path) if path else None
            except (OSError, NotElf):
                self.codes[name] = None
        return self.codes[name]

    def take(self, stack):
        """A stack of .jsonl."""
        pairs = []
        for below, frame in zip(stack["user"], stack["user"][1:]):
            if is_gap(below) or is_gap(frame) or "script" in (below.get("origin"), frame.get("origin")):
                continue
            if frame.get("exact") or "vaddr" not in frame or self.code(frame["object"]) is None:
                continue
            pair = place(below, bool(below.get("exact"))), place(frame, True)
            self.pairs[pair] = None
            pairs.append(pair)
        self.stacks.append((stack["count"], pairs))

    def judge(self):
        """Returns (samples, those with a wrong frame, {why: samples})."""
        self._judge_calls()
        wrong, whys = 0, {}
        for count, pairs in self.stacks:
            why = next((self.pairs[pair] for pair in pairs if self.pairs[pair]), None)
            if why:
                wrong += count
                whys[why] = whys.get(why, 0) + count
        return sum(count for count, _ in self.stacks), wrong, whys

    def _judge_calls(self):
        returns = sorted({caller for _, caller in self.pairs})
        pieces = [(caller, size, piece) for caller in returns for size in CALL_SIZES
                  for piece in [self.code(caller[0]).read(caller[1] - size, size)] if len(piece) == size]
        calls = {}  # return address -> targets of the calls that may end there, None of an indirect one
        for (caller, size, _), lines in zip(pieces, disassemble([piece for _, _, piece in pieces])):
            if len(lines) == 1 and re.search(r"\bcall", lines[0][1]):
                calls.setdefault(caller, set()).add(text_target(lines[0][1], caller[1] - size))
        suspects = []
        for pair in self.pairs:
            if pair[1] not in calls:
                self.pairs[pair] = None if self.is_entry(pair[1]) else "no call before %s+0x%x" % short(pair[1])
            elif None not in calls[pair[1]] and len(calls[pair[1]]) == 1:
                suspects.append((pair, next(iter(calls[pair[1]]))))
        self._judge_targets(suspects)

    def is_entry(self, at):
        """Is it at, or one byte behind, where a function begins? Such an address is put on the stack, not called from. Where
        nothing says where functions begin, that one byte is a nop."""
        code = self.code(at[0])
        function = code.function(at[1])
        if function is None:
            return not code.is_code(at[1]) or code.read(at[1] - 1, 1) == b"\x90"
        return at[1] - function[0] <= 1

    def _judge_targets(self, suspects):
        """@suspects: [(pair, where the direct call goes)]."""
        asked = {}
        for (below, caller), target in suspects:
            function = self.code(caller[0]).function(target)
            if function and function[1] - function[0] <= FUNCTION_MAX and self.reaches(below, caller, target, function) is False:
                asked.setdefault((caller[0], function), []).append((below, caller))
        bodies = [self.code(name).read(start, end - start) for name, (start, end) in asked]
        for ((name, _), pairs), body, lines in zip(asked.items(), bodies, disassemble(bodies)):
            if not can_leave(lines, len(body)):
                for pair in pairs:
                    self.pairs[pair] = "the call before %s+0x%x goes elsewhere than to %s+0x%x" % (
                        *short(pair[1]), *short(pair[0]))

    def reaches(self, below, caller, target, function):
        """Can the frame below be of the function called? None: that cannot be told."""
        code = self.code(caller[0])
        if code.is_stub(target) or below[1] is None:
            return None
        if below[0] != caller[0]:
            return False if self.code(below[0]) is not None else None
        own = code.function(below[1])
        if own is None or own == function or function[0] <= below[1] < function[1]:
            return None
        return False


def can_leave(lines, size):
    """May a function end otherwise than by returning: in another one's code?"""
    last = next((text for _, text in reversed(lines) if not PADDING.match(text)), "")
    if not ENDS.match(last):
        return True
    for _, text in lines:
        if "(bad)" in text:
            return True
        if JUMP.match(text):
            target = text_target(text, 0)
            if target is None or not 0 <= target < size:
                return True
    return False


def is_gap(frame):
    """Does it stand for frames that were left out?"""
    return "vaddr" not in frame and frame.get("addr") is None


def place(frame, as_read):
    """(object, address in the function); code in no file is None."""
    if "vaddr" not in frame:
        return None, None
    return frame["object"], int(frame["vaddr"], 16) - (0 if as_read else 1)


def short(at):
    return os.path.basename(at[0] or "?"), at[1] or 0
