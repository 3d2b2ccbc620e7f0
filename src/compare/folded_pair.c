/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/folded_pair.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "format/folded_write.h"

static int make_folder(const char *path, char **ret_made, struct fpl_err *err)
{
	struct stat st;

	if (mkdir(path, 0777) == 0) {
		*ret_made = strdup(path);
		if (*ret_made)
			return 0;
		rmdir(path);
		return fpl_fail(err, -ENOMEM, "out of memory");
	}
	/* A file system that is read-only says so of a folder that is there, too. */
	int error = -errno;
	if (stat(path, &st) < 0)
		return fpl_fail(err, error, "%s: %s", path, strerror(-error));
	return S_ISDIR(st.st_mode) ? 0 : fpl_fail(err, -ENOTDIR, "%s: %s", path, strerror(ENOTDIR));
}

static int open_in(const char *folder, const char *name, struct output_file *ret,
		   struct fpl_err *err)
{
	AUTO_FREE char *path = NULL;

	if (asprintf(&path, "%s/%s", folder, name) < 0) {
		path = NULL; /* asprintf leaves it undefined */
		return fpl_fail(err, -ENOMEM, "out of memory");
	}
	return output_file_open(path, ret, err);
}

int folded_pair_open(const char *path, struct folded_pair *ret, struct fpl_err *err)
{
	struct folded_pair pair = { 0 };
	int error = make_folder(path, &pair.made, err);

	if (!error)
		error = open_in(path, "cfi.folded", &pair.cfi, err);
	if (!error)
		error = open_in(path, "fp.folded", &pair.fp, err);
	if (error)
		folded_pair_abort(&pair);
	else
		*ret = pair;
	return error;
}

/* helper_fn: the folder that was made goes, if it is empty. */
static int remove_made(void *ctx)
{
	const struct folded_pair *pair = ctx;

	return rmdir(pair->made) < 0 ? -errno : 0;
}

/* helper_fn: the first file is in its place, and the second cannot be. */
static int withdraw(void *ctx)
{
	const struct folded_pair *pair = ctx;

	return unlinkat(pair->cfi.folder_fd, pair->cfi.name, 0) < 0 ? -errno : 0;
}

int folded_pair_delegate(struct folded_pair *pair, struct privileged_helper *helper,
			 struct fpl_err *err)
{
	int error = output_file_delegate(&pair->cfi, helper, err);

	if (!error)
		error = output_file_delegate(&pair->fp, helper, err);
	pair->remove_task = helper_add(helper, remove_made, pair, -1);
	pair->withdraw_task =
		helper_add(helper, withdraw, pair, pair->cfi.name ? pair->cfi.folder_fd : -1);
	if (!error && (pair->remove_task < 0 || pair->withdraw_task < 0))
		error = fpl_fail(err, -ENOMEM, "%s: out of memory", pair->cfi.path);
	pair->helper = helper;
	return error;
}

/* Write one file whole, its target untouched. */
static int write_one(struct output_file *file, const struct recording *recording,
		     enum merge_walk walk, const struct format_options *options,
		     struct fpl_err *err)
{
	uint64_t held = recording_shown(recording), shown;

	folded_write_walk(file->stream, recording, walk, options, &shown);
	if (shown != held)
		return fpl_fail(err, -EIO,
				"%s: shows %" PRIu64 " samples where the profile holds %" PRIu64
				": please report this",
				file->path, shown, held);
	return output_file_close(file, err);
}

/* -ECHILD: no helper can do it. */
static int delegate(const struct folded_pair *pair, int task)
{
	return pair->helper ? helper_do(pair->helper, task) : -ECHILD;
}

int folded_pair_write(struct folded_pair *pair, const struct recording *recording,
		      const struct format_options *options, struct fpl_err *err)
{
	AUTO_FREE char *cfi = NULL;
	AUTO_FD int folder = -1;
	int error = write_one(&pair->cfi, recording, MERGE_CFI, options, err);

	if (!error)
		error = write_one(&pair->fp, recording, MERGE_FP, options, err);
	if (!error && pair->cfi.name) {
		cfi = strdup(pair->cfi.name);
		folder = fcntl(pair->cfi.folder_fd, F_DUPFD_CLOEXEC, 0);
		if (!cfi || folder < 0)
			error = fpl_fail(err, -ENOMEM, "out of memory or descriptors");
	}
	if (!error)
		error = output_file_commit(&pair->cfi, err);
	if (!error) {
		error = output_file_commit(&pair->fp, err);
		if (error && cfi && delegate(pair, pair->withdraw_task) == -ECHILD)
			unlinkat(folder, cfi, 0);
	}
	if (!error)
		free(TAKE_PTR(pair->made));
	folded_pair_abort(pair);
	return error;
}

void folded_pair_abort(struct folded_pair *pair)
{
	output_file_abort(&pair->cfi);
	output_file_abort(&pair->fp);
	if (pair->made && delegate(pair, pair->remove_task) == -ECHILD)
		remove_made(pair);
	free(pair->made);
	*pair = (struct folded_pair){ 0 };
}
