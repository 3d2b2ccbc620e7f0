/* SPDX-License-Identifier: Apache-2.0 */
#include "top/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <ncursesw/curses.h>
#include <ncursesw/term.h>
#undef columns /* macros of it */
#undef lines

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"

#define LOG_MAX	  65536u /* bytes of what is logged meanwhile that are kept: the first ones */
#define ESCAPE_MS 50	 /* between the bytes of one key */

struct screen {
	SCREEN *terminal;
	struct sigaction before[3]; /* as of caught[] */
	attr_t styles[PAGE_STYLE_COUNT];
	bool gone;

	pthread_mutex_t lock; /* for: */
	char *log;	      /* owned [log_size] */
	size_t log_size;
	char last[256];
};

/*
 * A signal has no argument that would lead to the screen. The descriptor is there while the
 * handlers are.
 */
static const int caught[3] = { SIGWINCH, SIGHUP, SIGTSTP };
static atomic_int came[3];
static int wake_fd = -1;

static void on_signal(int number)
{
	uint64_t one = 1;
	int error = errno;

	for (size_t i = 0; i < ARRAY_SIZE(caught); i++) {
		if (caught[i] == number)
			came[i] = 1;
	}
	(void)!write(wake_fd, &one, sizeof(one));
	errno = error;
}

bool screen_is_possible(void)
{
	const char *term = getenv("TERM");
	int error = 0;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !term || !*term ||
	    setupterm(term, STDOUT_FILENO, &error) != OK || error != 1)
		return false;

	const char *move = tigetstr("cup");
	bool possible = move && move != (const char *)-1 && *move;

	del_curterm(cur_term);
	return possible;
}

/* The writer of the log. */
static void keep_log(void *ctx, const char *line, size_t size)
{
	struct screen *screen = ctx;

	pthread_mutex_lock(&screen->lock);
	if (screen->log_size + size <= LOG_MAX) {
		memcpy(screen->log + screen->log_size, line, size);
		screen->log_size += size;
	}
	snprintf(screen->last, sizeof(screen->last), "%.*s", (int)(size - 1), line);
	pthread_mutex_unlock(&screen->lock);
}

void screen_last_log(struct screen *screen, char *buf, size_t size)
{
	pthread_mutex_lock(&screen->lock);
	snprintf(buf, size, "%s", screen->last);
	pthread_mutex_unlock(&screen->lock);
}

static void choose_styles(struct screen *screen, bool colour)
{
	attr_t *styles = screen->styles;

	styles[PAGE_STYLE_TITLE] = A_BOLD;
	styles[PAGE_STYLE_COLUMNS] = A_REVERSE;
	styles[PAGE_STYLE_HEADING] = A_BOLD;
	styles[PAGE_STYLE_SELECTED] = A_REVERSE | A_BOLD;
	styles[PAGE_STYLE_HOT] = A_BOLD;
	styles[PAGE_STYLE_STATUS] = A_DIM;
	if (!colour || !has_colors() || start_color() == ERR || use_default_colors() == ERR)
		return;
	init_pair(1, COLOR_RED, -1);
	init_pair(2, COLOR_YELLOW, -1);
	init_pair(3, COLOR_CYAN, -1);
	styles[PAGE_STYLE_HOT] = A_BOLD | (attr_t)COLOR_PAIR(1);
	styles[PAGE_STYLE_WARM] = (attr_t)COLOR_PAIR(2);
	styles[PAGE_STYLE_KERNEL] = (attr_t)COLOR_PAIR(3);
}

/* Handlers are there before ncurses looks: it leaves them alone then. One that is ignored stays so,
 * but for what this program must know. */
static void catch_signals(struct screen *screen)
{
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	for (size_t i = 0; i < ARRAY_SIZE(caught); i++) {
		came[i] = 0;
		sigaction(caught[i], NULL, &screen->before[i]);
		if (screen->before[i].sa_handler != SIG_IGN)
			sigaction(caught[i], &action, NULL);
	}
}

static void release_signals(const struct screen *screen)
{
	for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
		sigaction(caught[i], &screen->before[i], NULL);
}

static int open_terminal(struct screen *screen, bool colour, struct fpl_err *err)
{
	screen->terminal = newterm(NULL, stdout, stdin);
	if (!screen->terminal)
		return fpl_fail(err, -ENOTTY, "TERM=%s: cannot be drawn on", getenv("TERM"));
	raw();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	choose_styles(screen, colour);
	return 0;
}

int screen_open(bool colour, struct screen **ret, struct fpl_err *err)
{
	struct screen *screen = calloc(1, sizeof(*screen));

	if (!screen)
		return fpl_fail(err, -ENOMEM, "screen: out of memory");
	pthread_mutex_init(&screen->lock, NULL);
	screen->log = malloc(LOG_MAX);
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	int code = !screen->log	 ? fpl_fail(err, -ENOMEM, "screen: out of memory")
		   : wake_fd < 0 ? fpl_fail(err, -errno, "eventfd: %s", strerror(errno))
				 : 0;

	if (!code) {
		catch_signals(screen);
		code = open_terminal(screen, colour, err);
		if (code)
			release_signals(screen);
	}
	if (code) {
		cleanup_fd(&wake_fd);
		wake_fd = -1;
		free(screen->log);
		pthread_mutex_destroy(&screen->lock);
		free(screen);
		return code;
	}
	fpl_log_set_writer(keep_log, screen);
	*ret = screen;
	return 0;
}

void screen_close(struct screen *screen)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen->terminal);
	release_signals(screen);
	cleanup_fd(&wake_fd);
	wake_fd = -1;
	fpl_log_set_writer(NULL, NULL);
	(void)!io_write(STDERR_FILENO, screen->log, screen->log_size);
	free(screen->log);
	pthread_mutex_destroy(&screen->lock);
	free(screen);
}

void screen_size(const struct screen *screen, size_t *ret_columns, size_t *ret_lines)
{
	int lines, columns;

	(void)screen;
	getmaxyx(stdscr, lines, columns);
	*ret_columns = columns > 1 ? (size_t)columns : 1;
	*ret_lines = lines > 1 ? (size_t)lines : 1;
}

void screen_draw(struct screen *screen, const struct page *page)
{
	bool typing = page->cursor_column > 0;

	if (screen->gone)
		return;
	erase();
	for (size_t i = 0; i < page->lines.nr; i++) {
		const struct page_line *line = &page->lines.list[i];

		attrset((int)screen->styles[line->share_style]);
		mvaddnstr((int)i, 0, line->text, (int)line->share_bytes);
		attrset((int)screen->styles[line->style]);
		addstr(line->text + line->share_bytes);
	}
	attrset(A_NORMAL);
	curs_set(typing);
	if (typing)
		move((int)page->cursor_line, (int)page->cursor_column);
	refresh();
}

void screen_wait(struct screen *screen, int fd)
{
	struct pollfd fds[3] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = wake_fd, .events = POLLIN },
		{ .fd = screen->gone ? -1 : STDIN_FILENO, .events = POLLIN },
	};
	uint64_t count;

	if (poll(fds, ARRAY_SIZE(fds), -1) <= 0)
		return;
	if (fds[1].revents)
		(void)!read(wake_fd, &count, sizeof(count));
	if (fds[2].revents & (POLLHUP | POLLERR | POLLNVAL))
		came[1] = 1;
}

static void follow_size(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
}

static int key_of(int key)
{
	switch (key) {
	case KEY_UP:
		return CONTROL_KEY_UP;
	case KEY_DOWN:
		return CONTROL_KEY_DOWN;
	case KEY_LEFT:
		return CONTROL_KEY_LEFT;
	case KEY_RIGHT:
		return CONTROL_KEY_RIGHT;
	case KEY_PPAGE:
		return CONTROL_KEY_PAGE_UP;
	case KEY_NPAGE:
		return CONTROL_KEY_PAGE_DOWN;
	case KEY_HOME:
		return CONTROL_KEY_HOME;
	case KEY_END:
		return CONTROL_KEY_END;
	case KEY_ENTER:
	case '\r':
	case '\n':
		return CONTROL_KEY_ENTER;
	case KEY_BACKSPACE:
	case '\b':
	case 0x7f:
		return CONTROL_KEY_BACKSPACE;
	case 0x1b:
		return CONTROL_KEY_ESCAPE;
	default:
		return key;
	}
}

enum screen_event screen_next(struct screen *screen, int *ret_key)
{
	static const enum screen_event events[3] = { SCREEN_RESIZED, SCREEN_GONE, SCREEN_SUSPEND };

	for (size_t i = 0; i < ARRAY_SIZE(caught); i++) {
		if (!came[i])
			continue;
		came[i] = 0;
		if (events[i] == SCREEN_RESIZED)
			follow_size();
		if (events[i] == SCREEN_GONE)
			screen->gone = true;
		return events[i];
	}
	if (screen->gone)
		return SCREEN_NOTHING;

	int key = getch();

	if (key == ERR)
		return SCREEN_NOTHING;
	*ret_key = key_of(key);
	/* the reader wants all of it anew */
	if (key == ('l' & 0x1f))
		clearok(curscr, TRUE);
	return SCREEN_KEY;
}

void screen_suspend(struct screen *screen, bool group)
{
	const struct sigaction stop = { .sa_handler = SIG_DFL };
	struct sigaction ours;

	if (screen->gone || screen->before[2].sa_handler == SIG_IGN)
		return;
	endwin();
	sigaction(SIGTSTP, &stop, &ours);
	kill(group ? 0 : getpid(), SIGTSTP);
	/* and here it goes on */
	sigaction(SIGTSTP, &ours, NULL);
	follow_size();
	clearok(curscr, TRUE);
	refresh();
}
