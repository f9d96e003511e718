/* The status line shows the rates of about the last second, not of the whole run: a ring of STATUS_WINDOW samples is
 * enough for that. The line is cut to the width of the terminal, because a line that wraps cannot be drawn over
 * itself. Write errors are ignored: the line is only for people. */
#include "cli/status.h"

#include "base/clock.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void status_init(struct status_line *line, int file)
{
	const char *terminal = getenv("TERM");
	bool capable = file >= 0 && isatty(file) && !(terminal && !strcmp(terminal, "dumb"));
	memset(line, 0, sizeof *line);
	line->file = capable ? file : -1;
}

static size_t status_terminal_columns(int file)
{
	struct winsize size;
	return !ioctl(file, TIOCGWINSZ, &size) && size.ws_col > 1 ? size.ws_col : 80;
}

/* Errors are ignored: the status line is not important. */
static void status_put(int file, const char *text)
{
	size_t count = strlen(text);
	while (count) {
		ssize_t written = write(file, text, count);
		if (written <= 0)
			return;
		text += written;
		count -= (size_t)written;
	}
}

static void status_add_busy(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct text *text = ctx;
	text_add(text, "  busy");
	for (uint32_t i = 0; i < snapshot->secondaries; i++)
		text_add(text, " %.0f%%", MIN(snapshot->busy[i], 1.0) * 100);
}

static void status_add_rates(struct status_line *line, const struct troupe_progress *progress, struct text *text)
{
	struct status_sample now = {clock_now_ns(), progress->steps, progress->time_s};
	struct status_sample *slot = &line->sample[line->samples % STATUS_WINDOW];
	const struct status_sample *oldest = line->samples < STATUS_WINDOW ? &line->sample[0] : slot;
	double passed_s = line->samples ? (double)(now.at_ns - oldest->at_ns) * 1e-9 : 0;
	if (passed_s > 0)
		text_add(text, "  rtf %.2f  %.0f steps/s", (now.time_s - oldest->time_s) / passed_s,
			(double)(now.steps - oldest->steps) / passed_s);
	*slot = now;
	line->samples++;
}

static void status_add_run(struct status_line *line, struct troupe_server *server,
	const struct troupe_progress *progress, struct text *text)
{
	text_add(text, "sim %.3f s", progress->time_s);
	status_add_rates(line, progress, text);
	text_add(text, "  levels %" PRIu64 "  moves %" PRIu64, progress->levels_loaded, progress->moves);
	troupe_server_snapshot(server, status_add_busy, text);
	text_add(text, progress->paused ? "  paused" : "");
}

void status_draw(struct status_line *line, struct troupe_server *server)
{
	if (line->file < 0)
		return;
	struct troupe_progress progress = troupe_server_progress(server);
	struct text text = {0};
	if (progress.awaited)
		text_add(&text, "%u of %u secondaries present", troupe_server_secondaries(server, 0) - progress.awaited,
			troupe_server_secondaries(server, 0));
	else
		status_add_run(line, server, &progress, &text);
	size_t columns = status_terminal_columns(line->file);
	if (text.count >= columns)
		text.at[columns - 1] = '\0'; /* the last column would wrap */
	struct text out = {0};
	text_add(&out, "\r%s\033[K", text.at);
	status_put(line->file, out.at);
	line->drawn = true;
	text_fini(&out);
	text_fini(&text);
}

void status_clear(struct status_line *line)
{
	if (atomic_exchange(&line->drawn, false))
		status_put(line->file, "\r\033[K");
}
