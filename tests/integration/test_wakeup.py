#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who ends waits: the thread that does it, for as long as the other one waited; an interrupt, never the thread it interrupted."""

import collections

import waits
from root_case import RootCase, fixture, main

WAITS = fixture("waits")
WAKERS = ("hold", "ping", "pong")  # functions of the fixture that wake its threads up
INTERRUPTS = ("[irq]", "[softirq]")


def waker(stack):
    """The waking function of the fixture's; else the interrupt, or None."""
    names = [frame.get("symbol") for frame in stack["user"]]
    found = [name for name in WAKERS if name in names]
    return found[0] if found else stack["comm"] if stack["comm"] in INTERRUPTS else None


class Wakeup(RootCase):
    def wakeup(self, ms, *names, options=("--exact",)):
        """The run, what its threads measured, and {waker: ns}."""
        run = self.profile("--ring-memory", "256M", *options, "--", WAITS, ms, *names, verb="wakeup")
        self.assertEqual(waits.book_faults(run, of_wakers=True), [], run.command)
        sums = collections.Counter()
        for stack in run.stacks:
            self.assertEqual((run.meta["key"], stack["key"]), ("wakee", "waits"))
            sums[waker(stack)] += stack["weight"]
        return run, waits.own(run.stdout.decode()), sums

    def assert_ended_by(self, wakers, names, own, sums, run, error_ns=0):
        """The waits of @names, which were ended by @wakers alone. @error_ns: of each of them."""
        mine = waits.Own(*map(sum, zip(*(own[name] for name in names))))
        weight = sum(sums[name] for name in wakers)
        cpu_ns = waits.cpu_ns(run.stdout.decode())
        self.assertEqual(waits.waker_faults("+".join(names), mine, weight, run.stats["times"], cpu_ns,
                                            error_ns * len(names)), [])

    def test_timers_are_no_thread_s(self):
        run, own, sums = self.wakeup("1000", "wait_20ms", "wait_1ms", "wait_not", "wait_yield")
        self.assert_ended_by(INTERRUPTS, ("wait_20ms", "wait_1ms"), own, sums, run)
        # these two run beside it all the time, so an interrupt interrupts one of them
        blamed = {name for stack in run.stacks for name in (frame.get("symbol") for frame in stack["user"])}
        self.assertFalse(blamed & {"wait_not", "wait_yield", "wait_20ms", "wait_1ms"}, blamed)
        for stack in run.stacks:
            if stack["comm"] in INTERRUPTS:
                self.assertEqual((stack["user"], stack["kernel"], stack["pid"]), ([], [], 0))

    def test_a_lock_is_handed_over_by_who_held_it(self):
        run, own, sums = self.wakeup("1000", "wait_lock_a", "wait_lock_b")
        self.assert_ended_by(["hold"], ("wait_lock_a", "wait_lock_b"), own, sums, run)

    def test_a_byte_is_sent_by_the_other_end(self):
        run, own, sums = self.wakeup("1000", "wait_ping", "wait_pong")
        self.assert_ended_by(["pong"], ["wait_ping"], own, sums, run)
        self.assert_ended_by(["ping"], ["wait_pong"], own, sums, run)

    def test_sampled_waits_have_the_error_of_a_period_at_most(self):
        run, own, sums = self.wakeup("1000", "wait_ping", "wait_pong", options=())
        self.assert_ended_by(["pong"], ["wait_ping"], own, sums, run, waits.PERIOD_NS)
        self.assert_ended_by(["ping"], ["wait_pong"], own, sums, run, waits.PERIOD_NS)
        # on a busy machine most waits may be long, of which each is sampled: short ones are only where they fill a period
        for stack in run.stacks:
            self.assertGreaterEqual(stack["weight"], stack["count"] * waits.PERIOD_NS, stack)

    def test_waits_of_other_lengths_are_unwanted(self):
        run, own, sums = self.wakeup("600", "wait_20ms", "wait_50us", options=("--exact", "-m", "10000"))
        # a wait of the other one may grow as long on a busy machine, but not all of them
        self.assertGreater(sum(stack["count"] for stack in run.stacks if waker(stack) in INTERRUPTS), 0)
        self.assertGreaterEqual(min(stack["weight"] / stack["count"] for stack in run.stacks), 10_000_000)
        self.assertGreaterEqual(run.stats["times"]["unwanted"], 50_000)


if __name__ == "__main__":
    main()
