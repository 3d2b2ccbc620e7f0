# SPDX-License-Identifier: Apache-2.0
"""make -j2 of a C++ project: what the run costs, and what of it is seen."""

import os
import random
import subprocess

from measure import Run, Timed, interval, pooled

# One unit: containers, strings, regular expressions and algorithms of the standard library.
UNIT = """
#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>
{extra}
namespace unit{n} {{
struct node {{ std::string name; std::vector<std::shared_ptr<node>> kids; int value; }};
template <int N> struct fold {{ static int of(const node &n) {{ return n.value * N + fold<N - 1>::of(n); }} }};
template <> struct fold<0> {{ static int of(const node &n) {{ return n.value; }} }};
std::shared_ptr<node> grow(int depth) {{
	auto n = std::make_shared<node>();
	n->value = depth * {n};
	n->name = "node" + std::to_string(depth);
	for (int i = 0; depth && i < 3; i++) n->kids.push_back(grow(depth - 1));
	return n;
}}
{functions}
}}
int unit{n}_run() {{ return {calls} + unit{n}::fold<{fold}>::of(*unit{n}::grow(3)); }}
"""
FUNCTION = """
int step{i}(const std::vector<std::string> &words) {{
	std::map<std::string, std::vector<int>> index;
	for (size_t k = 0; k < words.size(); k++) index[words[k]].push_back(int(k) ^ {i});
	std::ostringstream out;
	for (auto &entry : index) {{
		std::sort(entry.second.begin(), entry.second.end(), [](int a, int b) {{ return (a ^ {i}) > b; }});
		out << entry.first << ':' << entry.second.front() << ';';
	}}
	return int(out.str().size());
}}
"""
EXTRA = ["#include <regex>", "#include <unordered_map>", "#include <functional>", "#include <iostream>", "#include <deque>\n#include <set>"]

def generate(folder, units, functions):
    rng = random.Random(1)
    for n in range(units):
        with open(os.path.join(folder, "unit%d.cc" % n), "w") as file:
            file.write(UNIT.format(n=n, extra=rng.choice(EXTRA), fold=20 + n, functions="".join(
                FUNCTION.format(i=i) for i in range(functions)), calls=" + ".join(
                "unit%d::step%d({\"a\", \"b\"})" % (n, i) for i in range(functions))))
    with open(os.path.join(folder, "main.cc"), "w") as file:
        file.write("".join("int unit%d_run();\n" % n for n in range(units)))
        file.write("int main() { return (%s) == 0; }\n" % " + ".join("unit%d_run()" % n for n in range(units)))
    with open(os.path.join(folder, "Makefile"), "w") as file:
        file.write("objects := main.o %s\nprogram: $(objects)\n\tg++ -o $@ $^\n%%.o: %%.cc\n\tg++ -O1 -c -o $@ $<\n" %
                   " ".join("unit%d.o" % n for n in range(units)))


def clean(folder):
    for name in os.listdir(folder):
        if name.endswith(".o") or name == "program":
            os.unlink(os.path.join(folder, name))


def bench(fpless, folder, figures, options):
    timed = Timed(folder)
    project = os.path.join(folder, "project")
    os.mkdir(project)
    generate(project, options.units, options.functions)
    command = [*timed.words, "make", "-s", "-j2", "-C", project]
    subprocess.run(command, check=True)  # files in the page cache
    for hz, bound in ((99, 0.5), (999, 3.0)):
        name = "make %d Hz" % hz
        runs, costs, ratios = [], [], []
        for i in range(options.rounds):
            walls = {}
            for with_it in ((True, False) if i % 2 else (False, True)):
                clean(project)
                if with_it:
                    run = Run(fpless, "-F", str(hz), "--", *command)
                    cpu, around, walls[True] = timed.times()
                    runs.append(run)
                    fpless_s = run.cpu_s - cpu - around
                    costs.append((run.stats["bpf_ns"] * 1e-9, fpless_s, cpu))
                else:
                    subprocess.run(command, check=True)
                    walls[False] = timed.times()[2]
            ratios.append(100 * (walls[True] / walls[False] - 1))
        figures.common(name, runs)
        bpf, own, cpu = (sum(cost[i] for cost in costs) for i in range(3))
        figures.say(name, "CPU s of a build", cpu / len(costs))
        figures.say(name, "BPF, % of it", 100 * bpf / cpu)
        figures.say(name, "fpless, % of it", 100 * own / cpu)
        figures.say(name, "both, % of it", 100 * (bpf + own) / cpu, most=bound)
        mean, half = interval(ratios)
        figures.say(name, "wall time with / without - 1, %%: mean and 95 %% of %d pairs" % len(ratios),
                    "%.2f +- %.2f" % (mean, half))
        figures.say(name, "rows read", pooled(runs, "tables", "rows") // len(runs))
