/* SPDX-License-Identifier: Apache-2.0 */
#include "push/pusher.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/asking.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"

enum { WINDOWS_MAX = 60, WAIT_MS = 250 };

/* Outcomes of a step. */
enum step {
	STEP_DONE,
	STEP_NOTHING, /* there is no window left */
	STEP_AGAIN,   /* something was not to be had: pause, and the same again */
	STEP_STOP,    /* stop_fd, or with once it was tried often enough */
};

/* Wait for @ns, or for the end of @fd (-1: of nothing). Returns false where it is time to stop. */
static bool wait_for(const struct pusher *pusher, uint64_t ns, int fd)
{
	struct pollfd fds[] = { { .fd = pusher->stop_fd, .events = POLLIN },
				{ .fd = fd, .events = POLLIN } };
	uint64_t until_ns = clock_monotonic_ns() + ns, now_ns;

	while ((now_ns = clock_monotonic_ns()) < until_ns) {
		uint64_t ms = (until_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
		int nr = poll(fds, 2, ms < INT32_MAX ? (int)ms : INT32_MAX);

		if (nr < 0 && errno != EINTR)
			return false;
		if (nr > 0)
			return !fds[0].revents;
	}
	return true;
}

/* Twice as long each time, by chance up to half as long again or less: many machines come back to a
 * server that was away. */
static uint64_t pause_ns(const struct pusher *pusher)
{
	uint64_t pause = pusher->retry_ns;
	uint32_t chance = 0;

	for (unsigned i = 1; i < pusher->nr_bad && pause < PUSHER_PAUSE_MAX; i++)
		pause *= 2;
	if (pause > PUSHER_PAUSE_MAX)
		pause = PUSHER_PAUSE_MAX;
	if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) < 0)
		chance = (uint32_t)clock_monotonic_ns();
	return pause / 2 + (uint64_t)((double)pause * chance / UINT32_MAX);
}

/* Nothing goes on, since of @why: say so once, and pause. */
static enum step fail(struct pusher *pusher, const char *why)
{
	pusher->nr_bad++;
	if (!pusher->is_down)
		fpl_log(FPL_LOG_WARN, "push: %s: %s: it is tried again", pusher->target->name, why);
	pusher->is_down = true;
	service_tell(pusher->service, "STATUS=Nothing is sent: %s", why);
	if (pusher->once && pusher->nr_bad >= PUSHER_TRIES) {
		fpl_log(FPL_LOG_ERROR, "push: %s: given up after %u times: %s",
			pusher->target->name, PUSHER_TRIES, why);
		return STEP_STOP;
	}
	return wait_for(pusher, pause_ns(pusher), -1) ? STEP_AGAIN : STEP_STOP;
}

static void all_is_well(struct pusher *pusher)
{
	if (pusher->is_down)
		fpl_log(FPL_LOG_INFO, "push: %s: windows are sent again", pusher->target->name);
	pusher->is_down = false;
	pusher->nr_bad = 0;
}

static int note(struct pusher *pusher, uint64_t t0, uint64_t t1, uint64_t done, struct fpl_err *err)
{
	pusher->cursor = (struct cursor){ .t0 = t0, .t1 = t1, .done = done };
	pusher->has_cursor = true;
	return cursor_write(pusher->cursor_file, &pusher->cursor, pusher->target->once_only, err);
}

static void count(struct pusher *pusher, enum push_fate fate, uint64_t profiles, uint64_t samples)
{
	pusher->sums.profiles[fate] += profiles;
	pusher->sums.samples[fate] += samples;
}

/* Judge @answer, which may not have come; @why [@size] gets the reason in words. */
static enum verdict judge(const struct pusher *pusher, const struct http_answer *answer, char *why,
			  size_t size)
{
	enum verdict verdict;
	char body[120];

	if (answer->outcome != HTTP_ANSWERED) {
		snprintf(why, size, "%s", answer->why);
		return answer->outcome != HTTP_NOT_SENT && pusher->target->once_only
			       ? VERDICT_UNCERTAIN
			       : VERDICT_LATER;
	}
	verdict = pusher->target->judge(answer);
	http_make_plain(answer->body, body, sizeof(body));
	if (answer->status == 200)
		snprintf(why, size, "the answer is not that of %s: status 200, '%s': '%s'",
			 pusher->target->name, answer->content_type, body);
	else
		snprintf(why, size, "status %u: '%s'", answer->status, body);
	return verdict;
}

/* Send one profile, as often as it takes. Returns its fate, or -1: it is time to stop. */
static int send_profile(struct pusher *pusher, const struct profile *profile)
{
	AUTO_FREE char *body = NULL;
	struct labels labels;
	size_t size;
	FILE *to = must_memstream(&body, &size);

	labels_of(profile, pusher->labels, &labels);
	pusher->target->write(to, profile, &labels);
	must_memstream_close(to);
	for (;;) {
		CLEANUP(http_answer_fini) struct http_answer answer;
		char why[HTTP_WHY_BYTES];
		enum verdict verdict;

		http_post(pusher->http, body, size, &answer);
		pusher->sums.bytes += size;
		verdict = judge(pusher, &answer, why, sizeof(why));
		if (verdict != VERDICT_TAKEN)
			pusher->sums.failures++;
		switch (verdict) {
		case VERDICT_TAKEN:
			pusher->sums.last_sent_ns = clock_ns(CLOCK_REALTIME);
			all_is_well(pusher);
			return PUSH_SENT;
		case VERDICT_REFUSED:
			fpl_log(FPL_LOG_WARN, "push: %s: a profile of %s is refused: %s",
				pusher->target->name, profile->name, why);
			return PUSH_REFUSED;
		case VERDICT_UNCERTAIN:
			fpl_log(FPL_LOG_WARN,
				"push: %s: a profile of %s may be lost, and is not sent again: %s",
				pusher->target->name, profile->name, why);
			return PUSH_UNCERTAIN;
		case VERDICT_LATER:
			if (answer.outcome == HTTP_STOPPED || fail(pusher, why) == STEP_STOP)
				return -1;
		}
	}
}

static bool is_too_old(const struct pusher *pusher, uint64_t t0)
{
	uint64_t now_ns = clock_ns(CLOCK_REALTIME);

	return pusher->max_age_ns != TARGET_ANY_AGE && t0 < now_ns &&
	       now_ns - t0 > pusher->max_age_ns;
}

/* A window in the answer, under way. */
struct window {
	struct profile of;
	uint64_t nr;	  /* profiles met */
	uint64_t samples; /* in them */
	uint64_t skipped; /* profiles that were sent before */
	bool is_open;
};

/* Deal with the next profile of @window. */
static int take_profile(struct pusher *pusher, struct window *window, const struct profile *profile,
			enum step *ret, struct fpl_err *err)
{
	int fate = PUSH_TOO_OLD, code = 0;

	window->nr++;
	window->samples += profile->samples;
	if (window->nr <= window->skipped)
		return 0;
	/* where sending twice counts twice, it is noted before */
	if (pusher->target->once_only)
		code = note(pusher, window->of.t0, window->of.t1, window->nr, err);
	if (code)
		return code;
	if (!is_too_old(pusher, window->of.t0))
		fate = send_profile(pusher, profile);
	if (fate >= 0) {
		count(pusher, (enum push_fate)fate, 1, profile->samples);
		return 0;
	}
	*ret = STEP_STOP;
	/* it was not sent */
	return pusher->target->once_only
		       ? note(pusher, window->of.t0, window->of.t1, window->nr - 1, err)
		       : 0;
}

static int end_window(struct pusher *pusher, struct window *window, struct fpl_err *err)
{
	if (!window->is_open)
		return 0;
	window->is_open = false;
	if (window->samples < window->of.samples)
		count(pusher, PUSH_LEFT_OUT, 0, window->of.samples - window->samples);
	pusher->sums.windows++;
	pusher->sums.last_window_ns = window->of.t1;
	return note(pusher, window->of.t0, window->of.t1, CURSOR_ALL, err);
}

static void begin_window(const struct pusher *pusher, const struct profile *of, struct window *ret)
{
	const struct cursor *cursor = &pusher->cursor;

	*ret = (struct window){ .of = *of, .is_open = true };
	if (pusher->has_cursor && cursor->t0 == of->t0 && cursor->done != CURSOR_ALL)
		ret->skipped = cursor->done;
}

/*
 * Send what is in @text [@size]. @is_cut: the answer was too long, and its last window is not
 * whole; where that is the first one, too, it is left out.
 */
static int send_all(struct pusher *pusher, const char *text, size_t size, bool is_cut,
		    enum step *ret, struct fpl_err *err)
{
	struct profiles profiles = { text, text + size };
	struct window window = { .is_open = false };
	struct profile item;
	int code = 0;

	*ret = STEP_DONE;
	while (!code && *ret == STEP_DONE) {
		switch (profiles_next(&profiles, &item)) {
		case PROFILES_WINDOW:
			code = end_window(pusher, &window, err);
			begin_window(pusher, &item, &window);
			break;
		case PROFILES_PROFILE:
			code = take_profile(pusher, &window, &item, ret, err);
			break;
		case PROFILES_END:
			return end_window(pusher, &window, err);
		case PROFILES_CUT:
			/* what is there of it was sent; the rest is too large for ever */
			if (is_cut)
				return end_window(pusher, &window, err);
			*ret = fail(pusher, "fpless query: the answer is not that of profiles");
		}
	}
	return code;
}

/*
 * Append the format of @pusher's target and its labels to @words, after @nr of them; nothing for
 * pprof. Returns what the words are in, to be freed.
 */
static char *add_words(const struct pusher *pusher, char **words, size_t nr)
{
	const struct labels *labels = &pusher->labels->labels;
	char *text, *at;
	size_t size;
	FILE *to = must_memstream(&text, &size);

	for (size_t i = 0; pusher->target->format && i < labels->nr; i++)
		fprintf(to, "--label=%s=%s%c",
			strcmp(labels->list[i].name, "host") ? labels->list[i].name : "host.name",
			labels->list[i].value, '\0');
	must_memstream_close(to);
	if (pusher->target->format)
		words[nr++] = (char *)pusher->target->format;
	for (at = text; at < text + size; at += strlen(at) + 1)
		words[nr++] = at;
	return text;
}

/* Ask for the windows behind the cursor; *ret_status as asking_has_ended() has it. */
static enum step ask(struct pusher *pusher, struct asking *asking, unsigned *ret_status,
		     char said[ASKING_SAID_BYTES])
{
	const struct cursor *cursor = &pusher->cursor;
	uint64_t from_ns =
		!pusher->has_cursor ? pusher->since_ns : cursor->t0 + (cursor->done == CURSOR_ALL);
	uint64_t to_ns = clock_ns(CLOCK_REALTIME);
	AUTO_FREE char *from =
		must_asprintf("--from=@%llu.%09llu", from_ns / NS_PER_S, from_ns % NS_PER_S);
	AUTO_FREE char *limit = must_asprintf("--limit=%zu", pusher->limit);
	AUTO_FREE char *labels = NULL;
	char *words[16 + LABELS_MAX] = { (char *)"query",
					 (char *)"profiles",
					 (char *)"--store",
					 (char *)pusher->store,
					 from,
					 limit };
	struct fpl_err err;

	if (from_ns >= to_ns)
		return STEP_NOTHING;
	labels = add_words(pusher, words, 6);
	if (asking_start(pusher->program, words, asking, &err))
		return fail(pusher, err.msg);
	while (!asking_has_ended(asking, clock_monotonic_ns(), ret_status, said))
		if (!wait_for(pusher, WAIT_MS * NS_PER_MS, asking->end_fd))
			return STEP_STOP;
	return STEP_DONE;
}

static int send_answer(struct pusher *pusher, const struct asking *asking, bool is_cut,
		       enum step *ret, struct fpl_err *err)
{
	off_t size = lseek(asking->answer_fd, 0, SEEK_END);
	char *text =
		size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, asking->answer_fd, 0)
			 : MAP_FAILED;
	int code;

	if (text == MAP_FAILED) {
		*ret = fail(pusher, "fpless query: the answer cannot be read");
		return 0;
	}
	code = send_all(pusher, text, (size_t)size, is_cut, ret, err);
	munmap(text, (size_t)size);
	return code;
}

/* Look at the store once, and send what is there. */
static int look(struct pusher *pusher, enum step *ret, struct fpl_err *err)
{
	CLEANUP(asking_fini) struct asking asking = ASKING_NONE;
	char said[ASKING_SAID_BYTES];
	unsigned status = 0;

	*ret = ask(pusher, &asking, &status, said);
	if (*ret != STEP_DONE)
		return 0;
	switch (status) {
	case 200:
	case 413:
		pusher->limit = WINDOWS_MAX;
		return send_answer(pusher, &asking, status == 413, ret, err);
	case 404:
		*ret = STEP_NOTHING;
		return 0;
	case 503:
		/* it took too long: fewer at a time */
		pusher->limit = pusher->limit / 8 + 1;
		/* fall through */
	default:
		*ret = fail(pusher, said);
		return 0;
	}
}

static void tell(struct pusher *pusher)
{
	AUTO_FREE char *text = NULL;
	struct fpl_err err;
	size_t size;
	FILE *to = must_memstream(&text, &size);

	push_sums_write_status(to, &pusher->sums);
	must_memstream_close(to);
	if (!pusher->is_down)
		service_tell(pusher->service, "STATUS=%s", text);
	if (*pusher->metrics &&
	    push_sums_replace_metrics(pusher->metrics, &pusher->sums, pusher->target->name, &err))
		fpl_log(FPL_LOG_WARN, "push: %s", err.msg);
}

int pusher_run(struct pusher *pusher, bool *ret_left, struct fpl_err *err)
{
	int code = cursor_read(pusher->cursor_file, &pusher->cursor, &pusher->has_cursor, err);
	enum step step = STEP_DONE;

	pusher->limit = WINDOWS_MAX;
	while (!code && step != STEP_STOP) {
		code = look(pusher, &step, err);
		tell(pusher);
		if (code || step != STEP_NOTHING)
			continue;
		all_is_well(pusher);
		if (pusher->once || !wait_for(pusher, pusher->every_ns, -1))
			break;
	}
	if (pusher->once || !isatty(STDERR_FILENO)) {
		AUTO_FREE char *text = NULL;
		size_t size;
		FILE *to = must_memstream(&text, &size);

		push_sums_write_status(to, &pusher->sums);
		must_memstream_close(to);
		fpl_log(FPL_LOG_INFO, "push: %s: %s", pusher->target->name, text);
	}
	*ret_left = step == STEP_STOP || pusher->sums.profiles[PUSH_REFUSED] ||
		    pusher->sums.profiles[PUSH_UNCERTAIN];
	return code;
}
