/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversation with workers that lie. The input is a list of turns: what is asked, and what the
 * worker at the client says then, in messages, after any of which it may be silent, end or be
 * killed. What it says beyond an answer it has said when it is asked again. Judged: what is handed
 * on holds together (tests/support/answer_judge.h), a failure says why, a worker gets no descriptor
 * but those of files of its trust, one that made no sense is asked nothing more and blamed, each is
 * buried once, and no descriptor is left.
 *
 * The functions of parse/parser.h are the target's own, and so is poll(2): nothing waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/io.h"
#include "parse/client.h"
#include "base/wire.h"
#include "tests/support/answer_judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_poll(struct pollfd *fds, nfds_t nr, int timeout);
int __real_poll(struct pollfd *fds, nfds_t nr, int timeout);

enum { TURNS_MAX = 16, CODE_BYTES = 65536, NOBODY = INT_MAX, FIND_DEBUG = PARSE_OP_COUNT };

/* Files of three trusts; that of the last has a debug file beside it. */
enum { NR_FILES = 3, DEBUG_FILE = NR_FILES };

/* Ends of a message. */
enum { GOES_ON, IS_SILENT, ENDS, IS_KILLED, FAULTS, NR_ENDS };

static struct {
	struct cursor script;
	unsigned nr_messages; /* left of this turn */
	int peer;	      /* the worker's end of the socket; -1: there is no worker */
	int status;	      /* as wait(2) says it */
	size_t file;	      /* those of its trust are for it to see */
	unsigned nr_blamed;
} liar = { .peer = -1 };

static struct {
	char folder[32], path[64], debug_path[64];
	int fds[NR_FILES];
	struct trust trusts[NR_FILES];
	ino_t inodes[NR_FILES + 1];
} files;

static void remove_files(void)
{
	unlink(files.path);
	unlink(files.debug_path);
	rmdir(files.folder);
}

static int make_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	REQUIRE(fd >= 0 && !io_write(fd, "file", 4));
	return fd;
}

static ino_t inode_of(int fd)
{
	struct stat st;

	REQUIRE(!fstat(fd, &st));
	return st.st_ino;
}

static void make_files(void)
{
	snprintf(files.folder, sizeof(files.folder), "/tmp/fuzz_client.XXXXXX");
	REQUIRE(mkdtemp(files.folder));
	snprintf(files.path, sizeof(files.path), "%s/it", files.folder);
	snprintf(files.debug_path, sizeof(files.debug_path), "%s/it.debug", files.folder);
	atexit(remove_files);

	int debug = make_file(files.debug_path);

	files.inodes[DEBUG_FILE] = inode_of(debug);
	close(debug);
	for (size_t i = 0; i < NR_FILES; i++) {
		files.fds[i] = i + 1 < NR_FILES ? memfd_create("fuzz", MFD_CLOEXEC)
						: make_file(files.path);
		REQUIRE(files.fds[i] >= 0 && !trust_read(files.fds[i], &files.trusts[i]));
		files.inodes[i] = inode_of(files.fds[i]);
	}
}

int parser_hire(struct parser *parser, const struct trust *trust, bool calm, int *ret_sock,
		pid_t *ret_pid, struct fpl_err *err)
{
	int socks[2];

	(void)parser, (void)calm;
	REQUIRE(liar.peer < 0);
	if (liar.nr_blamed > TURNS_MAX)
		return fpl_fail(err, -EAGAIN, "too many");
	REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks));
	for (liar.file = 0; memcmp(&files.trusts[liar.file], trust, sizeof(*trust)) != 0;)
		REQUIRE(++liar.file < NR_FILES);
	liar.peer = socks[0];
	liar.status = 0;
	*ret_sock = socks[1];
	*ret_pid = NOBODY;
	return 0;
}

int parser_bury(struct parser *parser, pid_t pid)
{
	(void)parser;
	REQUIRE(liar.peer >= 0 && pid == NOBODY);
	close(liar.peer);
	liar.peer = -1;
	return liar.status;
}

void parser_leave(struct parser *parser, pid_t pid)
{
	parser_bury(parser, pid);
}

/* All files of the fuzzer are opened here. */
struct opener *parser_opener(const struct parser *parser)
{
	(void)parser;
	return NULL;
}

void parser_tell_kept(struct parser *parser)
{
	(void)parser;
}

void parser_blame(struct parser *parser, const struct trust *trust)
{
	(void)parser, (void)trust;
	liar.nr_blamed++;
}

static void check_given(int fd)
{
	bool is_own = inode_of(fd) == files.inodes[liar.file];

	REQUIRE(is_own || (liar.file == NR_FILES - 1 && inode_of(fd) == files.inodes[DEBUG_FILE]));
	close(fd);
}

/* The worker takes what it is sent. */
static void listen_to_client(void)
{
	char bytes[4096], control[CMSG_SPACE(WIRE_FDS_MAX * sizeof(int))];
	struct iovec part = { bytes, sizeof(bytes) };
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control };

	for (;;) {
		msg.msg_controllen = sizeof(control);
		if (recvmsg(liar.peer, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0)
			return;

		const struct cmsghdr *header = CMSG_FIRSTHDR(&msg);
		size_t nr = header ? (header->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;

		for (size_t i = 0; i < nr; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(header) + i * sizeof(fd), sizeof(fd));
			check_given(fd);
		}
	}
}

static void end_worker(int status)
{
	liar.status = status;
	shutdown(liar.peer, SHUT_RDWR);
}

/* The worker's next message. A worker without a further one in this turn ends. */
static unsigned speak(void)
{
	listen_to_client();
	if (!liar.nr_messages) {
		end_worker(0);
		return ENDS;
	}
	liar.nr_messages--;

	unsigned end = cursor_u8(&liar.script) % NR_ENDS;
	size_t size = cursor_u16(&liar.script), left = cursor_left(&liar.script);
	const uint8_t *bytes = cursor_skip(&liar.script, size < left ? size : left);

	(void)!send(liar.peer, bytes, size < left ? size : left, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (end == ENDS || end == IS_KILLED || end == FAULTS)
		end_worker(end == ENDS ? 0 : end == IS_KILLED ? SIGKILL : SIGSEGV);
	return end;
}

/* The client waits for its worker, which acts now. */
int __wrap_poll(struct pollfd *fds, nfds_t nr, int timeout)
{
	(void)timeout;
	REQUIRE(liar.peer >= 0);
	if (speak() == IS_SILENT)
		return 0;
	return __real_poll(fds, nr, 0);
}

static void cancel(void *ctx)
{
	client_cancel(ctx);
}

static int ask_facts(struct parse_client *client, const struct client_file *file,
		     struct fpl_err *err)
{
	struct identity identity;
	struct debug_link link;
	struct elf_file *elf;
	int code = client_facts(client, file, &elf, &identity, &link, err);

	if (code)
		return code;
	judge_elf(elf);
	judge_link(&link);
	elf_file_close(elf);
	return 0;
}

static int ask_table(struct parse_client *client, const struct client_file *file,
		     struct fpl_err *err)
{
	struct table *table;
	int code = client_table(client, file, &table, err);

	if (code)
		return code;
	judge_table(table);
	table_destroy(table);
	return 0;
}

static int ask_names(struct parse_client *client, const struct client_file *file,
		     const uint64_t *vaddrs, size_t nr, struct fpl_err *err)
{
	struct symbol_places places;
	int code = client_names(client, file, vaddrs, nr, &places, err);

	if (code)
		return code;
	judge_names(&places, vaddrs, nr);
	free(places.places);
	free(places.text);
	return 0;
}

static int ask_lines(struct parse_client *client, const struct client_file *file,
		     const uint64_t *vaddrs, size_t nr, struct fpl_err *err)
{
	struct symbol_chains chains;
	int code = client_lines(client, file, vaddrs, nr, &chains, err);

	if (code)
		return code;
	judge_lines(&chains, nr);
	symbol_chains_fini(&chains);
	return 0;
}

static int ask_probes(struct parse_client *client, const struct client_file *file, const char *name,
		      struct fpl_err *err)
{
	struct probe_sites sites;
	int code = name ? client_function(client, file, name, &sites, err)
			: client_probes(client, file, &sites, err);

	if (code)
		return code;
	judge_probes(&sites);
	probe_sites_fini(&sites);
	return 0;
}

static int ask_listing(struct parse_client *client, const struct client_file *file, uint64_t vaddr,
		       struct fpl_err *err)
{
	struct listing listing;
	int code = client_listing(client, file, vaddr, false, &listing, err);

	if (code)
		return code;
	judge_listing(&listing, vaddr);
	listing_fini(&listing);
	return 0;
}

static int ask_frames(struct parse_client *client, const struct client_file *file,
		      const uint64_t *vaddrs, size_t nr, struct fpl_err *err)
{
	uint8_t frames[UINT8_MAX + 1];
	int code = client_frames(client, file, vaddrs, nr, frames, err);

	if (!code)
		judge_frames(frames, nr);
	return code;
}

static int ask_code(struct parse_client *client, const struct client_file *file, unsigned op,
		    struct fpl_err *err)
{
	struct code_file_result result;
	struct code_table table;
	int code;

	code_table_init(&table, CODE_BYTES);
	if (op == PARSE_JVM_CODE)
		code = client_jvm_code(client, file, 0x1000, NULL, 0, &table, &result, err);
	else
		code = op == PARSE_JITDUMP ? client_jitdump(client, file, 1, &table, &result, err)
					   : client_perf_map(client, file, &table, &result, err);
	if (!code)
		judge_code(&table, &result);
	code_table_fini(&table);
	return code;
}

static int ask_jvm(struct parse_client *client, const struct client_file *file, struct fpl_err *err)
{
	struct hotspot hotspot;
	int code = client_jvm(client, file, 0x1000, &hotspot, err);

	REQUIRE(code || hotspot_check(&hotspot));
	return code;
}

static int ask_made(struct parse_client *client, const struct client_file *file,
		    const uint64_t *vaddrs, size_t nr, struct fpl_err *err)
{
	struct made_question asked = { .base = nr & 1 ? vaddrs[0] : 0, .nr = nr / 2 };
	struct made_code made;
	int code;

	if (asked.nr > MADE_RANGES_MAX)
		asked.nr = MADE_RANGES_MAX;
	if (nr & 2)
		asked.bases[asked.nr_bases++] = vaddrs[0];
	memcpy(asked.bounds, vaddrs, 2 * asked.nr * sizeof(*vaddrs));
	code = client_made(client, file, &asked, &made, err);
	REQUIRE(code || made_code_check(&made));
	return code;
}

static int ask_script(struct parse_client *client, const struct client_file *file,
		      struct fpl_err *err)
{
	struct script_names names;
	int code = client_script(client, file, &names, err);

	if (!code) {
		REQUIRE(script_names_check(&names));
		script_names_fini(&names);
	}
	return code;
}

static int ask_examination(struct parse_client *client, const struct client_file *file,
			   struct fpl_err *err)
{
	struct examination found;
	int code = client_examine(client, file, &found, err);

	if (!code)
		judge_examination(&found);
	return code;
}

/* The search ends with the debug file, or with none. */
static void find_debug(struct parse_client *client, struct client_file *file)
{
	const struct debug_link link = { .name = "it.debug" };
	struct elf_facts facts = { .nr_segments = 0 };
	struct elf_file *elf;
	char path[PATH_MAX];

	REQUIRE(!elf_file_assemble(-1, 1, "fuzz", &facts, &elf, NULL));
	client_find_debug(client, file, elf, &link, path);
	REQUIRE((file->debug_fd >= 0) == !!*path);
	if (file->debug_fd >= 0) {
		REQUIRE(inode_of(file->debug_fd) == files.inodes[DEBUG_FILE]);
		REQUIRE(!strcmp(path, files.debug_path));
		close(file->debug_fd);
		file->debug_fd = -1;
	}
	client_find_alt(client, file, NULL);
	REQUIRE(file->alt_fd < 0);
	elf_file_close(elf);
}

static int ask(struct parse_client *client, unsigned op, struct client_file *file, size_t nr,
	       struct fpl_err *err)
{
	uint64_t vaddrs[UINT8_MAX + 1];
	uint8_t digest[IDENTITY_DIGEST_SIZE];

	vaddrs[0] = 0x1000;
	for (size_t i = 0; i < nr; i++)
		vaddrs[i] = 0x1000 + 16 * i;
	switch (op) {
	case PARSE_FACTS:
		return ask_facts(client, file, err);
	case PARSE_TABLE:
		return ask_table(client, file, err);
	case PARSE_NAMES:
		return ask_names(client, file, vaddrs, nr, err);
	case PARSE_LINES:
		return ask_lines(client, file, vaddrs, nr, err);
	case PARSE_LISTING:
		return ask_listing(client, file, vaddrs[0], err);
	case PARSE_FUNCTION:
	case PARSE_PROBES:
		return ask_probes(client, file, op == PARSE_FUNCTION ? "malloc" : NULL, err);
	case PARSE_FRAMES:
		return ask_frames(client, file, vaddrs, nr, err);
	case PARSE_PERF_MAP:
	case PARSE_JITDUMP:
	case PARSE_JVM_CODE:
		return ask_code(client, file, op, err);
	case PARSE_JVM:
		return ask_jvm(client, file, err);
	case PARSE_MADE:
		return ask_made(client, file, vaddrs, nr, err);
	case PARSE_EXAMINE:
		return ask_examination(client, file, err);
	case PARSE_SCRIPT:
		return ask_script(client, file, err);
	case PARSE_NAMES_DIGEST:
		return client_names_digest(client, file, digest, err);
	default:
		find_debug(client, file);
		return 0;
	}
}

static void take_turn(struct parse_client *client)
{
	unsigned op = cursor_u8(&liar.script) % (FIND_DEBUG + 1);
	size_t nr = cursor_u8(&liar.script);
	unsigned flags = cursor_u8(&liar.script), blamed = liar.nr_blamed;
	size_t idx = (flags & 3) % NR_FILES;
	struct fpl_err err = { 0 };
	struct client_file file = { .fd = files.fds[idx],
				    .size = 4,
				    .path = files.path,
				    .trust = files.trusts[idx],
				    .debug_fd = -1,
				    .alt_fd = -1 };

	liar.nr_messages = flags >> 4;
	client_on_pause(client, flags & 8 ? cancel : NULL, client);

	int code = ask(client, op, &file, nr, &err);

	REQUIRE(code <= 0 && (!code || (*err.msg && err.code == code)));
	/* one that made no sense */
	REQUIRE(code != -EBADMSG);
	REQUIRE(liar.nr_blamed == blamed || liar.peer < 0 || op >= PARSE_OP_COUNT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct parse_client *client;

	if (!*files.folder)
		make_files();

	int before = dup(0);

	REQUIRE(before >= 0);
	close(before);
	REQUIRE(!client_open(NULL, &client, NULL));
	client_hush(client);
	liar.script = cursor_make(data, size);
	liar.nr_blamed = 0;
	if (cursor_u8(&liar.script) & 1)
		client_keep(client);
	for (int i = 0; i < TURNS_MAX && !liar.script.bad && cursor_left(&liar.script); i++)
		take_turn(client);
	client_close(client);
	REQUIRE(liar.peer < 0);

	int after = dup(0);

	REQUIRE(after == before);
	close(after);
	return 0;
}
