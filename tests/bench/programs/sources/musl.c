// SPDX-License-Identifier: Apache-2.0
// What musl, which has no CFI, is walked through for: sorting with a callback, threads, signals,
// its formatting, its memory.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define NOINLINE __attribute__((noinline))

static volatile unsigned long sink;

static NOINLINE int compare(const void *a, const void *b)
{
	int left = *(const int *)a, right = *(const int *)b;

	return left < right ? -1 : left > right;
}

static NOINLINE unsigned long fib(unsigned long n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static NOINLINE void spin(void)
{
	for (int i = 0; i < 200000; i++)
		__asm__ volatile("" ::: "memory");
}

static NOINLINE void handler(int number)
{
	spin();
	sink += (unsigned long)number;
}

static void *work(void *arg)
{
	char text[4096];

	for (int i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "%d %s %.17g", i, "abc", i / 3.0);
		sink += strlen(text);
		memset(text, i, sizeof(text));
	}
	sink += fib(20);
	return arg;
}

int main(void)
{
	static int numbers[50000];
	unsigned seed = 1;
	struct sigaction action = { .sa_handler = handler };
	struct itimerval every = { { 0, 5000 }, { 0, 5000 } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (;;) {
		pthread_t thread;

		for (int i = 0; i < 50000; i++)
			numbers[i] = (int)(seed = seed * 1103515245 + 12345);
		qsort(numbers, 50000, sizeof(*numbers), compare);
		sink += fib(25);
		if (pthread_create(&thread, NULL, work, NULL) == 0)
			pthread_join(thread, NULL);
		for (size_t i = 1; i < 1000; i++) {
			char *memory = malloc(i * 100);

			if (memory)
				memset(memory, 1, i * 100);
			free(memory);
		}
	}
}
