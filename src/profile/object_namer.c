/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/object_namer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/thread.h"
#include "parse/symbols.h"
#include "profile/turns.h"

struct job {
	struct turn turn; /* of the owner of the file; first */
	uint32_t id;
	struct symbol_question question;
	struct symbol_answer answer;
};

struct object_namer {
	struct parser *parser;	/* borrowed */
	struct symbols symbols; /* of the thread, once there is one */
	pthread_t thread;
	bool has_thread;
	size_t nr_open; /* of the asking thread alone */

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake;
	struct turn_queue todo, done; /* owned */
	struct turns turns;
	bool stop;
};

int object_namer_create(struct parser *parser, struct object_namer **ret)
{
	struct object_namer *namer = calloc(1, sizeof(*namer));

	if (!namer)
		return -ENOMEM;
	namer->parser = parser;
	turn_queue_init(&namer->todo);
	turn_queue_init(&namer->done);
	pthread_mutex_init(&namer->lock, NULL);
	pthread_cond_init(&namer->wake, NULL);
	*ret = namer;
	return 0;
}

/* NULL where there is none. */
static struct job *job_of(struct turn *turn)
{
	return (struct job *)turn;
}

static void drop_jobs(struct turn_queue *queue)
{
	struct job *job;

	while ((job = job_of(turn_queue_pop(queue)))) {
		symbol_question_fini(&job->question);
		symbol_places_fini(&job->answer.places);
		free(job);
	}
}

void object_namer_destroy(struct object_namer *namer)
{
	if (!namer)
		return;
	pthread_mutex_lock(&namer->lock);
	namer->stop = true;
	pthread_cond_signal(&namer->wake);
	pthread_mutex_unlock(&namer->lock);
	if (namer->has_thread) {
		pthread_join(namer->thread, NULL);
		symbols_fini(&namer->symbols);
	}
	drop_jobs(&namer->todo);
	drop_jobs(&namer->done);
	pthread_cond_destroy(&namer->wake);
	pthread_mutex_destroy(&namer->lock);
	free(namer);
}

static void *namer_main(void *ctx)
{
	struct object_namer *namer = ctx;

	/* no sample waits for a name: not with the priority of the loop */
	(void)!setpriority(PRIO_PROCESS, 0, 0);
	pthread_mutex_lock(&namer->lock);
	while (!namer->stop) {
		uint64_t began_ns = clock_monotonic_ns(), now_ns;
		struct job *job = job_of(turns_begin(&namer->turns, &namer->todo, began_ns));

		if (!job) {
			pthread_cond_wait(&namer->wake, &namer->lock);
			continue;
		}
		pthread_mutex_unlock(&namer->lock);
		symbol_question_ask(&job->question, &namer->symbols.source, &job->answer);
		now_ns = clock_monotonic_ns();
		pthread_mutex_lock(&namer->lock);
		turns_end(&namer->turns, job->turn.uid, now_ns - began_ns, now_ns);
		turn_queue_push(&namer->done, &job->turn);
	}
	pthread_mutex_unlock(&namer->lock);
	return NULL;
}

/* Files that are retired are seldom met again: their names are not kept on disk. */
static int begin_thread(struct object_namer *namer, bool mangled)
{
	int code = symbols_init(&namer->symbols, namer->parser, NULL, NULL);

	if (code)
		return code;
	if (mangled)
		symbols_mangled(&namer->symbols);
	code = thread_begin(&namer->thread, namer_main, namer);
	namer->has_thread = !code;
	if (code)
		symbols_fini(&namer->symbols);
	return code;
}

bool object_namer_has_room(const struct object_namer *namer)
{
	return namer->nr_open < OBJECT_NAMER_MAX;
}

int object_namer_ask(struct object_namer *namer, uint32_t id, uint64_t uid,
		     struct symbol_question *question)
{
	int code = namer->has_thread ? 0 : begin_thread(namer, question->mangled);
	struct job *job = code ? NULL : calloc(1, sizeof(*job));

	if (!job) {
		symbol_question_fini(question);
		return code ? code : -ENOMEM;
	}
	job->id = id;
	job->turn.uid = uid;
	job->question = *question;
	namer->nr_open++;
	pthread_mutex_lock(&namer->lock);
	turn_queue_push(&namer->todo, &job->turn);
	pthread_cond_signal(&namer->wake);
	pthread_mutex_unlock(&namer->lock);
	return 0;
}

bool object_namer_take(struct object_namer *namer, uint32_t *ret_id,
		       struct symbol_question *ret_question, struct symbol_answer *ret)
{
	struct job *job;

	if (!namer->nr_open)
		return false;
	pthread_mutex_lock(&namer->lock);
	job = job_of(turn_queue_pop(&namer->done));
	pthread_mutex_unlock(&namer->lock);
	if (!job)
		return false;
	namer->nr_open--;
	*ret_id = job->id;
	*ret_question = job->question;
	*ret = job->answer;
	free(job);
	return true;
}
