#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files and lines of frames, from the separate debug file of a program whose own file has no symbols."""

import re

from root_case import RootCase, fixture, main


class FramesHaveLines(RootCase):
    def run_chain(self, *options):
        return self.profile("-F", "499", *options, "--", fixture("chain_split"), "400")

    def frames(self, run, folder="/chain_split"):
        return [frame for stack in run.stacks for frame in stack["user"]
                if frame.get("object", "").endswith(folder)]

    def folded(self, run):
        with open(run.folded_path, encoding="utf-8") as file:
            return file.read()

    def test_json_has_them_and_folded_has_not(self):
        run = self.run_chain()
        found = self.frames(run)
        self.assertTrue(found)
        # the linker's stubs have no line
        named = [frame for frame in found if frame["symbol"] not in (None, "_start") and not frame["symbol"].endswith("@plt")]
        self.assertTrue(named)
        for frame in named:
            self.assertRegex(frame.get("file", ""), r"\.[ch]$", frame)
            self.assertGreater(frame["line"], 0, frame)
        self.assertNotRegex(self.folded(run), r" \(\w+\.[ch]:[0-9]+\)")

    def test_folded_has_them_when_asked(self):
        self.assertRegex(self.folded(self.run_chain("--lines", "--inline")), r";main \(chain\.c:[0-9]+\);")

    def test_unrequested_labels_are_absent(self):
        run = self.run_chain("--no-lines", "--no-inline")
        self.assertTrue(self.frames(run))
        self.assertFalse([frame for frame in self.frames(run) if "file" in frame or "inlined" in frame])
        self.assertIsNone(re.search(r"\.c:[0-9]", self.folded(run)))


if __name__ == "__main__":
    main()
