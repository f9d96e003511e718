/* Parts are printed in the order in which they were added, so the same seed gives the same bytes. A dropped part prints
 * nothing, and neither do its children: a scenario can therefore be made smaller without knowing what a part means. */
#include "base/infile.h"
#include "part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *scenario_kind_name(enum scenario_kind kind)
{
	static const char *const names[] = {
		[KIND_MIXED] = "mixed",
		[KIND_LEVELS] = "levels",
		[KIND_JOINTS] = "joints",
		[KIND_PILE] = "pile",
		[KIND_EDITS] = "edits",
		[KIND_SLEEP] = "sleep",
		[KIND_RESET] = "reset",
		[KIND_FLOOR] = "floor",
		[KIND_TIED] = "tied",
		[KIND_HIT] = "hit",
		[KIND_SYSTEMS] = "systems",
		[KIND_END] = NULL,
	};
	return names[kind];
}

static void free_lists(struct part *part)
{
	for (uint32_t i = 0; part && i < part->children.count; i++)
		free_lists(part->children.at[i]);
	if (part)
		vec_free(&part->children);
}

void scenario_fini(struct scenario *scenario)
{
	free_lists(scenario->world);
	free_lists(scenario->commands);
	for (uint32_t i = 0; i < scenario->files.count; i++)
		free_lists(scenario->files.at[i].part);
	vec_free(&scenario->files);
	vec_free(&scenario->performers);
	arena_fini(&scenario->arena);
	*scenario = (struct scenario){0};
}

struct part *part_add(
	struct arena *arena, struct part *parent, enum part_kind kind, const char *after, const char *format, ...)
{
	struct part *part = arena_new(arena, struct part);
	char buffer[2048];
	va_list args;
	va_start(args, format);
	int count = vsnprintf(buffer, sizeof buffer, format, args);
	va_end(args);
	if (count < 0 || (size_t)count >= sizeof buffer)
		abort();
	part->kind = kind;
	part->before = arena_strdup(arena, buffer);
	part->after = after;
	if (parent)
		vec_push(&parent->children, part);
	return part;
}

void part_print(const struct part *part, struct text *out)
{
	if (part->dropped)
		return;
	text_add(out, "%s", part->before);
	for (uint32_t i = 0; i < part->children.count; i++)
		part_print(part->children.at[i], out);
	if (part->after)
		text_add(out, "%s", part->after);
}

void part_sort_commands(struct part *commands)
{
	for (uint32_t i = 1; i < commands->children.count; i++) {
		struct part *part = commands->children.at[i];
		uint32_t k = i;
		for (; k > 0 && commands->children.at[k - 1]->step > part->step; k--)
			commands->children.at[k] = commands->children.at[k - 1];
		commands->children.at[k] = part;
	}
}

void scenario_options(const struct scenario *scenario, struct text *out)
{
	if (scenario->sleepless)
		text_add(out, " --no-sleep");
	if (scenario->senses)
		text_add(out, " --sense-all");
	if (scenario->paused)
		text_add(out, " --paused");
	if (scenario->initial_time_s > 0)
		text_add(out, " --initial-sim-time %g", scenario->initial_time_s);
}

static void die(const char *path)
{
	perror(path);
	exit(2);
}

static void write_bytes(const char *folder, const char *name, const char *bytes, size_t count)
{
	char *path = mem_printf("%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	if (!file || fwrite(bytes, 1, count, file) != count || fclose(file))
		die(path);
	free(path);
}

static void write_part(const char *folder, const char *name, const struct part *part)
{
	struct text text = {0};
	part_print(part, &text);
	write_bytes(folder, name, text.at ? text.at : "", text.count);
	text_fini(&text);
}

static void remove_file(const char *folder, const char *name)
{
	char *path = mem_printf("%s/%s", folder, name);
	(void)unlink(path);
	free(path);
}

static void copy_file(const char *source_dir, const char *folder, const struct scenario_file *file)
{
	enum { BYTES_MAX = 1 << 24 };
	char *path = mem_printf("%s/%s", source_dir, file->copy_of), *bytes;
	size_t count;
	if (infile_read(path, BYTES_MAX, &bytes, &count, NULL))
		die(path);
	write_bytes(folder, file->name, bytes, count);
	free(bytes);
	free(path);
}

/* A file is written only if a part that is left names it. */
void scenario_write(const struct scenario *scenario, const char *source_dir, const char *folder)
{
	struct text all = {0};
	part_print(scenario->world, &all);
	part_print(scenario->commands, &all);
	for (uint32_t i = 0; i < scenario->files.count; i++)
		if (scenario->files.at[i].part)
			part_print(scenario->files.at[i].part, &all);
	write_part(folder, "world.sdf", scenario->world);
	write_part(folder, "commands", scenario->commands);
	for (uint32_t i = 0; i < scenario->files.count; i++) {
		const struct scenario_file *file = &scenario->files.at[i];
		if (!strstr(all.at, file->name))
			remove_file(folder, file->name);
		else if (file->part)
			write_part(folder, file->name, file->part);
		else
			copy_file(source_dir, folder, file);
	}
	text_fini(&all);
}

void scenario_write_halves(const struct scenario *scenario, const char *folder, uint64_t step)
{
	struct text before = {0}, after = {0};
	text_add(&before, "%s", "");
	text_add(&after, "%s", "");
	for (uint32_t i = 0; i < scenario->commands->children.count; i++) {
		const struct part *command = scenario->commands->children.at[i];
		part_print(command, command->step < step ? &before : &after);
	}
	write_bytes(folder, "commands.before", before.at, before.count);
	write_bytes(folder, "commands.after", after.at, after.count);
	text_fini(&before);
	text_fini(&after);
}

void scenario_write_text(const char *folder, const char *name, const struct text *text)
{
	write_bytes(folder, name, text->at ? text->at : "", text->count);
}

static uint32_t count_parts(const struct part *part)
{
	uint32_t count = part->kind != PART_NEEDED;
	if (part->dropped)
		return 0;
	for (uint32_t i = 0; i < part->children.count; i++)
		count += count_parts(part->children.at[i]);
	return count;
}

uint32_t scenario_count(const struct scenario *scenario)
{
	return count_parts(scenario->world) + count_parts(scenario->commands);
}
