# SPDX-License-Identifier: Apache-2.0
"""What the fixture `waits` says of itself, and what fpless offcpu says of it: judged in ns."""

import collections

PERIOD_NS = 10_000_000  # shorter waits are sampled one for so many ns of them
SLACK_NS = 1_000_000

Own = collections.namedtuple("Own", "nr clock_ns cpu_ns delay_ns")


def own(text):
    """{function: what its thread measured}."""
    return {words[0]: Own(*map(int, words[1:])) for words in map(str.split, text.splitlines())
            if len(words) == 5 and words[0].startswith("wait_")}


def cpu_ns(text):
    """The CPU time of all of its threads, by the kernel's count."""
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("cpu "))


def function(stack):
    """The function that waits: the innermost one of the fixture's; None: another place."""
    return next((frame["symbol"] for frame in stack["user"]
                 if (frame.get("symbol") or "").startswith("wait_")), None)


def sums(stacks, key="weight"):
    found = collections.Counter()
    for stack in stacks:
        found[function(stack)] += stack[key]
    return found


def state(stack):
    """Its state in the books: a throttled or frozen thread is runnable, and is not let."""
    return "runnable" if stack["state"] in ("throttled", "frozen") else stack["state"]


def book_faults(run, of_wakers=False):
    """The ns of the threads close exactly, and the stacks weigh what the kernel side says it sampled. A waker's stack
    has no state: what it weighs is another thread's blocked time."""
    times, faults = run.stats["times"], []
    for kind, prefix, rest in (("blocked", "", ("asleep",)),
                                ("runnable", "runnable_", ("runnable_unended", "runnable_unborn"))):
        left = times[kind] + times[prefix + "first_carry"]
        right = sum(times[prefix + name] for name in ("sampled", "unwanted", "carried")) + sum(times[name] for name in rest)
        if left != right:
            faults.append(f"{kind} + its first carry: {left}, not {right}: {times}")
        weight = sum(stack["weight"] for stack in run.stacks
                     if ("blocked" if of_wakers else state(stack)) == kind)
        if not run.stats["filtered"] and not sum(run.stats["lost"].values()) and weight != times[prefix + "sampled"]:
            faults.append(f"the stacks weigh {weight}, {kind}: {times}")
    if times["threads_without"]:
        faults.append(f"threads without books: {times}")
    return faults


def slack_ns(mine, times):
    """By how much a wait measured by its thread and by the kernel side may differ: 1 % and 1 ms, 2 us a wait for the
    clocks that are read one after the other, and what the kernel did not tell of."""
    return mine.clock_ns // 100 + SLACK_NS + 2000 * mine.nr + times["unseen"]


def weight_faults(name, mine, weight, times, error_ns=0):
    """A thread's clock also counts its time on a CPU and in a run queue: the rest is what it was blocked.

    Since 6.12 a thread that blocks may stay in the run queue for a while, and the kernel counts that as run delay (up to 42
    of 167 ms seen): between the sum without the run delay and the sum with it, both are true. That run delay alone is not
    taken for blocked time is shown by threads that yield.
    @error_ns: of systematic sampling with a random start the error is at most one period a thread."""
    own_ns = mine.clock_ns - mine.cpu_ns
    bound = slack_ns(mine, times) + error_ns
    least, most = own_ns - mine.delay_ns - bound, own_ns + bound
    return [] if least <= weight <= most else \
        [f"{name}: {weight} ns, not from {least} to {most}: bound {bound}: {mine}, {times}"]


def waker_faults(name, mine, weight, times, all_cpu_ns, error_ns=0):
    """What wakers weigh, between two bounds that hold on any machine.

    A wait ends at its waker; the thread's run delay begins where it is put into a queue. What lies between is in neither:
    the walk, and the interrupt by which another CPU is told, long where a hypervisor sends it. So a thread's own sum is
    an upper bound alone, and that without its run delay taken off: on a busy machine up to 42 of 167 ms that the kernel
    (6.18, where a thread that blocks may stay in the queue for a while) counted as delay were blocked time.

    For the lower one all is taken off that the kernel side took for runnable, and what it took for time on a CPU while the
    kernel counted none: a hypervisor's steal, which is in the clock of a thread and in no other count of it. Both are of
    all threads of the run: the bound is tightest for those that wait by turns, taken together."""
    own_ns = mine.clock_ns - mine.cpu_ns
    stolen = max(times["on_cpu"] - all_cpu_ns, 0)
    slack = slack_ns(mine, times) + error_ns
    least, most = own_ns - times["runnable"] - stolen - slack, own_ns + slack
    return [] if least <= weight <= most else \
        [f"{name}: {weight} ns, not from {least} to {most}: stolen {stolen}, slack {slack}: {mine}, {times}"]
