/* SPDX-License-Identifier: Apache-2.0 */
/* Works in a function below one that another tool probes at its return. */
#include <stdint.h>

static volatile uint64_t sink;

__attribute__((noinline)) static uint64_t work(uint64_t n)
{
	for (uint64_t i = 0; i < 2000000; i++)
		sink += i * n;
	return sink;
}

__attribute__((noinline)) uint64_t probed(uint64_t n)
{
	return work(n) + 1;
}

__attribute__((noinline)) static uint64_t outer(uint64_t n)
{
	return probed(n) + 2;
}

int main(void)
{
	for (uint64_t n = 0;; n++)
		outer(n);
}
