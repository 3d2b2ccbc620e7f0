# SPDX-License-Identifier: Apache-2.0
def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)
budget = ARGV[0].to_f / 1000
fib(22) while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < budget
