/* SPDX-License-Identifier: Apache-2.0 */
/* Works in a handler of a signal that interrupts work. */
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>

static volatile uint64_t sink;

__attribute__((noinline)) static void work(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		sink += i;
}

static void handle(int signal_nr)
{
	(void)signal_nr;
	work(1000000);
}

int main(void)
{
	struct sigaction action = { .sa_handler = handle };
	struct itimerval every = { { 0, 8000 }, { 0, 8000 } };

	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &every, NULL);
	for (;;)
		work(10000);
}
