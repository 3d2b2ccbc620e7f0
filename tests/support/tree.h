/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of made-up files for tests that take a root: /proc, /sys, dpkg's files. */
#pragma once

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tree {
	char root[64];
};

static inline void tree_init(struct tree *tree)
{
	snprintf(tree->root, sizeof(tree->root), "/tmp/fpless-tree-XXXXXX");
	if (!mkdtemp(tree->root))
		abort();
}

/* "root/path", with all folders above it made; valid until the next call. */
static inline const char *tree_path(const struct tree *tree, const char *path)
{
	static char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s/%s", tree->root, path);
	for (char *slash = strchr(full + strlen(tree->root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(full, 0755) && errno != EEXIST)
			abort();
		*slash = '/';
	}
	return full;
}

static inline void tree_put_bytes(const struct tree *tree, const char *path, const void *bytes,
				  size_t size)
{
	FILE *file = fopen(tree_path(tree, path), "w");

	if (!file || (size && fwrite(bytes, size, 1, file) != 1) || fclose(file))
		abort();
}

static inline void tree_put(const struct tree *tree, const char *path, const char *text)
{
	tree_put_bytes(tree, path, text, strlen(text));
}

static inline void tree_link(const struct tree *tree, const char *path, const char *target)
{
	if (symlink(target, tree_path(tree, path)))
		abort();
}

static inline int tree_remove_one(const char *path, const struct stat *st, int type,
				  struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void tree_fini(const struct tree *tree)
{
	nftw(tree->root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Make one tree per test, in *state, for cmocka. */
static inline int tree_setup(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return -1;
	tree_init(tree);
	*state = tree;
	return 0;
}

static inline int tree_teardown(void **state)
{
	tree_fini(*state);
	free(*state);
	return 0;
}
