/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: sequence PROGRAMS NOTES
 *
 * Runs programs one after another. PROGRAMS has a word a line, and an empty line behind each
 * program. NOTES gets a line with the pid and the wait status of each, so that the samples of
 * one profile can be told apart: the processes between two pids are the first one's.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>

#define WORDS_MAX 16
#define LINE_MAX  4096

extern char **environ;

/* The words up to the next empty line; how many, 0 at the end, -1 if they are too many. */
static int read_words(FILE *file, char **words)
{
	char line[LINE_MAX];
	int nr = 0;

	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (!line[0]) {
			if (nr)
				break;
			continue;
		}
		if (nr == WORDS_MAX)
			return -1;
		words[nr] = strdup(line);
		if (!words[nr++])
			return -1;
	}
	words[nr] = NULL;
	return nr;
}

/* Status as waitpid gives it, or -1. */
static int run(char **words, const posix_spawn_file_actions_t *actions, FILE *notes)
{
	pid_t pid;
	int status = -1;

	if (posix_spawn(&pid, words[0], actions, NULL, words, environ) != 0) {
		fprintf(stderr, "sequence: %s: cannot be run\n", words[0]);
		return -1;
	}
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	fprintf(notes, "%ld %d\n", (long)pid, status);
	return status;
}

int main(int argc, char **argv)
{
	char *words[WORDS_MAX + 1];
	posix_spawn_file_actions_t actions;
	int nr, failed = 0;

	if (argc != 3)
		return 2;

	FILE *programs = fopen(argv[1], "r"), *notes = fopen(argv[2], "w");

	if (!programs || !notes || posix_spawn_file_actions_init(&actions) ||
	    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1 /* O_WRONLY */, 0))
		return 2;
	while ((nr = read_words(programs, words)) > 0) {
		failed |= run(words, &actions, notes);
		while (nr)
			free(words[--nr]);
	}
	posix_spawn_file_actions_destroy(&actions);
	fclose(programs);
	return fclose(notes) || nr || failed ? 1 : 0;
}
