#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tab with code: what it shows of each instruction and line is what fpless annotate says."""

import collections
import functools
import json
import os
import re
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


class Program:
    """SOURCE as a program in @folder, and recordings of it."""

    def __init__(self, folder):
        self.folder = folder
        self.path = os.path.join(folder, "prog")
        source = os.path.join(folder, "prog.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(SOURCE)
        run("gcc", "-O2", "-g", "-fcf-protection=none", "-Wl,--build-id", source, "-o", self.path)
        self.build_id = next(line.split()[-1] for line in run("readelf", "-n", self.path).splitlines() if "Build ID" in line)

    @functools.cache
    def vaddrs(self, name):
        """Of the instructions of the function @name."""
        text = run("objdump", "-d", "--no-show-raw-insn", f"--disassemble={name}", self.path)
        return [int(line.split(":")[0], 16) for line in text.splitlines() if line.startswith("    ")]

    def stack(self, name, vaddr, count, **more):
        return {"type": "stack", "count": count, "weight_ns": count, "comm": "prog", "pid": 7, "stop": "outermost", "kernel": [], **more,
                "user": [{"object": self.path, "build_id": self.build_id, "vaddr": hex(vaddr), "symbol": name,
                          "offset": vaddr - self.vaddrs(name)[0], "origin": "cfi", "exact": True}]}

    def write(self, stacks, samples=()):
        """A recording of @stacks, in which @samples, lines of that type, have a time."""
        total = sum(stack["count"] for stack in stacks)
        path = os.path.join(self.folder, "x.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            for line in [{"type": "meta", "format": 1, "event": "cpu-clock", "period_ns": 1000000, "hz": 1000, "start_unix_ns": 1,
                          "duration_ns": 1000000000, "cpus": 1, "kernel": "6.1", "argv": ["fpless"]}, *stacks, *samples,
                         {"type": "books", "fired": total, "shown": total, "idle": 0, "filtered": 0, "lost": {}}]:
                file.write(json.dumps(line) + "\n")
        return path


def kernel_stack(count, **more):
    return {"type": "stack", "count": count, "weight_ns": count, "comm": "prog", "pid": 7, "stop": "outermost", **more, "user": [],
            "kernel": [{"addr": "0xffffffff81000010", "symbol": "sys_read", "offset": 16, "module": None}]}


def page_with_code(recording):
    path = os.path.join(os.path.dirname(recording), "x.html")
    run(FPLESS, "report", "-q", "--code", recording, "-o", path)
    return path


class CodeTab(HtmlCase):
    @classmethod
    def make_page(cls):
        program = Program(cls.folder.name)
        stacks = []
        for name, count in (("work", 900), ("other", 800), ("large", 1)):
            stacks += [program.stack(name, vaddr, count) for i, vaddr in enumerate(program.vaddrs(name)) if i % 3]
        stacks.append(kernel_stack(5))
        cls.recording = program.write(stacks)
        return page_with_code(cls.recording)

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


class FilteredCode(HtmlCase):
    """Three processes of two names and six threads in a second of 1,000 samples; a fifth of them has no time."""

    @classmethod
    def make_page(cls):
        program = Program(cls.folder.name)
        places = [(name, vaddr) for name in ("work", "other") for vaddr in program.vaddrs(name)]
        cls.samples = []
        for i in range(1000):
            pid, late = 7 + i % 3, i >= 600
            name, vaddr = places[(i * i + 5 * late) % len(places)]
            cls.samples.append({"pid": pid, "comm": "b" if pid == 9 else "a", "tid": pid * 10 + i % 2, "stop": ("outermost", "no_cfi")[i % 7 == 0],
                                "time": i if i % 5 else None, "name": name, "vaddr": vaddr if i % 11 else None})
        stacks, events = {}, []
        for one in cls.samples:
            key = (one["tid"], one["stop"], one["vaddr"])
            one["stack"] = list(stacks).index(key) if key in stacks else len(stacks)
            if key not in stacks:
                more = {name: one[name] for name in ("pid", "tid", "comm", "stop")}
                stacks[key] = program.stack(one["name"], one["vaddr"], 0, **more) if one["vaddr"] else kernel_stack(0, **more)
            stacks[key]["count"] += 1
            stacks[key]["weight_ns"] += 1
            if one["time"] is not None:
                events.append(one)
        for i, one in enumerate(events):
            one["since"] = one["time"] * 1000000 - (events[i - 1]["time"] * 1000000 if i else 0)
        lines = {"type": "samples", "time_ns": [one["since"] for one in events], "stack": [one["stack"] for one in events],
                 "tid": [one["tid"] for one in events], "cpu": [0] * len(events), "weight_ns": [1] * len(events)}
        return page_with_code(program.write(stacks.values(), [lines]))

    def counts(self, page):
        """Samples by address of all functions, and those of the kernel, as the tab shows them."""
        counts = {}
        for i in range(2):
            page.click(f".code .choices button:nth-child({i + 1})")
            page.wait(f"fpless.app.state.code === {i}")
            rows = page.evaluate("""[...document.querySelectorAll(".code tr.insn")].map(row => [row.cells[2].textContent, row.cells[1].textContent])""")
            counts.update({int(address, 16): int(samples.replace(",", "")) for address, samples in rows if samples})
            shown = sum(int(samples.replace(",", "")) for _, samples in rows if samples)
            places = page.evaluate("""[...document.querySelectorAll(".code tr.place")].map(row => row.cells[1].textContent)""")
            self.assertEqual(sum(int(samples.replace(",", "")) for samples in places if samples), shown)
            # the function has as many in the other tabs
            name = page.text(".code h2")
            self.assertEqual(page.evaluate(f"""(() => {{
                const {{ model }} = fpless.app, counts = model.functionCounts();
                return counts.self.reduce((sum, self, fn) => sum + (model.name(fn) === {name!r} ? self : 0), 0);
            }})()"""), shown)
            self.assertIn(f"self {shown:,} sample", page.text(".code .heading p"))
        kernel = page.evaluate("document.querySelector('.code .kernel').hidden ? '0 samples' : document.querySelector('.code .kernel').textContent")
        return counts, int(re.search(r"([\d,]+) sample", kernel)[1].replace(",", ""))

    def test_counts_are_those_of_the_samples_that_filters_leave(self):
        with self.open("view=code") as page:
            first_ns, slice_ns, slices = page.evaluate("[fpless.app.model.times.from, fpless.app.model.times.slice, fpless.app.model.times.slices]")
            thread = page.evaluate("fpless.app.model.threads.tid.indexOf(81)")
            self.assertGreaterEqual(thread, 0)

            def in_time(one, first, last):
                return one["time"] is not None and first <= (one["time"] * 1000000 - first_ns) // slice_ns <= last

            cases = [({}, lambda one: True),
                     ({"process": "a"}, lambda one: one["comm"] == "a"),
                     ({"process": "a/8"}, lambda one: one["pid"] == 8),
                     ({"thread": str(thread)}, lambda one: one["tid"] == 81),
                     ({"stop": "no_cfi"}, lambda one: one["stop"] == "no_cfi"),
                     ({"found": "none"}, lambda one: one["vaddr"] is None),
                     ({"time": f"0-{slices // 3}"}, lambda one: in_time(one, 0, slices // 3)),
                     ({"time": f"{slices // 2}-{slices - 1}", "thread": str(thread), "stop": "outermost"},
                      lambda one: in_time(one, slices // 2, slices - 1) and one["tid"] == 81 and one["stop"] == "outermost")]
            for filters, wanted in cases:
                page.evaluate("fpless.app.resetFilters()")
                page.evaluate(f"fpless.app.set({json.dumps(filters)})")
                page.settle()
                left = [one for one in self.samples if wanted(one)]
                self.assertGreater(len(left), 50)
                with self.subTest(filters=filters):
                    self.assertEqual(page.evaluate("fpless.app.model.shown"), len(left))
                    counts, kernel = self.counts(page)
                    expected = collections.Counter(one["vaddr"] for one in left)
                    self.assertEqual(kernel, expected.pop(None, 0))
                    self.assertEqual(counts, dict(expected))
                    self.keep(page, "html-code-" + ("-".join(filters) or "all"))

    def test_the_address_holds_the_filter(self):
        with self.open("view=code&process=a/7") as page:
            counts, _ = self.counts(page)
            self.assertEqual(sum(counts.values()), sum(one["pid"] == 7 and one["vaddr"] is not None for one in self.samples))
            self.assertIn("of what is chosen", page.text(".code .heading p"))


if __name__ == "__main__":
    main()
