/* Commands come world by world, but in the file they are posted one after the other. A command to all worlds comes once
 * from each of them. So the lines of a step are collected: a copy of a line that is there already only moves the place
 * where the next lines of its world belong. Then each world finds its commands in the order in which it took them. A
 * world may come again, with commands that had to wait for one of their step.
 *
 * Lines are written when there are many, and after half a second, so that the file of a run that is killed lacks
 * little. */
#include "cli/commands_out.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { OUT_BYTES = 1 << 16 };
#define OUT_NS UINT64_C(500000000)

static const char commands_out_head[] =
	"# The commands of a run, with their steps: troupe run WORLD --commands FILE takes them again.\n";

static void commands_out_give_up(struct commands_out *out, const char *why)
{
	struct troupe_error text;
	(void)fail(&out->why, TROUPE_EIO, "%s: the commands end before step %" PRIu64, why, out->complete);
	(void)fail(&text, TROUPE_EIO, "%s, the run goes on", out->why.text);
	(void)outfile_close(&out->file);
	out->warn(out->ctx, text.text);
}

static void commands_out_write(struct commands_out *out)
{
	struct troupe_error text;
	int code = outfile_write(&out->file, out->out.at, out->out.count);
	out->out.count = 0;
	out->written_ns = clock_now_ns();
	if (!code) {
		out->complete = out->step + 1;
		return;
	}
	(void)fail(&text, TROUPE_EIO, "%s: cannot write: %s", out->path, outfile_why(code));
	commands_out_give_up(out, text.text);
}

static void commands_out_add_line(struct commands_out *out, const struct commands_out_line *line)
{
	text_add(&out->out, line->refused ? "# refused: %" PRIu64 " " : "%" PRIu64 " ", out->step);
	text_add_bytes(&out->out, line->text, strlen(line->text));
	text_add(&out->out, "\n");
}

/* Ends a step whose lines are complete. */
static void commands_out_end_step(struct commands_out *out)
{
	for (uint32_t i = 0; i < out->lines.count; i++) {
		commands_out_add_line(out, &out->lines.at[i]);
		free(out->lines.at[i].text);
	}
	out->lines.count = out->places.count = 0;
	if (out->out.count > OUT_BYTES || clock_now_ns() - out->written_ns > OUT_NS)
		commands_out_write(out);
}

void commands_out_begin(struct commands_out *out, outfile_urgency_fn urgency)
{
	struct troupe_error why;
	if (!out->path)
		return;
	if (outfile_open(&out->file, out->path, &(struct outfile_options){.urgency = urgency}, &why)) {
		commands_out_give_up(out, why.text);
		return;
	}
	text_add(&out->out, "%s", commands_out_head);
	out->written_ns = clock_now_ns();
}

/* The text of a command that was refused before it was read as a message may have any bytes. */
static char *commands_out_make_text(const struct troupe_taken *taken)
{
	char *text = mem_printf("%s%s%s", taken->topic, *taken->text ? " " : "", taken->text);
	for (char *at = text; *at; at++)
		if ((unsigned char)*at < 0x20)
			*at = ' ';
	return text;
}

/* Usually the copy is the next line: all worlds take their copies in one order. */
static bool commands_out_find_copy(const struct commands_out *out, uint32_t world, uint64_t copy, uint32_t *ret_at)
{
	uint32_t count = world ? out->lines.count : 0;
	for (uint32_t i = 0; copy && i < count; i++) {
		uint32_t at = (out->places.at[world] + i) % count;
		if (out->lines.at[at].copy != copy)
			continue;
		*ret_at = at;
		return true;
	}
	return false;
}

static void commands_out_insert(struct commands_out *out, const struct troupe_taken *taken)
{
	uint32_t place = out->places.at[taken->world];
	(void)vec_append(&out->lines, 1);
	struct commands_out_line *at = &out->lines.at[place];
	memmove(at + 1, at, (out->lines.count - 1 - place) * sizeof *at);
	*at = (struct commands_out_line){taken->copy, taken->refused, commands_out_make_text(taken)};
	for (uint32_t w = 0; w < out->places.count; w++)
		out->places.at[w] += out->places.at[w] > place || w == taken->world;
}

void commands_out_take(struct commands_out *out, const struct troupe_taken *taken)
{
	uint32_t at;
	if (!outfile_is_open(&out->file) || taken->saved)
		return;
	if (taken->step != out->step)
		commands_out_end_step(out);
	if (!outfile_is_open(&out->file))
		return;
	out->step = taken->step;
	while (out->places.count <= taken->world)
		vec_push(&out->places, 0);
	if (commands_out_find_copy(out, taken->world, taken->copy, &at)) {
		out->lines.at[at].refused &= taken->refused;
		out->places.at[taken->world] = MAX(out->places.at[taken->world], at + 1);
	} else {
		commands_out_insert(out, taken);
	}
}

troupe_status commands_out_end(struct commands_out *out, struct troupe_error *error)
{
	if (outfile_is_open(&out->file)) {
		commands_out_end_step(out);
		if (outfile_is_open(&out->file))
			commands_out_write(out);
	}
	int code = outfile_close(&out->file);
	if (code && !out->why.status)
		(void)fail(&out->why, TROUPE_EIO, "%s: cannot write: %s: the commands end before step %" PRIu64,
			out->path, outfile_why(code), out->complete);
	return out->why.status ? fail(error, out->why.status, "%s", out->why.text) : TROUPE_OK;
}

void commands_out_fini(struct commands_out *out)
{
	(void)outfile_close(&out->file);
	for (uint32_t i = 0; i < out->lines.count; i++)
		free(out->lines.at[i].text);
	vec_free(&out->lines);
	vec_free(&out->places);
	text_fini(&out->out);
}
