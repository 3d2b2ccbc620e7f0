#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long does a big profile take in a browser?

usage: run.py FPLESS [--stacks N] [--runs N] [--keep FILE.html]

A recording of N distinct stacks (200000), as folded text, goes through `fpless report -o x.html`; what it wrote is opened
in a Chromium without a screen, searched and zoomed. One line of TSV per figure, the median of the runs and the worst:
time to write, size, time from navigation to the first frame drawn, CPU time of the page's thread until then, heap of JavaScript after a garbage collection, time of a
search over all names, time of a zoom, and of callers and callees of a function that is everywhere. Fails where the page takes
more than half a second of CPU time to open: what a quiet machine takes, whatever else runs on this one.
"""

import argparse
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "browser"))
from browser import Browser, Page, need_chromium  # noqa: E402

OPEN_CPU_MS_MAX = 500
OPEN = """(() => {
    const [navigation] = performance.getEntriesByType("navigation");
    return fpless.drawn - navigation.startTime;
})()"""
SEARCH = """(() => {
    const began = performance.now();
    fpless.app.set({ q: %s }, false);
    document.body.offsetHeight;
    return performance.now() - began;
})()"""
ZOOM = """(() => {
    const tree = fpless.app.model.tree, began = performance.now();
    let node = 1;
    while (tree.depth[node] < 6) node++;
    fpless.app.zoom(node);
    document.body.offsetHeight;
    const taken = performance.now() - began;
    fpless.app.zoom(0);
    return taken;
})()"""
SANDWICH = """(() => {
    const { app } = fpless, counts = app.model.functionCounts().total;
    let best = 0;
    for (let fn = 0; fn < counts.length; fn++)
        if (counts[fn] > counts[best] && app.model.kindOf[fn] === 1) best = fn;
    const began = performance.now();
    app.openSandwich(best);
    document.body.offsetHeight;
    const taken = performance.now() - began;
    app.set({ view: "flame" });
    return taken;
})()"""


def write_folded(path, nr_stacks):
    """Stacks like those of a large program: hot functions near the root, thousands of others below, 5 to 45 deep."""
    pick = random.Random(7)
    names = [f"module_{n % 97}::Type{n % 1009}<int>::method_{n}(std::vector<int> const&)" for n in range(20000)]
    with open(path, "w", encoding="ascii") as file:
        seen = 0
        made = set()
        while seen < nr_stacks:
            depth = 5 + int(40 * pick.random() ** 1.5)
            width = 3
            stack, at = [f"worker{pick.randrange(8)}", "main"], 0
            for level in range(depth):
                at = (at * 31 + int(width * pick.random() ** 3) + level) % len(names)
                stack.append(names[at])
                width = min(width + 1, 12)
            line = ";".join(stack)
            if line not in made:
                made.add(line)
                file.write(f"{line} {1 + int(20 * pick.random() ** 6)}\n")
                seen += 1


def cpu_ms(page):
    """CPU time of the tasks of the page's thread."""
    metrics = page.call("Performance.getMetrics")["metrics"]
    return 1000 * next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


def measure(browser, page_path):
    with Page(browser, pathlib.Path(page_path).resolve().as_uri()) as page:
        page.resize(1280, 800)
        page.call("Performance.enable", {"timeDomain": "threadTicks"})
        before = cpu_ms(page)
        page.navigate()
        page.wait("window.fpless && fpless.drawn", "the page to be drawn", 120)
        figures = {"open_ms": page.evaluate(OPEN), "open_cpu_ms": cpu_ms(page) - before, "heap_mb": page.heap_bytes() / 1e6}
        figures["search_ms"] = max(page.evaluate(SEARCH % text) for text in ('"method_1"', '"Type10.*method_.*7"', '"nowhere"'))
        page.evaluate(SEARCH % '""')
        figures["zoom_ms"] = page.evaluate(ZOOM)
        figures["callers_ms"] = page.evaluate(SANDWICH)
    return figures


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("fpless")
    parser.add_argument("--stacks", type=int, default=200000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--keep")
    args = parser.parse_args()
    need_chromium()
    with tempfile.TemporaryDirectory(prefix="fpless-bench-") as folder:
        folded, page = os.path.join(folder, "x.folded"), args.keep or os.path.join(folder, "x.html")
        write_folded(folded, args.stacks)
        began = time.monotonic()
        subprocess.run([args.fpless, "report", folded, "-q", "-o", page], check=True)
        print(f"write_ms\t{1000 * (time.monotonic() - began):.0f}", flush=True)
        print(f"size_mb\t{os.path.getsize(page) / 1e6:.1f}", flush=True)
        with Browser() as browser:
            runs = [measure(browser, page) for _ in range(args.runs)]
        for name in runs[0]:
            values = [run[name] for run in runs]
            print(f"{name}\t{statistics.median(values):.1f}\t{max(values):.1f}")
    if statistics.median(run["open_cpu_ms"] for run in runs) > OPEN_CPU_MS_MAX:
        sys.exit(f"the page takes more than {OPEN_CPU_MS_MAX} ms of CPU time to open")


if __name__ == "__main__":
    main()
