/* A file that tells of one run would have two, or the wrong one: so a run that writes such a file keeps its world. The
 * gateways begin anew in the next run. */
#include "cli/next_run.h"

const char *next_run_obstacle(const struct run_settings *settings, uint32_t world_count, struct arena *arena)
{
	for (size_t i = 0; i < run_command.spec_count; i++) {
		const struct option_spec *spec = &run_command.specs[i];
		if (settings->sources[i] && spec->tags & RUN_BOUND)
			return arena_printf(arena,
				"not with %s, which belongs to one world and one seed: expected another run for "
				"another",
				option_name(spec, arena));
	}
	if (settings->mode != NETWORK_NONE)
		return "not with --transport tcp or mpi, and not with --network-role: expected a run of one process";
	if (world_count > 1)
		return arena_printf(arena,
			"a run of %u worlds keeps them: expected another run for another world or seed", world_count);
	return NULL;
}

troupe_status next_run_check(const struct run_settings *settings, const struct complaints *complaints,
	const struct troupe_server *server, const struct troupe_next *asked, struct troupe_error *error)
{
	uint32_t worlds = troupe_server_world_count(server);
	const char *warnings = complaints->warnings == 1 ? "warning" : "warnings";
	if (worlds > 1)
		return fail(error, TROUPE_EWORLD, "%s: %u worlds: expected one", settings->world, worlds);
	if (asked->all_assets && *complaints->missing)
		return fail(error, TROUPE_EIO,
			"%.300s; ignore_missing_or_unsupported_assets loads the world without it", complaints->missing);
	if ((asked->strict || settings->strict) && complaints->warnings)
		return fail(error, TROUPE_EWORLD, "%s: %u %s, the first: %s",
			asked->strict ? "fail_on_unsupported_element" : "--strict", complaints->warnings, warnings,
			complaints->warning);
	return TROUPE_OK;
}
