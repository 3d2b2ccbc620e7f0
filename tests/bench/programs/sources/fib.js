// SPDX-License-Identifier: Apache-2.0
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
const budget = Number(process.argv[2]);
while (process.cpuUsage().user / 1000 < budget) fib(27);
