#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What diff says of random recordings, computed a second time from the definitions alone.

usage: diff_reference.py FPLESS [ROUNDS]

Folded stacks with two counts are computed as inferno's diff-folded documents them. Verdicts and intervals
follow docs/decisions/0015-diff-noise.md and 0026-diff-power.md, with sums in place of series, and integrals in place of continued
fractions. Whole recordings are drawn anew from a seed that is printed where something differs.
"""

import collections
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

LEVEL, SAMPLES_MIN, ASSUMED = 0.05, 12, 0.05
SELF, OTHER = 0, 1  # functions by themselves; with what they call
PRIOR_DFS, DISPERSION_FLOORS = (5.0, 4.0), (0.5, 1.0)
WANTED, EQUALLY, STEPS = 0.2, 0.1, 8
SIDES = ("before", "after")


def draw(rng):
    """Runs of two sides: lists of {stack: count}."""
    names = ["f%d" % i for i in range(12)] + ["[a.so+0x%x]" % rng.randrange(4096) for _ in range(4)]
    names += ["a\\x3bb", "operator new(unsigned long)", "<b>&\"'", "0x", "x0x12zz", "\u00e9t\u00e9"]
    stacks = []
    for _ in range(rng.choice([1, 5, 60])):
        depth = rng.choice([1, 2, 3, 8])
        stacks.append(";".join(["t%d" % rng.randrange(2)] + [rng.choice(names) for _ in range(depth)]))
    size = rng.choice([1, 30, 1000, 10 ** 12])
    rates = {stack: rng.random() * size for stack in stacks}
    sides = []
    for _ in SIDES:
        runs = []
        for _ in range(rng.choice([1, 2, 3, 5])):
            run = {stack: int(rate * rng.uniform(0.9, 1.1)) for stack, rate in rates.items()}
            runs.append({stack: count for stack, count in run.items() if count and rng.random() < 0.97})
        sides.append(runs)
        for stack in stacks:  # the other side is another one
            rates[stack] *= rng.choice([1, 1, 1, 0, 1.02, 1.5])
    return sides


def folded(sides, normalize, strip):
    counts = collections.defaultdict(lambda: [0, 0])
    for side, runs in enumerate(sides):
        for run in runs:
            for stack, count in run.items():
                if strip:
                    stack = re.sub("0x[0-9a-fA-F]+", "0x...", stack)
                counts[stack][side] += count
    totals = [sum(pair[side] for pair in counts.values()) for side in range(2)]
    if normalize and totals[0] != totals[1]:
        for pair in counts.values():
            pair[0] = int(float(pair[0]) * float(totals[1]) / float(totals[0])) if totals[0] else 0
    return {"%s %d %d" % (stack, *pair) for stack, pair in counts.items()}


def polygamma(order, x):
    """Digamma (0) and trigamma (1), by Euler and Maclaurin behind the first 200 terms."""
    terms = 200
    y = x + terms
    if order:
        return math.fsum((x + k) ** -2 for k in range(terms)) + 1 / y + 1 / (2 * y ** 2) + 1 / (6 * y ** 3)
    return math.log(y) - 1 / (2 * y) - 1 / (12 * y ** 2) - math.fsum(1 / (x + k) for k in range(terms))


def bisect(function, low, high, rounds=200):
    """Where @function, which falls, becomes 0."""
    for _ in range(rounds):
        middle = (low + high) / 2
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def above(t, df):
    """The tail of Student's t: an integral of a power of the cosine, by the tanh-sinh rule."""
    if math.isinf(df):
        return math.erfc(t / math.sqrt(2)) / 2
    width = math.pi / 2 - math.atan(t / math.sqrt(df))
    total, step = 0.0, 1 / 32
    for i in range(-128, 129):
        u = math.pi / 2 * math.sinh(i * step)
        if abs(u) > 350:
            continue
        place = width / (1 + math.exp(2 * u))  # from the far end: cos is sin of it there
        weight = math.pi / 2 * math.cosh(i * step) / math.cosh(u) ** 2 / 2
        total += math.sin(place) ** (df - 1) * weight * width if place > 0 else 0
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(math.pi)
    return total * step * scale


class Judge:
    """Of recordings without weights."""

    def __init__(self, sides, shares):
        self.sides, self.shares = sides, shares
        self.totals = [[sum(run.values()) for run in runs] for runs in sides]
        if shares:
            self.totals = [[total for total in totals if total] for totals in self.totals]
        self.runs = [len(totals) for totals in self.totals]
        self.df = sum(max(nr - 1, 0) for nr in self.runs)
        self.extra = [math.fsum(1 / total ** 2 if shares else 1 for total in totals if total)
                      for totals in self.totals]
        if not shares:
            self.extra = [mine or other for mine, other in zip(self.extra, reversed(self.extra))]

    def samples(self, counts):
        """For each side: mean, rest, noise and scale of [count of each run]."""
        out = []
        for counted, totals, extra in zip(counts, self.totals, self.extra):
            nr = len(totals)
            values = [float(c) for c in counted]
            noise = values
            if self.shares:
                values = [c / n for c, n in zip(counted, totals)]
                noise = [p * (1 - p) / n for p, n in zip(values, totals)]
            mean = math.fsum(values) / nr if nr else 0
            rest = math.fsum((value - mean) ** 2 for value in values)
            scale = mean * (1 - mean) if self.shares else mean
            out.append((mean, rest, (math.fsum(noise) + extra / nr) / nr if nr else math.inf, scale))
        return out

    def dispersion(self, counts, variation):
        total = 0
        for (_, rest, noise, scale), nr in zip(self.samples(counts), self.runs):
            if nr > 1:
                total += rest / (noise + variation ** 2 * scale ** 2)
        return total / self.df

    def fit(self, kinds):
        """@kinds: lists of counts of SELF and of OTHER. Only those by themselves share what decides."""
        kinds = [[counts for counts in kind if sum(map(sum, counts)) >= SAMPLES_MIN] for kind in kinds]
        self.prior, self.prior_df, self.variation = [1, 1], [0, 0], ASSUMED
        self.effects = lambda: sorted(self.effect(c) for c in kinds[SELF]) + [0] * len(kinds[OTHER])
        if not self.df:
            return
        usual = (1 - 2 / (9 * self.df)) ** 3
        excess = lambda v: statistics.median(self.dispersion(c, v) for c in kinds[SELF]) - usual if kinds[SELF] else 0
        self.variation = bisect(excess, 0, 10, 60) if excess(0) > 0 else 0
        half = self.df / 2
        for number, (kind, df) in enumerate(zip(kinds, PRIOR_DFS)):
            if len(kind) < 3:
                continue
            logs = [math.log(max(self.dispersion(c, self.variation), 1e-4)) - polygamma(0, half) + math.log(half)
                    for c in kind]
            self.prior[number] = math.exp(math.fsum(logs) / len(logs) + polygamma(0, df / 2) - math.log(df / 2))
            self.prior_df[number] = min(df, (len(kind) - 1) * self.df)

    def effect(self, counts):
        """A change by a fifth in standard errors."""
        if not all(self.runs) or sum(map(sum, counts)) < SAMPLES_MIN:
            return 0
        samples, nr = self.samples(counts), sum(self.runs)
        mean = math.fsum(s[0] * n for s, n in zip(samples, self.runs)) / nr
        noise = math.fsum(s[2] * n for s, n in zip(samples, self.runs)) / nr
        scale = self.variation * (mean * (1 - mean) if self.shares else mean)
        variance = (noise + scale ** 2) * math.fsum(1 / n for n in self.runs)
        return WANTED * mean / math.sqrt(variance) if variance > 0 else 0

    def share(self):
        """Share the error rate among all that are tested."""
        effects = self.effects()
        self.equal = EQUALLY * LEVEL / 2 / max(len(effects), 1)
        self.cut = bisect(lambda cut: math.fsum(self.decisive(e, cut) for e in effects) - (1 - EQUALLY) * LEVEL / 2,
                          -1e12, 1e12, 100)
        self.quantiles = {}

    def decisive(self, effect, cut):
        return math.erfc((effect / 2 + cut / effect) / math.sqrt(2)) / 2 if effect else 0

    def quantile(self, counts, kind):
        effect = self.effect(counts) if kind == SELF else 0
        chance = min(self.equal + self.decisive(effect, self.cut), LEVEL / 2)
        step = math.ceil(-STEPS * (math.log2(chance) + 1))
        if (step, kind) not in self.quantiles:
            df = self.df + self.prior_df[kind] if self.df else math.inf
            chance = 2 ** (-1 - step / STEPS)
            self.quantiles[step, kind] = math.exp(bisect(lambda x: above(math.exp(x), df) - chance, -5, 30, 80))
        return self.quantiles[step, kind]

    def judge(self, counts, kind):
        quantile = self.quantile(counts, kind)
        samples = self.samples(counts)
        before, after = samples[0][0], samples[1][0]
        variance = sum((noise + self.variation ** 2 * scale ** 2) / nr if nr else math.inf
                       for (_, _, noise, scale), nr in zip(samples, self.runs))
        dispersion = 1
        if self.df:
            own = self.dispersion(counts, self.variation)
            prior, df = self.prior[kind], self.prior_df[kind]
            dispersion = max(DISPERSION_FLOORS[kind], (df * prior + self.df * own) / (df + self.df))
        interval = quantile * math.sqrt(variance * dispersion)
        sums = [sum(c) for c in counts]
        verdict = "noise"
        if sum(sums) >= SAMPLES_MIN and abs(after - before) > interval:
            verdict = "new" if not sums[0] else "gone" if not sums[1] else "real"
        return before, after, after - before, interval, verdict


def count(sides, judge, of):
    """{thing: [counts of each run of each side]}; @of: the things of a stack."""
    out = {}
    for side, runs in enumerate(sides):
        valued = [run for run in runs if run or not judge.shares]
        for number, run in enumerate(valued):
            for stack, samples in run.items():
                for thing in of(stack):
                    rows = out.setdefault(thing, [[0] * nr for nr in judge.runs])
                    rows[side][number] += samples
    return out


def equal(a, b):
    return a == b if a is None or b is None else math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-9)


def check_json(told, sides, shares):
    """Lines of what differs."""
    judge = Judge(sides, shares)
    names = lambda stack: stack.split(";")[1:]
    selves = count(sides, judge, lambda stack: names(stack)[-1:])
    totals = count(sides, judge, lambda stack: set(names(stack)))
    empty = [[0] * nr for nr in judge.runs]
    leaves = {name for name, counts in totals.items() if list(map(sum, counts)) == list(map(sum, selves.get(name, empty)))}
    kinds = [list(selves.values()), [counts for name, counts in totals.items() if name not in leaves]]
    tests = sum(sum(map(sum, counts)) >= SAMPLES_MIN for kind in kinds for counts in kind)
    judge.fit(kinds)
    judge.share()
    whole = [math.fsum(t) / len(t) if t else 0 for t in judge.totals]
    unit = 100 if shares else 100 / (whole[0] or whole[1])
    bad = []
    if told["noise"]["function_tests"] != tests:
        bad.append("tests: %d, not %d" % (told["noise"]["function_tests"], tests))
    if not equal(told["noise"]["run_variation"], 100 * judge.variation):
        bad.append("variation: %r, not %r" % (told["noise"]["run_variation"], 100 * judge.variation))
    if {f["function"] for f in told["functions"]} != set(totals):
        bad.append("functions: %r" % ({f["function"] for f in told["functions"]} ^ set(totals)))
        return bad
    for function in told["functions"]:
        for key, kind in (("self", selves), ("total", totals)):
            counts = kind.get(function["function"], empty)
            want = judge.judge(counts, SELF if key == "self" or function["function"] in leaves else OTHER)
            have = function[key]
            numbers = [have[name] for name in ("before", "after", "change", "interval")]
            wanted = [None if math.isinf(x) else unit * x for x in want[:4]]
            close = want[3] and abs(abs(want[2]) / want[3] - 1) < 1e-5
            if not all(map(equal, numbers, wanted)) or (have["verdict"] != want[4] and not close):
                bad.append("%s %s: %r %s, not %r %s" % (function["function"], key, numbers, have["verdict"],
                                                        wanted, want[4]))
    return bad


class Round:
    def __init__(self, fpless, seed, folder):
        self.fpless, self.seed = fpless, seed
        self.sides = draw(random.Random(seed))
        self.files = []
        for side, runs in zip(SIDES, self.sides):
            if self.files:
                self.files.append("--")
            for number, run in enumerate(runs):
                self.files.append(os.path.join(folder, "%s%d.folded" % (side, number)))
                with open(self.files[-1], "w", encoding="utf-8") as out:
                    out.writelines("%s %d\n" % pair for pair in run.items())

    def run(self, *options):
        done = subprocess.run([self.fpless, "diff", "-q", *options, *self.files], capture_output=True,
                              stdin=subprocess.DEVNULL, check=False)
        if done.returncode not in (0, 3):
            raise AssertionError(done.stderr.decode())
        return done.stdout.decode()

    def check(self):
        bad = []
        for normalize in (False, True):
            flags = ["-n"] * normalize
            for strip in (False, True):
                want = folded(self.sides, normalize, strip)
                have = self.run("-f", *flags, *["-s"] * strip).splitlines()
                if set(have) != want or len(have) != len(want):
                    bad.append("-f, -n %r, -s %r: %r" % (normalize, strip, sorted(set(have) ^ want)[:4]))
            told = json.loads(self.run("--json", *flags))
            if told["functions"]:
                bad += check_json(told, self.sides, normalize)
        return ["seed %d: %s" % (self.seed, line) for line in bad]


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 25
    bad = []
    for seed in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            bad += Round(sys.argv[1], seed, folder).check()
    for line in bad[:20]:
        print(line)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
