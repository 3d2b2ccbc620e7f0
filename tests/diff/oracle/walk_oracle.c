/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: walk_oracle [-n AT_LEAST] [-c COMM] WALK_FILE: judge recorded walks by libdwfl, frame by
 * frame. Exit status: 0 none differs and at least AT_LEAST were judged, 5 one differs, 2 too few or
 * unreadable.
 *
 * walk_oracle -s SEED [-m MAX_STACK] ...: of a run of compare, AT_LEAST walks chosen at random
 * among those by which a frame-pointer walk is judged: complete, and by CFI alone. The
 * frame-pointer walk beside each is judged too, by the chain of rbp in the same stack copy;
 * MAX_STACK is kernel.perf_event_max_stack (127).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "diff/oracle/fp_chain.h"
#include "diff/oracle/unwinder.h"
#include "diff/oracle/walk_reader.h"

/* How a walk compares. X(name, judged: counts towards AT_LEAST, text) */
#define OUTCOME_LIST(X)                                                                       \
	X(IDENTICAL, true, "identical, frame by frame")                                       \
	X(NO_CFI_END, true, "identical to where CFI ends, behind which libdw guesses by rbp") \
	X(STACK_COPY, false, "identical as far as the stack copy reaches")                    \
	X(NO_RULE, false, "identical to where libdw gives up")                                \
	X(FP, false, "identical to a frame-pointer step, which is exempt")                    \
	X(WRONG_CFI, true, "identical to where the file's CFI leads out of all code")         \
	X(SHORTER, true, "ours ends earlier")                                                 \
	X(DIFFERING, true, "DIFFERING")

#define X(name, judged, text) OUTCOME_##name,
enum outcome { OUTCOME_LIST(X) OUTCOME_COUNT };
#undef X

static const struct {
	const char *text;
	bool judged;
} outcomes[] = {
#define X(name, judged, text) { text, judged },
	OUTCOME_LIST(X)
#undef X
};

#define X(name, key, text) #key,
static const char *const stop_keys[] = { FPL_STOP_LIST(X) };
#undef X

enum {
	FRAMES_MAX = FPL_DEPTH_MAX,
	UNWINDERS_MAX = 16,
	SHOWN_MAX = 5,
	ERRORS_MAX = 16,
};

/* How the kernel's frame-pointer walk compares with the chain. X(name, text) */
#define FP_OUTCOME_LIST(X)                                   \
	X(SAME, "the chain of rbp, to its end")              \
	X(COPY, "the same as far as the stack copy reaches") \
	X(DIFFERING, "DIFFERING from the chain of rbp")

#define X(name, text) FP_##name,
enum fp_outcome { FP_OUTCOME_LIST(X) FP_COUNT };
#undef X

#define X(name, text) text,
static const char *const fp_texts[] = { FP_OUTCOME_LIST(X) };
#undef X

struct options {
	const char *comm; /* NULL: every process */
	uint64_t at_least;
	bool by_chance;
	uint64_t seed;	  /* by_chance */
	size_t max_stack; /* likewise */
};

struct tally {
	uint64_t outcomes[OUTCOME_COUNT];
	uint64_t stops[FPL_STOP_COUNT]; /* of identical walks */
	uint64_t shorter[FPL_STOP_COUNT];
	struct {
		const char *text;
		uint64_t nr;
	} errors[ERRORS_MAX]; /* libdw's, of NO_RULE */
	uint64_t walks, frames;
	unsigned int nr_shown;
	uint64_t fp[FP_COUNT], fp_frames;
	uint64_t candidates; /* of the walks chosen by chance */
};

static struct unwound unwound;
static struct tally tally;

/* The runtime address of one of our frames. */
static uint64_t frame_address(const struct walk_mapset *mapset, uint64_t frame)
{
	uint32_t object = (uint32_t)(frame >> FPL_FRAME_OBJECT_SHIFT) & FPL_FRAME_OBJECT_MAX;
	uint64_t vaddr = frame & FPL_FRAME_VADDR_MASK;

	if (frame & FPL_FRAME_RAW)
		return frame & FPL_FRAME_ADDR_MASK;
	for (uint32_t i = 0; i < mapset->nr; i++) {
		const struct fpl_mapping *mapping = &mapset->mappings[i];
		uint64_t address = vaddr + mapping->bias;

		/* a return address may be the first byte behind its mapping */
		if (mapping->object == object && address >= mapping->start &&
		    address <= mapping->end)
			return address;
	}
	return UINT64_MAX;
}

/*
 * Is @frame the frame at @pc? A raw one has but the low bits of what may be any word; code of an
 * object may be mapped twice.
 */
static bool is_at(const struct walk_mapset *mapset, uint64_t frame, uint64_t pc)
{
	uint32_t object = (uint32_t)(frame >> FPL_FRAME_OBJECT_SHIFT) & FPL_FRAME_OBJECT_MAX;

	if (frame & FPL_FRAME_RAW)
		return (frame & FPL_FRAME_ADDR_MASK) == (pc & FPL_FRAME_ADDR_MASK);
	for (uint32_t i = 0; i < mapset->nr; i++) {
		const struct fpl_mapping *mapping = &mapset->mappings[i];

		if (mapping->object == object && pc >= mapping->start && pc <= mapping->end &&
		    pc - mapping->bias == (frame & FPL_FRAME_VADDR_MASK))
			return true;
	}
	return false;
}

static unsigned int frame_origin(uint64_t frame)
{
	return (unsigned int)(frame >> FPL_FRAME_ORIGIN_SHIFT);
}

static bool is_exact(const struct walk *walk, size_t idx)
{
	return idx < walk->sample->nr_user && (walk->user[idx] & FPL_FRAME_EXACT) != 0;
}

/*
 * libdw calls the trampoline of a signal an activation as well as the frame that was interrupted;
 * to us the trampoline's address is the return address that its handler was given.
 */
static bool frames_agree(const struct walk *walk, size_t idx)
{
	return is_at(walk->mapset, walk->user[idx], unwound.pc[idx]) &&
	       (is_exact(walk, idx) == unwound.exact[idx] ||
		(unwound.exact[idx] && is_exact(walk, idx + 1)));
}

/* Is @address executable memory of the process? */
static bool is_code(const struct walk_mapset *mapset, uint64_t address)
{
	for (uint32_t i = 0; i < mapset->nr; i++)
		if (address >= mapset->mappings[i].start && address < mapset->mappings[i].end)
			return true;
	return false;
}

static enum outcome compare(struct unwinder *unwinder, const struct walk *walk)
{
	size_t nr_ours = walk->sample->nr_user, nr_theirs = unwound.nr;
	size_t nr = nr_ours < nr_theirs ? nr_ours : nr_theirs;
	size_t same = 0;

	while (same < nr && frames_agree(walk, same))
		same++;
	if (same == nr_ours && same == nr_theirs)
		return OUTCOME_IDENTICAL;
	for (size_t i = 0; i <= same && i < nr_ours; i++) {
		if (frame_origin(walk->user[i]) == FPL_ORIGIN_FP)
			return OUTCOME_FP;
	}
	/* libdw takes a return address it cannot read for the end of the stack, without an error */
	if (same == nr_theirs && unwound.left_stack)
		return OUTCOME_STACK_COPY;
	if (same == nr_theirs && unwound.error != NULL)
		return OUTCOME_NO_RULE;
	/* Both read the same rule; we refuse what it leads to, libdw takes it for one more frame.
	 */
	if (same == nr_ours && walk->sample->stop == FPL_STOP_BAD_RA &&
	    !is_code(walk->mapset, unwound.pc[same] - 1))
		return OUTCOME_WRONG_CFI;
	if (same > 0 && !unwinder_has_cfi(unwinder, unwound.pc[same - 1], unwound.exact[same - 1]))
		return same == nr_ours ? OUTCOME_NO_CFI_END : OUTCOME_DIFFERING;
	return same == nr_ours ? OUTCOME_SHORTER : OUTCOME_DIFFERING;
}

static void note_error(void)
{
	for (size_t i = 0; i < ERRORS_MAX; i++) {
		if (tally.errors[i].text == NULL)
			tally.errors[i].text = unwound.error;
		if (strcmp(tally.errors[i].text, unwound.error) == 0) {
			tally.errors[i].nr++;
			return;
		}
	}
}

static void show(struct unwinder *unwinder, const struct walk *walk, enum outcome outcome)
{
	size_t nr_ours = walk->sample->nr_user;
	size_t nr = nr_ours > unwound.nr ? nr_ours : unwound.nr;
	size_t same = 0;

	if (tally.nr_shown++ >= SHOWN_MAX)
		return;
	while (same < nr_ours && same < unwound.nr && frames_agree(walk, same))
		same++;
	printf("%s: %s, pid %u, our stop %s, libdw %s; %zu frames alike\n", outcomes[outcome].text,
	       walk->sample->comm, walk->sample->tgid, stop_keys[walk->sample->stop],
	       unwound.error != NULL ? unwound.error : "came to an end", same);
	for (size_t i = same > 2 ? same - 2 : 0; i < nr && i < same + 4; i++) {
		uint64_t ours = i < nr_ours ? frame_address(walk->mapset, walk->user[i]) : 0;
		uint64_t theirs = i < unwound.nr ? unwound.pc[i] : 0;
		char text[512];

		unwinder_name(unwinder, theirs != 0 ? theirs : ours, text, sizeof(text));
		printf("  #%zu ours 0x%" PRIx64 "%s libdw 0x%" PRIx64 "%s  %s\n", i, ours,
		       i < nr_ours && walk->user[i] & FPL_FRAME_EXACT ? " exact" : "", theirs,
		       i < unwound.nr && unwound.exact[i] ? " exact" : "", text);
	}
}

static enum outcome judge(struct unwinder *unwinder, const struct walk *walk)
{
	enum outcome outcome;
	uint8_t stop = walk->sample->stop;

	unwinder_run(unwinder, walk, &unwound);
	outcome = compare(unwinder, walk);
	tally.walks++;
	tally.frames += walk->sample->nr_user;
	tally.outcomes[outcome]++;
	if (outcome == OUTCOME_IDENTICAL)
		tally.stops[stop]++;
	if (outcome == OUTCOME_SHORTER)
		tally.shorter[stop]++;
	if (outcome == OUTCOME_NO_RULE)
		note_error();
	if (outcome == OUTCOME_SHORTER || outcome == OUTCOME_DIFFERING ||
	    outcome == OUTCOME_NO_RULE || outcome == OUTCOME_WRONG_CFI)
		show(unwinder, walk, outcome);
	return outcome;
}

static enum fp_outcome compare_fp(const struct walk *walk, const struct fp_chain *chain)
{
	size_t nr = walk->sample->nr_fp;

	if (nr < chain->nr || (nr > chain->nr && !chain->left_copy))
		return FP_DIFFERING;
	for (size_t i = 0; i < chain->nr; i++) {
		if (!is_at(walk->mapset, walk->fp[i], chain->pc[i]) ||
		    frame_origin(walk->fp[i]) != FPL_ORIGIN_FP)
			return FP_DIFFERING;
	}
	return nr == chain->nr ? FP_SAME : FP_COPY;
}

static void judge_fp(const struct walk *walk, size_t max_stack)
{
	struct fp_chain chain;
	enum fp_outcome outcome;

	fp_chain_follow(walk, max_stack, &chain);
	outcome = compare_fp(walk, &chain);
	tally.fp[outcome]++;
	tally.fp_frames += walk->sample->nr_fp;
	if (outcome != FP_DIFFERING || tally.nr_shown++ >= SHOWN_MAX)
		return;
	printf("frame pointers: %s, pid %u: %u frames, the chain has %zu%s\n", walk->sample->comm,
	       walk->sample->tgid, walk->sample->nr_fp, chain.nr,
	       chain.left_copy ? " and goes on" : "");
	for (size_t i = 0; i < walk->sample->nr_fp && i < chain.nr; i++)
		printf("  #%zu kernel 0x%" PRIx64 " chain 0x%" PRIx64 "\n", i,
		       frame_address(walk->mapset, walk->fp[i]), chain.pc[i]);
}

/* The unwinder of @mapset: made when first needed, the oldest of UNWINDERS_MAX goes. */
static int find_unwinder(const struct walk_reader *reader, const struct walk_mapset *mapset,
			 struct unwinder **ret, struct fpl_err *err)
{
	static struct unwinder *kept[UNWINDERS_MAX];
	static size_t next;
	int code;

	for (size_t i = 0; i < UNWINDERS_MAX; i++) {
		if (kept[i] != NULL && kept[i]->mapset == mapset) {
			*ret = kept[i];
			return 0;
		}
	}
	unwinder_destroy(kept[next]);
	kept[next] = NULL;
	code = unwinder_create(reader, mapset, &kept[next], err);
	if (code != 0)
		return code;
	*ret = kept[next];
	next = (next + 1) % UNWINDERS_MAX;
	return 0;
}

static void print_tally(const struct walk_reader *reader)
{
	printf("%" PRIu64 " walks, %" PRIu64 " frames, %zu walks without their mappings\n",
	       tally.walks, tally.frames, reader->nr_homeless);
	for (size_t i = 0; i < OUTCOME_COUNT; i++) {
		if (tally.outcomes[i] != 0)
			printf("%8" PRIu64 " %s\n", tally.outcomes[i], outcomes[i].text);
	}
	for (size_t i = 0; i < FPL_STOP_COUNT; i++) {
		if (tally.stops[i] != 0)
			printf("    identical, our stop %s: %" PRIu64 "\n", stop_keys[i],
			       tally.stops[i]);
		if (tally.shorter[i] != 0)
			printf("    ours ends earlier, stop %s: %" PRIu64 "\n", stop_keys[i],
			       tally.shorter[i]);
	}
	for (size_t i = 0; i < ERRORS_MAX && tally.errors[i].text != NULL; i++)
		printf("    libdw gives up: %s: %" PRIu64 "\n", tally.errors[i].text,
		       tally.errors[i].nr);
	if (tally.candidates != 0)
		printf("chosen by chance among %" PRIu64 "; their frame-pointer walks, %" PRIu64
		       " frames:\n",
		       tally.candidates, tally.fp_frames);
	for (size_t i = 0; i < FP_COUNT; i++) {
		if (tally.fp[i] != 0)
			printf("%8" PRIu64 " %s\n", tally.fp[i], fp_texts[i]);
	}
}

/* The next walk there is something to say of. Returns as walk_reader_next(). */
static int next_walk(struct walk_reader *reader, const char *comm, struct walk *ret,
		     struct fpl_err *err)
{
	int code;

	while ((code = walk_reader_next(reader, ret, err)) > 0) {
		if (!(ret->sample->flags & FPL_SAMPLE_KTHREAD) && ret->sample->nr_user > 0 &&
		    ret->sample->stop < FPL_STOP_COUNT &&
		    (comm == NULL || strncmp(comm, ret->sample->comm, FPL_COMM_SIZE) == 0))
			break;
	}
	return code;
}

static int judge_all(struct walk_reader *reader, const struct options *options, struct fpl_err *err)
{
	struct walk walk;
	int code;

	while ((code = next_walk(reader, options->comm, &walk, err)) > 0) {
		struct unwinder *unwinder = NULL;

		code = find_unwinder(reader, walk.mapset, &unwinder, err);
		if (code != 0)
			return code;
		judge(unwinder, &walk);
	}
	return code;
}

/* Would a frame-pointer walk be judged by it? */
static bool is_judge(const struct walk *walk)
{
	if (walk->sample->stop != FPL_STOP_OUTERMOST)
		return false;
	for (uint32_t i = 0; i < walk->sample->nr_user; i++) {
		if (frame_origin(walk->user[i]) == FPL_ORIGIN_FP ||
		    frame_origin(walk->user[i]) == FPL_ORIGIN_SYNTH)
			return false;
	}
	return true;
}

/* All walks of the file that may be chosen: owned [*ret_nr]. Returns 0 or an error. */
static int find_candidates(struct walk_reader *reader, const char *comm, struct walk **ret,
			   size_t *ret_nr, struct fpl_err *err)
{
	struct walk *walks = NULL, walk;
	size_t nr = 0, capacity = 0;
	int code;

	while ((code = next_walk(reader, comm, &walk, err)) > 0) {
		if (!is_judge(&walk))
			continue;
		if (nr == capacity) {
			size_t more = 2 * capacity + 256;
			struct walk *grown = reallocarray(walks, more, sizeof(*walks));

			if (grown == NULL) {
				free(walks);
				return fpl_fail(err, -ENOMEM, "no memory for %zu walks", more);
			}
			walks = grown;
			capacity = more;
		}
		walks[nr++] = walk;
	}
	*ret = walks;
	*ret_nr = nr;
	return code;
}

/* xorshift64*, for a choice that can be repeated. */
static uint64_t chance(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

/*
 * Judge walks drawn by chance, until enough have been followed to their end: of one whose stack is
 * longer than its copy only a part can be said.
 */
static int judge_some(struct walk_reader *reader, const struct options *options,
		      struct fpl_err *err)
{
	AUTO_FREE struct walk *walks = NULL;
	uint64_t state = options->seed * 2 + 1, nr_followed = 0;
	size_t nr = 0;
	int code = find_candidates(reader, options->comm, &walks, &nr, err);

	if (code != 0)
		return code;
	tally.candidates = nr;
	for (; nr > 0 && nr_followed < options->at_least; nr--) {
		size_t idx = chance(&state) % nr;
		struct walk walk = walks[idx];
		struct unwinder *unwinder = NULL;

		walks[idx] = walks[nr - 1];
		code = find_unwinder(reader, walk.mapset, &unwinder, err);
		if (code != 0)
			return code;
		nr_followed += outcomes[judge(unwinder, &walk)].judged;
		judge_fp(&walk, options->max_stack);
	}
	return 0;
}

static bool parse_options(int argc, char **argv, struct options *ret)
{
	int option;

	*ret = (struct options){ .at_least = 1, .max_stack = FPL_FP_DEPTH_MAX };
	while ((option = getopt(argc, argv, "n:c:s:m:")) != -1) {
		if (option == 'n')
			ret->at_least = strtoull(optarg, NULL, 10);
		else if (option == 'c')
			ret->comm = optarg;
		else if (option == 's')
			ret->by_chance = true, ret->seed = strtoull(optarg, NULL, 10);
		else if (option == 'm')
			ret->max_stack = strtoull(optarg, NULL, 10);
		else
			return false;
	}
	if (ret->max_stack > FPL_FP_DEPTH_MAX)
		ret->max_stack = FPL_FP_DEPTH_MAX;
	return optind + 1 == argc;
}

static int verdict(uint64_t at_least)
{
	uint64_t judged = 0;

	for (size_t i = 0; i < OUTCOME_COUNT; i++)
		judged += outcomes[i].judged ? tally.outcomes[i] : 0;
	if (tally.outcomes[OUTCOME_DIFFERING] != 0 || tally.outcomes[OUTCOME_SHORTER] != 0 ||
	    tally.fp[FP_DIFFERING] != 0)
		return 5;
	return judged >= at_least ? 0 : 2;
}

int main(int argc, char **argv)
{
	struct walk_reader reader;
	struct fpl_err err = { 0 };
	struct options options;
	int code;

	if (!parse_options(argc, argv, &options)) {
		fprintf(stderr, "usage: walk_oracle [-n AT_LEAST] [-c COMM] [-s SEED] "
				"[-m MAX_STACK] WALK_FILE\n");
		return 1;
	}
	code = walk_reader_open(argv[optind], &reader, &err);
	if (code == 0) {
		code = options.by_chance ? judge_some(&reader, &options, &err)
					 : judge_all(&reader, &options, &err);
		print_tally(&reader);
		walk_reader_close(&reader);
	}
	if (code != 0) {
		fprintf(stderr, "walk_oracle: %s\n", err.msg);
		return 2;
	}
	return verdict(options.at_least);
}
