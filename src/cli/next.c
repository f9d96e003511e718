/* A file that tells of one run would have two, or the wrong one: so a run that writes such a file keeps its world. The
 * gateways begin anew in the next run. */
#include "cli/next.h"

#include <string.h>

/* resume: the state has its world. pin: names of models. lockstep, wait-for, programs: programs that the run waits for,
 * or has started, belong to it. */
static const char binding[] =
	"resume commands pin report save-at save-every save-on-stop record recordings commands-out mcap log camera-out "
	"costs lockstep-socket lockstep-listen wait-for programs";

static bool is_binding(const char *name)
{
	size_t count = strlen(name);
	for (const char *at = binding; (at = strstr(at, name)); at += count)
		if ((at == binding || at[-1] == ' ') && (at[count] == ' ' || !at[count]))
			return true;
	return false;
}

const char *next_bound(const struct run_settings *settings, uint32_t world_count, struct arena *arena)
{
	for (size_t i = 0; i < run_command.spec_count; i++) {
		const struct option_spec *spec = &run_command.specs[i];
		if (settings->sources[i] && spec->name && spec->kind != OPTION_OPERAND && is_binding(spec->name))
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

troupe_status next_judge(const struct run_settings *settings, const struct complaints *complaints,
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
