/* assigner [POLICY]: assigns components to secondaries by a policy (balanced if none is named), for the twins of them
 * (tests/twins/balanced, tests/twins/dealt). A case is read from the standard input as numbers, and its answer is a
 * line; the end of the input is the end. What a policy remembers beside what is given, whose turn it is, stays from
 * case to case. Numbers of a case, where -1 is "none" (UINT32_MAX):
 *
 *     secondaries models levels components move_cost horizon
 *     for each model: component is_mover entered pin cost secondary home component_before
 *     for each level: component has_performer near pin secondary
 *
 * The answer has, for each model, its secondary, home and component, and for each level its secondary. */
#include "assign/assign.h"

#include <stdio.h>
#include <stdlib.h>

enum { MODELS_MAX = 4096 };

static uint32_t assigner_number(void)
{
	long number;
	if (scanf("%ld", &number) != 1)
		exit(1);
	return number < 0 ? UINT32_MAX : (uint32_t)number;
}

static uint32_t component[MODELS_MAX], pin[MODELS_MAX], cost[MODELS_MAX], secondary[MODELS_MAX], home[MODELS_MAX];
static uint32_t component_of[MODELS_MAX], level_component[MODELS_MAX], level_near[MODELS_MAX], level_pin[MODELS_MAX];
static uint32_t level_secondary[MODELS_MAX];
static bool is_mover[MODELS_MAX], entered[MODELS_MAX], has_performer[MODELS_MAX];

static void assigner_read(struct assign_input *input)
{
	input->model_count = assigner_number();
	input->level_count = assigner_number();
	input->component_count = assigner_number();
	input->move_cost = assigner_number();
	input->horizon = assigner_number();
	if (input->model_count > MODELS_MAX || input->level_count > MODELS_MAX)
		exit(1);
	for (uint32_t i = 0; i < input->model_count; i++) {
		component[i] = assigner_number();
		is_mover[i] = assigner_number();
		entered[i] = assigner_number();
		pin[i] = assigner_number();
		cost[i] = assigner_number();
		secondary[i] = assigner_number();
		home[i] = assigner_number();
		component_of[i] = assigner_number();
	}
	for (uint32_t i = 0; i < input->level_count; i++) {
		level_component[i] = assigner_number();
		has_performer[i] = assigner_number();
		level_near[i] = assigner_number();
		level_pin[i] = assigner_number();
		level_secondary[i] = assigner_number();
	}
}

int main(int argc, char **argv)
{
	const struct assign_policy *policy = assign_policy_named(argc > 1 ? argv[1] : "balanced");
	if (!policy)
		return 1;
	struct assign_scratch scratch = {0};
	struct assignment now = {
		.model = secondary, .level = level_secondary, .home = home, .component_of = component_of};
	struct assign_input input = {.model_component = component,
		.level_component = level_component,
		.model_is_mover = is_mover,
		.model_entered = entered,
		.level_has_performer = has_performer,
		.level_near = level_near,
		.model_pin = pin,
		.level_pin = level_pin,
		.model_cost = cost};
	while (scanf("%u", &input.secondaries) == 1) {
		assigner_read(&input);
		policy->assign(&input, &now, &scratch);
		for (uint32_t i = 0; i < input.model_count; i++)
			printf("%u %u %u ", secondary[i], home[i], component_of[i]);
		for (uint32_t i = 0; i < input.level_count; i++)
			printf("%u ", level_secondary[i]);
		printf("\n");
		fflush(stdout);
	}
	assign_scratch_fini(&scratch);
	return 0;
}
