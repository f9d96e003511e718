/* One format for two readers, so that what a replica loads is what a resumed run loads. */
#include "run/origin.h"

#include <stdlib.h>

enum { IGNORE_LEVELS = 1, SLEEPLESS = 2, SENSE_ALL = 4, BY_ODE = 8, LOAD_ALL = 16, FOLDERS_MAX = 65536 };

void origin_pack(const struct origin *origin, const struct files *more, struct text *out)
{
	pack_u64(out, origin->seed);
	pack_u64(out, (origin->ignore_levels ? IGNORE_LEVELS : 0u) | (origin->sleepless ? SLEEPLESS : 0u) |
			      (origin->sense_all ? SENSE_ALL : 0u) | (origin->by_ode ? BY_ODE : 0u) |
			      (origin->load_all ? LOAD_ALL : 0u));
	pack_string(out, origin->path);
	pack_u64(out, origin->folders.count);
	for (uint32_t i = 0; i < origin->folders.count; i++)
		pack_string(out, origin->folders.at[i]);
	plugin_marks_pack(&origin->plugins, out);
	if (origin->apart)
		files_pack_apart(&origin->files, more, out);
	else
		files_pack_both(&origin->files, more, out);
}

bool origin_unpack(struct origin *origin, struct unpack *in)
{
	origin->seed = unpack_u64(in);
	uint32_t flags = unpack_count(in, IGNORE_LEVELS | SLEEPLESS | SENSE_ALL | BY_ODE | LOAD_ALL);
	origin->ignore_levels = flags & IGNORE_LEVELS;
	origin->sleepless = flags & SLEEPLESS;
	origin->sense_all = flags & SENSE_ALL;
	origin->by_ode = flags & BY_ODE;
	origin->load_all = flags & LOAD_ALL;
	origin->path = unpack_string(in);
	uint32_t count = unpack_count(in, FOLDERS_MAX);
	for (uint32_t i = 0; i < count && !in->bad; i++)
		vec_push(&origin->folders, unpack_string(in));
	plugin_marks_unpack(&origin->plugins, in);
	files_unpack(&origin->files, in);
	return !in->bad;
}

void origin_expect(const struct origin *origin, struct plugins *plugins, const char *whose)
{
	for (uint32_t i = 0; i < origin->plugins.count; i++)
		plugins_expect(plugins, origin->plugins.at[i].filename, origin->plugins.at[i].hash, whose);
}

void origin_fini(struct origin *origin)
{
	free(origin->path);
	for (uint32_t i = 0; i < origin->folders.count; i++)
		free(origin->folders.at[i]);
	vec_free(&origin->folders);
	plugin_marks_fini(&origin->plugins);
	files_fini(&origin->files);
	*origin = (struct origin){0};
}
