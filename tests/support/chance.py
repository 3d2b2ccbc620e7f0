# SPDX-License-Identifier: Apache-2.0
"""Bounds on counts of samples: a test fails by chance less often than once in a million times.

A share is judged by the tail of the binomial distribution. Samples of a clock fall more evenly than independent ones, so
that the true probability is lower still. That holds where what is counted changes many times during a run.
"""

import math

CHANCE = 1e-6


def probability(count, nr, share):
    """That exactly @count of @nr independent samples are of a kind that has this share of all, 0 to 1."""
    if share in (0, 1):
        return float(count == nr * share)
    ways = math.lgamma(nr + 1) - math.lgamma(count + 1) - math.lgamma(nr - count + 1)
    return math.exp(ways + count * math.log(share) + (nr - count) * math.log1p(-share))


def at_most(count, nr, share):
    """The probability of @count or fewer."""
    if share < 1 and count > nr * share:  # the shorter sum, whose terms fall
        return 1 - math.fsum(probability(i, nr, share) for i in range(count + 1, nr + 1))
    return math.fsum(probability(i, nr, share) for i in range(count + 1))


def is_too_few(count, nr, share):
    """Do @count of @nr samples refute that at least this share of all is of their kind?"""
    return at_most(count, nr, share) <= CHANCE


def is_too_many(count, nr, share):
    """Do @count of @nr samples refute that at most this share of all is of their kind?"""
    return is_too_few(nr - count, nr, 1 - share)


def samples_needed(share):
    """How many samples it takes before not one of a kind refutes that it has this share of all."""
    return math.ceil(math.log(CHANCE) / math.log1p(-share)) if share < 1 else 1


def share_fault(count, nr, share):
    """What is wrong with @count of @nr samples where at least @share of all are expected; None if nothing. Too few
    samples to refute anything are a fault, too."""
    if nr < samples_needed(share):
        return f"{nr} samples cannot refute a share of {share:g}: {samples_needed(share)} can"
    if is_too_few(count, nr, share):
        return (f"{count} of {nr} samples are {count / nr:.4f}: at least {share:g} expected, "
                f"probability {at_most(count, nr, share):.1e}")
    return None
