/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over files, where there is no libFuzzer: every argument is an input, or a
 * folder of inputs. Part of the normal test run, so an input that once broke something stays a
 * test.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct stat st;
	AUTO_FREE uint8_t *data = NULL;
	size_t size;

	if (file == NULL || fstat(fileno(file), &st) != 0) {
		perror(path);
		return -1;
	}
	size = (size_t)st.st_size;
	data = malloc(size != 0 ? size : 1); /* exactly as long: a sanitizer sees a read past it */
	if (data == NULL || fread(data, 1, size, file) != size) {
		fprintf(stderr, "%s: cannot be read\n", path);
		fclose(file);
		return -1;
	}
	fclose(file);
	fprintf(stderr, "%s\n", path); /* the last one named is the one that broke */
	LLVMFuzzerTestOneInput(data, size);
	return 1;
}

/* Returns how many inputs were run, or -1. */
static int replay_folder(const char *path)
{
	struct dirent **entries = NULL;
	int nr = scandir(path, &entries, NULL, alphasort);
	int nr_run = 0;

	if (nr < 0) {
		perror(path);
		return -1;
	}
	for (int i = 0; i < nr; i++) {
		char name[4096];

		if (entries[i]->d_name[0] != '.' && nr_run >= 0) {
			snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
			nr_run = replay_file(name) < 0 ? -1 : nr_run + 1;
		}
		free(entries[i]);
	}
	free(entries);
	return nr_run;
}

int main(int argc, char **argv)
{
	int nr_run = 0;

	for (int i = 1; i < argc; i++) {
		struct stat st;
		bool folder = stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode);
		int nr = folder ? replay_folder(argv[i]) : replay_file(argv[i]);

		if (nr < 0)
			return EXIT_FAILURE;
		nr_run += nr;
	}
	printf("%d inputs\n", nr_run);
	return nr_run > 0 ? EXIT_SUCCESS : EXIT_FAILURE; /* nothing to replay is no success */
}
