/* An option that has no effect in the mode of the run is refused, because the user expects an effect. */
#include "cli/run_modes.h"

#include "base/text.h"
#include "cli/cli.h"

unsigned run_settings_modes(const struct option_spec *spec)
{
	unsigned modes = spec->tags & ANY ? spec->tags & ANY : ANY & ~(SECONDARY | CLIENT);
	return modes & PRIMARY ? modes | STANDBY : modes; /* it may become one */
}

/* Says with which mode the option cannot be combined, in the words by which the mode was chosen. */
static void run_modes_complain_of_misfit(
	const struct run_settings *settings, const struct option_spec *spec, unsigned fits, struct arena *arena)
{
	static const char *const roles[] = {[NETWORK_NONE] = "none",
		[NETWORK_PRIMARY] = "primary",
		[NETWORK_SECONDARY] = "secondary",
		[NETWORK_CLIENT] = "client",
		[NETWORK_STANDBY] = "standby"};
	const struct network_settings *network = &settings->network;
	bool for_primary = (settings->mode == NETWORK_SECONDARY || settings->mode == NETWORK_CLIENT) && fits & PRIMARY;
	struct text with = {0};
	if (settings->mode == NETWORK_CHILDREN || settings->mode == NETWORK_RANKS)
		text_add(&with, "not with --transport %s", network->transport);
	else if (settings->mode == NETWORK_NONE && !network->role)
		text_add(&with, "not without --network-role%s", fits & CHILDREN ? " or --transport tcp" : "");
	else if (*network->role_variable)
		text_add(&with, "not with %s=%s in the environment", network->role_variable, network->role);
	else
		text_add(&with, "not with --network-role %s", roles[settings->mode]);
	cli_complain("run", "%s: %s%s; see troupe run --help", option_name(spec, arena), with.at,
		for_primary ? ": it is for the primary" : "");
	text_fini(&with);
}

static bool run_modes_check_fits(const struct run_settings *settings, struct arena *arena)
{
	for (size_t i = 0; i < run_command.spec_count; i++) {
		unsigned fits = run_settings_modes(&run_command.specs[i]);
		bool set_aside = settings->network.taken_back && settings->sources[i] == OPTION_IN_FILE;
		if (!settings->sources[i] || run_command.specs[i].kind == OPTION_OPERAND ||
			fits & 1u << settings->mode || set_aside)
			continue;
		run_modes_complain_of_misfit(settings, &run_command.specs[i], fits, arena);
		return false;
	}
	return true;
}

bool run_settings_choose(struct run_settings *settings, struct arena *arena)
{
	return network_choose(&settings->network, &settings->mode) && run_modes_check_fits(settings, arena) &&
	       network_settle(&settings->network, settings->mode, settings->secondaries);
}
