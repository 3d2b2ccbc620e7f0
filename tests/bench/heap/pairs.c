/* SPDX-License-Identifier: Apache-2.0 */
/* pairs N: the CPU time of a malloc of 40 bytes and its free, in ns, the least of ten times N. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned long nr = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	double least = 0;

	for (int round = 0; round < 10; round++) {
		double start = now_ns(), ns;

		for (unsigned long i = 0; i < nr; i++) {
			void *p = malloc(40);

			__asm__ volatile("" : "+r"(p) : : "memory");
			free(p);
		}
		ns = (now_ns() - start) / (double)nr;
		least = !round || ns < least ? ns : least;
	}
	printf("%.2f\n", least);
	return 0;
}
