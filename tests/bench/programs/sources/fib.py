# SPDX-License-Identifier: Apache-2.0
import sys
import time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


budget = int(sys.argv[1]) / 1000
while time.process_time() < budget:
    fib(22)
