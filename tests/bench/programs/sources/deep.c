/* SPDX-License-Identifier: Apache-2.0 */
/* usage: deep FRAMES: works below so many frames of one function. */
#include <stdint.h>
#include <stdlib.h>

static volatile uint64_t sink;

__attribute__((noinline)) static uint64_t descend(uint64_t depth)
{
	if (depth)
		return descend(depth - 1) + sink;
	for (uint64_t i = 0; i < 200000000; i++)
		sink += i;
	return sink;
}

int main(int argc, char **argv)
{
	for (;;)
		descend(argc > 1 ? strtoul(argv[1], NULL, 10) : 5000);
}
