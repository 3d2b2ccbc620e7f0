/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/settler.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/thread.h"
#include "profile/turns.h"

struct job {
	struct turn turn; /* of the owner of the file; first */
	uint32_t id;
	struct name_question question;
	struct name_answer answer;
};

struct settler {
	struct asker asker; /* of the thread */
	pthread_t thread;
	bool has_thread;
	size_t nr_open; /* of the asking thread alone */

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake;
	struct turn_queue todo, done; /* owned */
	struct turns turns;
	bool stop;
};

/* Returns NULL for NULL. */
static struct job *job_of(struct turn *turn)
{
	return (struct job *)turn;
}

static void *settler_main(void *ctx)
{
	struct settler *settler = ctx;

	/* no sample waits for a name: not with the priority of the loop */
	(void)!setpriority(PRIO_PROCESS, 0, 0);
	pthread_mutex_lock(&settler->lock);
	while (!settler->stop) {
		uint64_t began_ns = clock_monotonic_ns(), now_ns;
		struct job *job = job_of(turns_begin(&settler->turns, &settler->todo, began_ns));

		if (!job) {
			pthread_cond_wait(&settler->wake, &settler->lock);
			continue;
		}
		pthread_mutex_unlock(&settler->lock);
		asker_ask(&settler->asker, &job->question, &job->answer);
		now_ns = clock_monotonic_ns();
		pthread_mutex_lock(&settler->lock);
		turns_end(&settler->turns, job->turn.owner, now_ns - began_ns, now_ns);
		turn_queue_push(&settler->done, &job->turn);
	}
	pthread_mutex_unlock(&settler->lock);
	return NULL;
}

int settler_create(const struct asker_options *options, struct settler **ret)
{
	struct settler *settler = calloc(1, sizeof(*settler));
	struct asker_options own = *options;
	int code;

	if (!settler)
		return -ENOMEM;
	own.cache = NULL;
	own.is_live = false;
	turn_queue_init(&settler->todo);
	turn_queue_init(&settler->done);
	pthread_mutex_init(&settler->lock, NULL);
	pthread_cond_init(&settler->wake, NULL);
	code = asker_init(&settler->asker, &own, NULL);
	if (!code) {
		code = thread_begin(&settler->thread, settler_main, settler);
		settler->has_thread = !code;
	}
	if (code)
		settler_destroy(settler);
	else
		*ret = settler;
	return code;
}

void settler_stop(struct settler *settler)
{
	struct turn *turn;

	pthread_mutex_lock(&settler->lock);
	settler->stop = true;
	pthread_cond_signal(&settler->wake);
	pthread_mutex_unlock(&settler->lock);
	if (settler->has_thread)
		pthread_join(settler->thread, NULL);
	settler->has_thread = false;
	while ((turn = turn_queue_pop(&settler->todo))) {
		job_of(turn)->answer.code = -ECANCELED;
		turn_queue_push(&settler->done, turn);
	}
}

void settler_destroy(struct settler *settler)
{
	struct job *job;

	if (!settler)
		return;
	settler_stop(settler);
	asker_fini(&settler->asker);
	while ((job = job_of(turn_queue_pop(&settler->done)))) {
		name_question_fini(&job->question);
		symbol_places_fini(&job->answer.places);
		free(job);
	}
	pthread_cond_destroy(&settler->wake);
	pthread_mutex_destroy(&settler->lock);
	free(settler);
}

bool settler_has_room(const struct settler *settler)
{
	return settler->nr_open < SETTLER_MAX;
}

int settler_ask(struct settler *settler, uint32_t id, struct name_question *question)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job) {
		name_question_fini(question);
		return -ENOMEM;
	}
	job->id = id;
	job->turn.owner = question->file.trust.uid;
	job->question = *question;
	settler->nr_open++;
	pthread_mutex_lock(&settler->lock);
	turn_queue_push(&settler->todo, &job->turn);
	pthread_mutex_unlock(&settler->lock);
	pthread_cond_signal(&settler->wake);
	return 0;
}

bool settler_take(struct settler *settler, uint32_t *ret_id, struct name_question *ret_question,
		  struct name_answer *ret)
{
	struct job *job;

	if (!settler->nr_open)
		return false;
	pthread_mutex_lock(&settler->lock);
	job = job_of(turn_queue_pop(&settler->done));
	pthread_mutex_unlock(&settler->lock);
	if (!job)
		return false;
	settler->nr_open--;
	*ret_id = job->id;
	*ret_question = job->question;
	*ret = job->answer;
	free(job);
	return true;
}
