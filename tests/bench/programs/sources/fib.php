<?php // SPDX-License-Identifier: Apache-2.0
function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }
$budget = $argv[1] / 1000;
do { fib(24); $usage = getrusage(); } while ($usage["ru_utime.tv_sec"] + $usage["ru_utime.tv_usec"] / 1e6 < $budget);
