/* A policy is chosen by its name. One table holds the name, the function and whether the policy needs measured costs.
 * The first entry is the default. */
#include "assign/assign.h"

#include <stdlib.h>
#include <string.h>

const struct assign_policy assign_policies[] = {
	{"round-robin", assign_round_robin, false},
	{"balanced", assign_balanced, true},
	{NULL, NULL, false},
};

const struct assign_policy *assign_policy_named(const char *name)
{
	for (const struct assign_policy *policy = assign_policies; policy->name; policy++)
		if (!strcmp(policy->name, name))
			return policy;
	return NULL;
}

void assign_scratch_fini(struct assign_scratch *scratch)
{
	free(scratch->memory);
	*scratch = (struct assign_scratch){0};
}
