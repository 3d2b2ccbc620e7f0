#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tab with code: what it shows of each instruction and line is what fpless annotate says."""

import json
import os
import subprocess

from html_case import FPLESS, HtmlCase, main

SOURCE = """#include <stdio.h>
static inline __attribute__((always_inline)) unsigned mix(unsigned x)
{
	return x ^ x >> 5;	/* </script><script>window.evil=1</script> */
}

__attribute__((noinline)) unsigned work(unsigned n)
{
	unsigned sum = 0, x = 1;

	for (unsigned i = 0; i < n; i++) {
		x = mix(x + i);
		if (x & 1)
			sum += x / (1 + (x & 15));
		else
			puts("even");
	}
	return sum;
}

__attribute__((noinline)) unsigned other(unsigned n) { return n ? n * 3 : 1; }

static volatile unsigned sink;

__attribute__((noinline)) unsigned large(unsigned x)
{
BODY
	return x;
}

int main(int argc, char **argv)
{
	(void)argv;
	return (int)(work((unsigned)argc) + other((unsigned)argc) + large((unsigned)argc));
}
""".replace("BODY", "\n".join(f"\tsink += x ^ {n}u;" for n in range(600)))


def run(*args):
    return subprocess.run(args, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120).stdout


class CodeTab(HtmlCase):
    @classmethod
    def make_page(cls):
        folder = cls.folder.name
        source, program = os.path.join(folder, "prog.c"), os.path.join(folder, "prog")
        with open(source, "w", encoding="utf-8") as file:
            file.write(SOURCE)
        run("gcc", "-O2", "-g", "-fcf-protection=none", "-Wl,--build-id", source, "-o", program)
        build_id = next(line.split()[-1] for line in run("readelf", "-n", program).splitlines() if "Build ID" in line)
        cls.recording = os.path.join(folder, "x.jsonl")
        stacks, total = [], 0
        for name, count in (("work", 900), ("other", 800), ("large", 1)):
            text = run("objdump", "-d", "--no-show-raw-insn", f"--disassemble={name}", program)
            vaddrs = [int(line.split(":")[0], 16) for line in text.splitlines() if line.startswith("    ")]
            for i, vaddr in enumerate(vaddrs):
                if i % 3:
                    stacks.append({"type": "stack", "count": count, "weight_ns": 1, "comm": "prog", "pid": 7, "stop": "outermost",
                                   "kernel": [], "user": [{"object": program, "build_id": build_id, "vaddr": hex(vaddr), "symbol": name,
                                                           "offset": vaddr - vaddrs[0], "origin": "cfi", "exact": True}]})
                    total += count
        stacks.append({"type": "stack", "count": 5, "weight_ns": 1, "comm": "prog", "pid": 7, "stop": "outermost",
                       "kernel": [{"addr": "0xffffffff81000010", "symbol": "sys_read", "offset": 16, "module": None}], "user": []})
        total += 5
        with open(cls.recording, "w", encoding="utf-8") as file:
            for line in [{"type": "meta", "format": 1, "event": "cpu-clock", "period_ns": 1000000, "hz": 1000, "start_unix_ns": 1,
                          "duration_ns": 1000000000, "cpus": 1, "kernel": "6.1", "argv": ["fpless"]}, *stacks,
                         {"type": "books", "fired": total, "shown": total, "idle": 0, "filtered": 0, "lost": {}}]:
                file.write(json.dumps(line) + "\n")
        path = os.path.join(folder, "x.html")
        run(FPLESS, "report", "-q", "--code", cls.recording, "-o", path)
        return path

    def rows(self, page, kind):
        """Texts of the cells of each row of @kind."""
        return page.evaluate(f"[...document.querySelectorAll('.code tr.{kind}')].map(tr => [...tr.cells].map(td => td.textContent))")

    def test_a_function_is_as_annotate_shows_it(self):
        with self.open("view=code") as page:
            for at, name in enumerate(("work", "other")):
                page.click(".code .choices button", name)
                page.wait(f"fpless.app.state.code === {at} && document.querySelector('.code h2').textContent === '{name}'")
                function, = json.loads(run(FPLESS, "annotate", "--json", name, self.recording))["functions"]
                insns = self.rows(page, "insn")
                self.assertEqual([(row[2], row[1].replace(",", "")) for row in insns],
                                 [(insn["vaddr"][2:], str(insn["samples"] or "")) for insn in function["instructions"]])
                self.assertEqual([row[4] for row in insns], [insn["text"] + (f" <{insn['target']}>" if "target" in insn else "")
                                                             for insn in function["instructions"]])
                self.assertEqual(sum(row[3].endswith(">") for row in insns),
                                 len({insn["jumps_to"] for insn in function["instructions"] if "jumps_to" in insn}))
                sums = {}
                for row in self.rows(page, "place"):
                    sums[row[2]] = sums.get(row[2], 0) + int(row[1].replace(",", "") or 0)
                self.assertEqual(sums, {f"prog.c:{line['line']}": line["samples"] for line in function["lines"]})
            page.click(".code .choices button", "work")
            page.wait("document.querySelector('.code h2').textContent === 'work'")
            self.assertIn("mix, inlined in work at prog.c:12", [row[1] for row in self.rows(page, "inlined")])
            self.assertTrue(any("</script><script>window.evil=1</script>" in row[4] for row in self.rows(page, "place")))
            self.assertIsNone(page.evaluate("window.evil"))
            self.assertEqual(page.evaluate("document.querySelector('.code .kernel').textContent"),
                             "Code of the kernel is not here: 5 samples ran in it. perf annotate -k VMLINUX shows it.")
            self.keep(page, "html-code")

    def test_the_address_holds_the_function(self):
        for dark, width in ((False, 1280), (True, 1280), (False, 420)):
            with self.open("view=code&code=1", dark=dark, width=width) as page:
                self.assertEqual(page.text(".code h2"), "other")
                self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)
                self.keep(page, f"html-code-{width}{'-dark' if dark else ''}")
        with self.open("view=code&code=99") as page:
            self.assertEqual(page.text(".code h2"), "work")

    def test_filters_that_do_not_apply_are_said(self):
        with self.open("view=code&code=1") as page:
            self.assertEqual(page.count(".code .note.filters"), 0)
            before = self.rows(page, "insn")
            page.evaluate("fpless.app.set({ process: 'prog' })")
            page.wait("document.querySelectorAll('.code .note.filters').length === 1")
            self.assertIn("filters do not apply", page.text(".code .note.filters"))
            self.assertEqual(self.rows(page, "insn"), before)
            page.evaluate("fpless.app.set({ process: '' })")
            page.wait("document.querySelectorAll('.code .note.filters').length === 0")

    def test_a_line_leads_to_its_code(self):
        with self.open("view=code") as page:
            hottest = page.text(".code .hottest button")
            page.click(".code .hottest button")
            self.assertTrue(hottest.split()[2] in page.evaluate("""(() => {
                const box = document.querySelector(".code .table").getBoundingClientRect();
                return [...document.querySelectorAll(".code tr.place")].filter(row => {
                    const at = row.getBoundingClientRect();
                    return at.top >= box.top && at.bottom <= box.bottom;
                }).map(row => row.cells[2].textContent);
            })()"""))

    def test_of_a_long_function_the_rows_in_sight_are_there(self):
        function, = json.loads(run(FPLESS, "annotate", "--json", "large", self.recording))["functions"]
        with self.open("view=code&code=2") as page:
            self.assertEqual(page.text(".code h2"), "large")
            self.assertEqual(self.rows(page, "insn")[0][2], function["start"][2:])
            self.assertLess(page.count(".code tbody tr"), len(function["instructions"]) / 2)
            page.evaluate("document.querySelector('.code .table').scrollTop = 1e9")
            page.wait("document.querySelector('.code tbody').rows.length > 2 && "
                      f"[...document.querySelectorAll('.code .address')].pop().textContent === '{function['instructions'][-1]['vaddr'][2:]}'")
            # all rows are as high as the room for those that are not there says
            self.assertTrue(page.evaluate("""(() => {
                const rows = [...document.querySelectorAll(".code tbody tr:not([aria-hidden])")];
                return rows.every(row => row.getBoundingClientRect().height === 18);
            })()"""))

    def test_without_code_there_is_no_tab(self):
        path = os.path.join(self.folder.name, "plain.html")
        run(FPLESS, "report", "-q", self.recording, "-o", path)
        with self.open(path=path) as page:
            self.assertEqual(page.count("[data-view=code]"), 0)
        done = subprocess.run([FPLESS, "report", "--code", self.recording], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("--code: needs a page: -o FILE.html", done.stderr)


if __name__ == "__main__":
    main()
