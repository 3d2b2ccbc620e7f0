/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <signal.h>

int thread_begin(pthread_t *thread, void *(*main)(void *), void *ctx)
{
	sigset_t all, before;
	pthread_t begun;

	/* a thread inherits the mask: between its beginning and its first instruction none comes */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);

	int code = pthread_create(&begun, NULL, main, ctx);

	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (code == 0)
		*thread = begun;
	return -code;
}
