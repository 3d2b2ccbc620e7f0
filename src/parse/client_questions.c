/* SPDX-License-Identifier: Apache-2.0 */
/* The questions a client can be asked. */
#include "parse/client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "obj/file_stat.h"
#include "parse/client_state.h"

/* The flags of a question for the table of @file. */
static uint32_t table_flags(const struct client_file *file)
{
	return (file->synth ? PARSE_SYNTH : 0) | (file->synth_later ? PARSE_SYNTH_LATER : 0);
}

/* Makes a file of @facts, whose segments it frees. */
static int assemble(const struct client_file *file, struct answer_facts *facts,
		    struct elf_file **ret, struct fpl_err *err)
{
	const struct elf_facts elf_facts = {
		.type = facts->head.type,
		.machine = facts->head.machine,
		.entry = facts->head.entry,
		.segments = facts->segments,
		.nr_segments = facts->head.nr_segments,
		.build_id = facts->head.identity.build_id,
		.build_id_size = facts->head.identity.build_id_size,
	};
	int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0), code;

	if (fd < 0)
		code = fpl_fail(err, -errno, "%s: %s", file->path, strerror(errno));
	else
		code = elf_file_assemble(fd, file->size, file->path, &elf_facts, ret, err);
	free(facts->segments);
	return code;
}

static struct client_debugging debugging_of(const struct parse_facts *facts)
{
	return (struct client_debugging){ .alt_link = facts->alt_link,
					  .has_info = facts->has_debug_info };
}

int client_headers(struct parse_client *client, const struct client_file *file,
		   struct elf_file **ret, struct identity *ret_identity,
		   struct debug_link *ret_link, struct client_debugging *ret_debugging,
		   struct fpl_err *err)
{
	struct answer_facts facts;
	const struct question question = {
		.file = file,
		.op = PARSE_FACTS,
		.flags = ret_identity ? 0 : PARSE_NO_DIGEST,
		.ret = &facts,
	};
	int code = client_ask(client, &question, err);

	if (!code)
		code = assemble(file, &facts, ret, err);
	if (code)
		return code;
	if (ret_identity)
		*ret_identity = facts.head.identity;
	*ret_link = facts.head.link;
	*ret_debugging = debugging_of(&facts.head);
	return code;
}

int client_facts(struct parse_client *client, const struct client_file *file, struct elf_file **ret,
		 struct identity *ret_identity, struct debug_link *ret_link, struct fpl_err *err)
{
	struct client_debugging debugging;

	return client_headers(client, file, ret, ret_identity, ret_link, &debugging, err);
}

int client_facts_and_table(struct parse_client *client, const struct client_file *file,
			   struct elf_file **ret, struct identity *ret_identity,
			   struct debug_link *ret_link, struct client_debugging *ret_debugging,
			   struct table **ret_table, struct fpl_err *err)
{
	struct answer_facts facts;
	const struct question question = {
		.file = file,
		.op = PARSE_FACTS,
		.flags = PARSE_WITH_TABLE | table_flags(file),
		.ret = &facts,
		.table = ret_table,
	};
	int code;

	*ret_table = NULL;
	code = client_ask(client, &question, err);
	if (!code)
		code = assemble(file, &facts, ret, err);
	if (code) {
		table_destroy(TAKE_PTR(*ret_table));
		return code;
	}
	*ret_identity = facts.head.identity;
	*ret_link = facts.head.link;
	*ret_debugging = debugging_of(&facts.head);
	return 0;
}

int client_names_digest(struct parse_client *client, const struct client_file *file,
			uint8_t ret[IDENTITY_DIGEST_SIZE], struct fpl_err *err)
{
	const struct question question = { .file = file, .op = PARSE_NAMES_DIGEST, .ret = ret };

	return client_ask(client, &question, err);
}

int client_table(struct parse_client *client, const struct client_file *file, struct table **ret,
		 struct fpl_err *err)
{
	const struct question question = {
		.file = file,
		.op = PARSE_TABLE,
		.flags = table_flags(file),
		.vaddrs = file->near,
		.nr_vaddrs = file->nr_near,
		.ret = ret,
	};

	return client_ask(client, &question, err);
}

/* A file that may be a debug file, or the supplement of one. */
struct candidate {
	const char *path;
	bool beside; /* its place was chosen by whoever put the object where it is */
	int fd;	     /* owned */
	uint64_t size;
	struct trust trust;
};

static void candidate_fini(struct candidate *candidate)
{
	cleanup_fd(&candidate->fd);
}

/*
 * Opens @candidate for @file. The owner of the object may have chosen where the path leads: the
 * file is beside the object, or in a root of that owner's, and the object gives the name of its
 * debug file.
 */
static bool open_candidate(struct parse_client *client, const struct client_file *file,
			   struct candidate *candidate)
{
	AUTO_FD int path_fd = -1;
	struct stat st, own;

	const struct opener_path where = { .folder_fd = -1,
					   .path = candidate->path,
					   .is_trusted = true };
	const struct opener_wait wait = { client->pause, client->ctx };
	struct opener *opener = parser_opener(client->parser);

	if (opener_walk(opener, &where, &wait, &path_fd) ||
	    opener_take(opener, 0, path_fd, &candidate->fd, &st) ||
	    trust_read(candidate->fd, &candidate->trust) || file_stat(file->fd, &own, NULL))
		return false;
	if (st.st_dev == own.st_dev && st.st_ino == own.st_ino)
		return false;
	candidate->size = (uint64_t)st.st_size;
	if (candidate->beside ? trust_is_same_owner(&file->trust, &candidate->trust)
			      : trust_covers(&file->trust, &candidate->trust))
		return true;
	fpl_log(FPL_LOG_DEBUG, "%s: debug file %s is another user's", file->path, candidate->path);
	return false;
}

/* The file of @trust open at @fd, which belongs to @file, for questions about it alone. */
static struct client_file alone(const struct client_file *file, int fd, uint64_t size,
				const struct trust *trust)
{
	return (struct client_file){ .fd = fd,
				     .size = size,
				     .path = file->path,
				     .trust = *trust,
				     .debug_fd = -1,
				     .alt_fd = -1 };
}

/* Reads its headers. */
static bool read_head(struct parse_client *client, const struct client_file *file,
		      struct parse_facts *ret)
{
	struct answer_facts facts;
	const struct question question = {
		.file = file, .op = PARSE_FACTS, .flags = PARSE_NO_DIGEST, .ret = &facts
	};

	if (client_ask(client, &question, NULL))
		return false;
	free(facts.segments);
	*ret = facts.head;
	return true;
}

static bool has_crc(struct parse_client *client, const struct client_file *file, uint32_t want)
{
	uint32_t crc;
	const struct question question = { .file = file, .op = PARSE_CRC, .ret = &crc };

	return client_ask(client, &question, NULL) == 0 && crc == want;
}

static bool is_of_trust(const struct candidate *candidate, const struct client_file *file)
{
	return memcmp(&candidate->trust, &file->trust, sizeof(file->trust)) == 0;
}

/* The client for questions about @candidate alone; NULL without memory. */
static struct parse_client *checker_of(struct parse_client *client, const struct client_file *file,
				       const struct candidate *candidate)
{
	if (is_of_trust(candidate, file))
		return client;
	if (!client->checker && client_open(client->parser, &client->checker, NULL))
		return NULL;
	client->checker->pause = client->pause;
	client->checker->ctx = client->ctx;
	client->checker->calm = client->calm;
	return client->checker;
}

/*
 * debug_file_belongs() of a candidate of another trust than @file's, whose facts are @elf: the
 * worker of @file is not to see it before. @link: NULL where the CRC-32 may not decide.
 */
static bool belongs(struct parse_client *client, const struct client_file *file,
		    const struct elf_file *elf, const struct debug_link *link,
		    const struct candidate *candidate)
{
	const struct client_file debug =
		alone(file, candidate->fd, candidate->size, &candidate->trust);
	struct parse_client *checker = checker_of(client, file, candidate);
	struct parse_facts facts;

	if (!checker || !read_head(checker, &debug, &facts) || facts.machine != elf->machine)
		return false;
	if (facts.identity.build_id_size && elf->build_id_size)
		return facts.identity.build_id_size == elf->build_id_size &&
		       memcmp(facts.identity.build_id, elf->build_id, elf->build_id_size) == 0;
	return link && link->name[0] && has_crc(checker, &debug, link->crc);
}

/* The same of one of the same trust, which the worker of @file may see. */
static bool is_matched(struct parse_client *client, const struct client_file *file,
		       const struct candidate *candidate, bool by_link)
{
	struct fpl_err err = { 0 };
	struct client_file both = *file;

	both.debug_fd = candidate->fd;
	both.debug_size = candidate->size;

	const struct question question = { .file = &both,
					   .op = PARSE_MATCH,
					   .flags = by_link ? PARSE_BY_LINK : 0 };
	int code = client_ask(client, &question, &err);

	if (code)
		fpl_log(code == -EOWNERDEAD ? client->level : FPL_LOG_DEBUG,
			"%s: debug file %s not used", err.msg[0] ? err.msg : file->path,
			candidate->path);
	return !code;
}

void client_find_debug(struct parse_client *client, struct client_file *file,
		       const struct elf_file *elf, const struct debug_link *link,
		       char ret_path[PATH_MAX])
{
	const struct debug_search search = {
		.build_id = elf->build_id,
		.build_id_size = elf->build_id_size,
		.link = link,
		.path = file->path[0] != '[' ? file->path : NULL, /* [vdso] */
	};
	char path[PATH_MAX];

	file->debug_fd = -1;
	if (ret_path)
		ret_path[0] = '\0';
	for (size_t i = 0; i < DEBUG_FILE_CANDIDATES && file->debug_fd < 0; i++) {
		CLEANUP(candidate_fini)
		struct candidate candidate = { .path = path,
					       .beside = debug_file_is_beside(i),
					       .fd = -1 };

		if (!debug_file_candidate(&search, i, path) ||
		    !open_candidate(client, file, &candidate) ||
		    !(is_of_trust(&candidate, file)
			      ? is_matched(client, file, &candidate, i > 0)
			      : belongs(client, file, elf, i > 0 ? link : NULL, &candidate)))
			continue;
		file->debug_size = candidate.size;
		file->debug_fd = TAKE_FD(candidate.fd);
		if (ret_path)
			memcpy(ret_path, path, PATH_MAX);
	}
}

/* Is the file at @path the supplement that @link names? It is in @file then. */
static bool try_alt(struct parse_client *client, struct client_file *file,
		    const struct debug_alt_link *link, const char *path)
{
	CLEANUP(candidate_fini) struct candidate candidate = { .path = path, .fd = -1 };
	struct parse_facts facts;

	if (!open_candidate(client, file, &candidate))
		return false;

	const struct client_file alt = alone(file, candidate.fd, candidate.size, &candidate.trust);
	struct parse_client *checker = checker_of(client, file, &candidate);

	if (!checker || !read_head(checker, &alt, &facts) ||
	    facts.identity.build_id_size != link->build_id_size ||
	    memcmp(facts.identity.build_id, link->build_id, link->build_id_size) != 0)
		return false;
	file->alt_size = candidate.size;
	file->alt_fd = TAKE_FD(candidate.fd);
	return true;
}

/* The supplement that the debug file of @file names, or @file itself where it has none. */
static bool read_alt_link(struct parse_client *client, const struct client_file *file,
			  struct debug_alt_link *ret)
{
	bool has_debug = file->debug_fd >= 0;
	const struct client_file debug =
		alone(file, has_debug ? file->debug_fd : file->fd,
		      has_debug ? file->debug_size : file->size, &file->trust);
	struct parse_facts facts;

	if (!read_head(client, &debug, &facts))
		return false;
	*ret = facts.alt_link;
	return true;
}

void client_find_alt(struct parse_client *client, struct client_file *file,
		     const struct client_debugging *own)
{
	struct debug_alt_link link;
	char candidate[PATH_MAX];

	file->alt_fd = -1;
	if (own && file->debug_fd < 0)
		link = own->alt_link;
	else if (!read_alt_link(client, file, &link))
		return;
	if (!link.build_id_size)
		return;
	for (size_t i = 0; i < DEBUG_ALT_CANDIDATES; i++) {
		if (debug_alt_candidate(&link, NULL, i, candidate) &&
		    try_alt(client, file, &link, candidate))
			return;
	}
	fpl_log(FPL_LOG_DEBUG, "%s: the supplement of its debug file is not there: %s", file->path,
		link.name);
}

int client_names(struct parse_client *client, const struct client_file *file,
		 const uint64_t *vaddrs, size_t nr, struct symbol_places *ret, struct fpl_err *err)
{
	const struct question question = {
		.file = file,
		.op = PARSE_NAMES,
		.flags = client->mangled ? PARSE_MANGLED : 0,
		.vaddrs = vaddrs,
		.nr_vaddrs = nr,
		.ret = ret,
	};

	return client_ask(client, &question, err);
}

int client_data(struct parse_client *client, const struct client_file *file, const uint64_t *vaddrs,
		size_t nr, struct symbol_places *ret, struct fpl_err *err)
{
	const struct question question = {
		.file = file,
		.op = PARSE_NAMES,
		.flags = PARSE_DATA | (client->mangled ? PARSE_MANGLED : 0),
		.vaddrs = vaddrs,
		.nr_vaddrs = nr,
		.ret = ret,
	};

	return client_ask(client, &question, err);
}

int client_lines(struct parse_client *client, const struct client_file *file,
		 const uint64_t *vaddrs, size_t nr, struct symbol_chains *ret, struct fpl_err *err)
{
	const struct question question = {
		.file = file,
		.op = PARSE_LINES,
		.flags = client->mangled ? PARSE_MANGLED : 0,
		.vaddrs = vaddrs,
		.nr_vaddrs = nr,
		.ret = ret,
	};

	return client_ask(client, &question, err);
}

int client_listing(struct parse_client *client, const struct client_file *file, uint64_t vaddr,
		   bool intel, struct listing *ret, struct fpl_err *err)
{
	const struct question question = {
		.file = file,
		.op = PARSE_LISTING,
		.flags = (client->mangled ? PARSE_MANGLED : 0) | (intel ? PARSE_INTEL : 0),
		.vaddrs = &vaddr,
		.nr_vaddrs = 1,
		.ret = ret,
	};

	return client_ask(client, &question, err);
}

int client_frames(struct parse_client *client, const struct client_file *file,
		  const uint64_t *vaddrs, size_t nr, uint8_t *ret, struct fpl_err *err)
{
	const struct question question = {
		.file = file,
		.op = PARSE_FRAMES,
		.vaddrs = vaddrs,
		.nr_vaddrs = nr,
		.ret = ret,
	};

	return client_ask(client, &question, err);
}

static int ask_code(struct parse_client *client, struct question *question, struct code_table *ret,
		    struct code_file_result *ret_result, struct fpl_err *err)
{
	if (ret->max_bytes > PARSE_CODE_MAX)
		ret->max_bytes = PARSE_CODE_MAX;
	question->code_bytes = ret->max_bytes;
	question->ret = ret;
	question->code_result = ret_result;
	return client_ask(client, question, err);
}

int client_perf_map(struct parse_client *client, const struct client_file *file,
		    struct code_table *ret, struct code_file_result *ret_result,
		    struct fpl_err *err)
{
	struct question question = { .file = file, .op = PARSE_PERF_MAP };

	return ask_code(client, &question, ret, ret_result, err);
}

int client_jitdump(struct parse_client *client, const struct client_file *file, uint32_t own_pid,
		   struct code_table *ret, struct code_file_result *ret_result, struct fpl_err *err)
{
	struct question question = { .file = file, .op = PARSE_JITDUMP, .own_pid = own_pid };

	return ask_code(client, &question, ret, ret_result, err);
}

int client_jvm(struct parse_client *client, const struct client_file *file, uint64_t base,
	       struct hotspot *ret, struct fpl_err *err)
{
	const struct question question = {
		.file = file, .op = PARSE_JVM, .vaddrs = &base, .nr_vaddrs = 1, .ret = ret
	};

	return client_ask(client, &question, err);
}

int client_jvm_code(struct parse_client *client, const struct client_file *file, uint64_t base,
		    const uint64_t *asked, size_t nr_asked, struct code_table *ret,
		    struct code_file_result *ret_result, struct fpl_err *err)
{
	uint64_t vaddrs[1 + CLIENT_ASKED_MAX] = { base };
	size_t nr = nr_asked < CLIENT_ASKED_MAX ? nr_asked : CLIENT_ASKED_MAX;
	struct question question = {
		.file = file, .op = PARSE_JVM_CODE, .vaddrs = vaddrs, .nr_vaddrs = 1 + nr
	};

	if (nr)
		memcpy(vaddrs + 1, asked, nr * sizeof(*asked));

	return ask_code(client, &question, ret, ret_result, err);
}

int client_made(struct parse_client *client, const struct client_file *file,
		const struct made_question *asked, struct made_code *ret, struct fpl_err *err)
{
	uint64_t vaddrs[1 + ARRAY_SIZE(asked->bases) + ARRAY_SIZE(asked->bounds)];
	size_t nr_bases = asked->nr_bases;
	const struct question question = { .file = file,
					   .op = PARSE_MADE,
					   .flags = nr_bases ? PARSE_REGISTERED : 0,
					   .vaddrs = vaddrs,
					   .nr_vaddrs = 1 + nr_bases + 2 * asked->nr,
					   .ret = ret };

	vaddrs[0] = nr_bases ? nr_bases : asked->base;
	memcpy(vaddrs + 1, asked->bases, nr_bases * sizeof(*vaddrs));
	memcpy(vaddrs + 1 + nr_bases, asked->bounds, 2 * asked->nr * sizeof(*vaddrs));
	return client_ask(client, &question, err);
}

int client_examine(struct parse_client *client, const struct client_file *file,
		   struct examination *ret, struct fpl_err *err)
{
	const struct question question = { .file = file, .op = PARSE_EXAMINE, .ret = ret };

	return client_ask(client, &question, err);
}

int client_function(struct parse_client *client, const struct client_file *file, const char *name,
		    struct probe_sites *ret, struct fpl_err *err)
{
	const struct question question = {
		.file = file, .op = PARSE_FUNCTION, .text = name, .ret = ret
	};

	return client_ask(client, &question, err);
}

int client_probes(struct parse_client *client, const struct client_file *file,
		  struct probe_sites *ret, struct fpl_err *err)
{
	const struct question question = { .file = file, .op = PARSE_PROBES, .ret = ret };

	return client_ask(client, &question, err);
}

int client_script(struct parse_client *client, const struct client_file *file,
		  struct script_names *ret, struct fpl_err *err)
{
	const struct question question = { .file = file, .op = PARSE_SCRIPT, .ret = ret };

	return client_ask(client, &question, err);
}
