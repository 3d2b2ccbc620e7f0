// SPDX-License-Identifier: Apache-2.0
// CPU-bound with some call depth: fib(27) by recursion, until the CPU time (argument, ms) is used.
package main

import (
	"os"
	"strconv"
	"syscall"
)

func usedMs() int {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return int(usage.Utime.Sec*1000 + usage.Utime.Usec/1000)
}

//go:noinline
func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func main() {
	budget, _ := strconv.Atoi(os.Args[1])
	for usedMs() < budget {
		fib(27)
	}
}
