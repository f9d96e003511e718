/* Which controllers a robot of ros2_control has, and which of them are active: what controller_manager of ROS 2 tells,
 * and how it is told to switch them. The reader of a robot's file makes one of each robot whose file names controllers
 * (sdf/foreign_control.c).
 *
 *	<topic>/model/arm/controller_manager</topic>
 *	<controller>NAME TYPE</controller>         each controller that has a system here
 *	<switchable>NAME</switchable>              those whose system takes ControllerSwitch, too
 *	<claims>NAME JOINT/INTERFACE</claims>      what it commands while it is active
 *	<command_interface>, <state_interface>     JOINT/INTERFACE of the hardware
 *
 * It takes troupe.msgs.ControllerSwitch on TOPIC/switch_controller, also as a service, and gives on TOPIC/controllers
 * troupe.msgs.Controllers. A controller is active at first. The system of one that is inactive, or unloaded, holds its
 * joints by itself. */
#include "builtin/controller_manager.h"

#include <stdio.h>
#include <string.h>

enum { BEST_EFFORT = 1 };

struct controller_manager_config {
	const struct troupe_element *plugin;
	struct controllers controllers;
	double update_rate;
	const struct troupe_field *list, *commands, *states, *rate, *name, *type, *state, *claims;
};

/* Words: for each controller its enum controller_state. */

static const struct troupe_parameter controller_manager_parameters[] = {
	BUILTIN_TEXT("topic", "default: /model/NAME/controller_manager"),
	BUILTIN_TEXT("controller", "name and type of a controller"),
	BUILTIN_TEXT("switchable", "name of a controller that can be switched"),
	BUILTIN_TEXT("claims", "name of a controller, and what it commands, JOINT/INTERFACE"),
	BUILTIN_TEXT("command_interface", "of the hardware, JOINT/INTERFACE"),
	BUILTIN_TEXT("state_interface", "the same"),
	BUILTIN_BETWEEN("update_rate", 0, 65535, "Hz, that is told; default 100"),
	BUILTIN_END,
};

/* --- setup -------------------------------------------------------------------------------------------------------- */

/* What stands behind the name and a space; NULL: the text has another name. */
static const char *controller_manager_of(const char *text, const char *name)
{
	size_t length = strlen(name);
	return !strncmp(text, name, length) && text[length] == ' ' ? text + length + 1 : NULL;
}

/* The place of the controller; count: there is none of this name. */
static uint32_t controller_manager_find(const struct controllers *controllers, const char *name)
{
	uint32_t i = 0;
	while (i < controllers->count && strcmp(controllers->rows[i].name, name))
		i++;
	return i;
}

bool controllers_lists(const struct troupe_host *host, const struct troupe_element *plugin, const char *controller)
{
	const struct troupe_element *at = NULL;
	while ((at = host->child(plugin, "controller", at)) && !controller_manager_of(host->text_of(at), controller))
		;
	return at;
}

bool controllers_read(
	struct troupe_system *self, const struct troupe_element *plugin, struct controllers *ret_controllers)
{
	static const char message[] = "troupe.msgs.ControllerSwitch";
	static const char *const lists[CONTROLLERS_LISTS] = {
		"deactivate", "cleanup", "unload", "load", "configure", "activate"};
	const struct troupe_host *host = self->host;
	const struct troupe_element *at = NULL;
	struct controllers *c = ret_controllers;
	while ((at = host->child(plugin, "controller", at))) {
		const char *text = host->text_of(at), *space = strchr(text, ' ');
		if (!space || c->count == CONTROLLERS_MAX)
			return host->leave_out(self, at,
				"<controller> '%.80s': expected a name and a type, of at most %d controllers", text,
				(int)CONTROLLERS_MAX);
		c->rows[c->count++] =
			(struct controller_row){.name = host->print(self, "%.*s", (int)(space - text), text),
				.type = host->print(self, "%s", space + 1)};
	}
	while ((at = host->child(plugin, "switchable", at))) {
		uint32_t row = controller_manager_find(c, host->text_of(at));
		if (row < c->count)
			c->rows[row].switchable = true;
	}
	c->strictness = host->field(self, message, "strictness");
	bool found = c->strictness;
	for (size_t i = 0; i < CONTROLLERS_LISTS; i++)
		found &= (c->lists[i] = host->field(self, message, lists[i])) != NULL;
	return found;
}

static bool controller_manager_find_fields(struct troupe_system *self, struct controller_manager_config *config)
{
	const struct builtin_field wanted[] = {
		{&config->list, "troupe.msgs.Controllers", "controller"},
		{&config->commands, "troupe.msgs.Controllers", "command_interfaces"},
		{&config->states, "troupe.msgs.Controllers", "state_interfaces"},
		{&config->rate, "troupe.msgs.Controllers", "update_rate"},
		{&config->name, "troupe.msgs.Controller", "name"},
		{&config->type, "troupe.msgs.Controller", "type"},
		{&config->state, "troupe.msgs.Controller", "state"},
		{&config->claims, "troupe.msgs.Controller", "claimed_interfaces"},
	};
	return builtin_find_fields(self, wanted, sizeof wanted / sizeof *wanted);
}

static bool controller_manager_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct controller_manager_config *config = self->config = host->alloc(self, sizeof *config);
	const char *topic = builtin_topic(self, plugin, "topic", "controller_manager", NULL);
	const struct troupe_output state = {.name = host->print(self, "%s/controllers", topic),
		.type = "troupe.msgs.Controllers",
		.gives = TROUPE_GIVES_REPORT};
	config->plugin = plugin;
	config->update_rate = host->number(self, plugin, "update_rate", 100);
	if (!controllers_read(self, plugin, &config->controllers) || !controller_manager_find_fields(self, config))
		return false;
	for (uint32_t i = 0; i < config->controllers.count; i++)
		host->add_words(
			self, host->print(self, "%s: state", config->controllers.rows[i].name), TROUPE_WORD_INTEGER, 1);
	return host->serve(self, plugin, host->print(self, "%s/switch_controller", topic),
		       "troupe.msgs.ControllerSwitch", "gz.msgs.Empty", 0) &&
	       host->give(self, plugin, &state, NULL);
}

/* --- switches ----------------------------------------------------------------------------------------------------- */

/* Whether each name of the list counts; the first of all lists that does not is told in why. A controller that cannot
 * be deactivated may be named to be loaded, configured or activated, for that is what it is. */
static void controller_manager_check_list(const struct troupe_system *self, const struct controllers *controllers,
	const struct troupe_message *message, enum controller_list list, bool *ret_sound, bool *ret_any,
	char why[TROUPE_WHY_BYTES])
{
	for (uint32_t i = 0; i < self->host->count(message, controllers->lists[list]); i++) {
		const char *name = self->host->get_text(message, controllers->lists[list], i);
		uint32_t row = controller_manager_find(controllers, name);
		bool known = row < controllers->count;
		bool good = known && (list >= CONTROLLERS_LOAD || controllers->rows[row].switchable);
		*ret_any |= good;
		if (!good && *ret_sound)
			(void)snprintf(why, TROUPE_WHY_BYTES,
				known ? "controller '%.80s' cannot be deactivated: expected one of trajectories"
				      : "there is no controller '%.80s': expected one of list_controllers",
				name);
		*ret_sound &= good;
	}
}

bool controllers_check(const struct troupe_system *self, const struct controllers *controllers,
	const struct troupe_message *message, char why[TROUPE_WHY_BYTES])
{
	bool sound = true, any = false;
	for (enum controller_list list = 0; list < CONTROLLERS_LISTS; list++)
		controller_manager_check_list(self, controllers, message, list, &sound, &any, why);
	return sound || (any && self->host->get(message, controllers->strictness, 0) == BEST_EFFORT);
}

static bool controller_manager_check(const struct troupe_system *self, uint32_t input,
	const struct troupe_message *message, char why[TROUPE_WHY_BYTES])
{
	const struct controller_manager_config *config = self->config;
	(void)input;
	return controllers_check(self, &config->controllers, message, why);
}

bool controllers_names(const struct troupe_system *self, const struct controllers *controllers,
	const struct troupe_message *message, enum controller_list list, const char *name)
{
	uint32_t count = self->host->count(message, controllers->lists[list]), i = 0;
	while (i < count && strcmp(self->host->get_text(message, controllers->lists[list], i), name) != 0)
		i++;
	return i < count;
}

uint64_t controllers_next(const struct troupe_system *self, const struct controllers *controllers,
	const struct troupe_message *message, const char *name, uint64_t state)
{
	static const struct {
		unsigned from; /* bits of states */
		enum controller_state to;
	} changes[CONTROLLERS_LISTS] = {
		[CONTROLLERS_DEACTIVATE] = {1 << CONTROLLER_ACTIVE, CONTROLLER_INACTIVE},
		[CONTROLLERS_CLEANUP] = {1 << CONTROLLER_INACTIVE, CONTROLLER_UNCONFIGURED},
		[CONTROLLERS_UNLOAD] = {1 << CONTROLLER_INACTIVE | 1 << CONTROLLER_UNCONFIGURED, CONTROLLER_UNLOADED},
		[CONTROLLERS_LOAD] = {1 << CONTROLLER_UNLOADED, CONTROLLER_UNCONFIGURED},
		[CONTROLLERS_CONFIGURE] = {1 << CONTROLLER_UNCONFIGURED, CONTROLLER_INACTIVE},
		[CONTROLLERS_ACTIVATE] = {1 << CONTROLLER_INACTIVE, CONTROLLER_ACTIVE},
	};
	for (enum controller_list list = 0; list < CONTROLLERS_LISTS; list++)
		if (state <= CONTROLLER_UNLOADED && changes[list].from >> state & 1 &&
			controllers_names(self, controllers, message, list, name))
			state = changes[list].to;
	return state;
}

static void controller_manager_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct controller_manager_config *config = self->config;
	const struct controllers *c = &config->controllers;
	uint64_t *states = words;
	char why[TROUPE_WHY_BYTES];
	if (!controller_manager_check(self, input, message, why))
		return;
	for (uint32_t i = 0; i < c->count; i++)
		if (c->rows[i].switchable)
			states[i] = controllers_next(self, c, message, c->rows[i].name, states[i]);
}

/* --- reports ------------------------------------------------------------------------------------------------------ */

static void controller_manager_put_list(const struct troupe_system *self, const char *child,
	const struct troupe_field *field, struct troupe_message *message)
{
	const struct controller_manager_config *config = self->config;
	const struct troupe_element *at = NULL;
	while ((at = self->host->child(config->plugin, child, at)))
		self->host->put_text(message, field, self->host->text_of(at));
}

static bool controller_manager_report(const struct troupe_system *self, const struct troupe_step *step,
	const void *words, uint32_t output, struct troupe_message *message)
{
	const struct controller_manager_config *config = self->config;
	const struct troupe_host *host = self->host;
	const uint64_t *states = words;
	(void)step, (void)output;
	for (uint32_t i = 0; i < config->controllers.count; i++) {
		const struct controller_row *row = &config->controllers.rows[i];
		const struct troupe_element *at = NULL;
		struct troupe_message *part = host->put_part(message, config->list);
		host->put_text(part, config->name, row->name);
		host->put_text(part, config->type, row->type);
		host->put(part, config->state, (double)states[i]);
		while ((at = host->child(config->plugin, "claims", at))) {
			const char *claimed = controller_manager_of(host->text_of(at), row->name);
			if (claimed)
				host->put_text(part, config->claims, claimed);
		}
	}
	controller_manager_put_list(self, "command_interface", config->commands, message);
	controller_manager_put_list(self, "state_interface", config->states, message);
	host->put(message, config->rate, config->update_rate);
	return true;
}

const struct troupe_kind builtin_controller_manager = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT | TROUPE_RESTS,
	.names = (const char *const[]){"troupe::ControllerManager", NULL},
	.parameters = controller_manager_parameters,
	.configure = controller_manager_configure,
	.check = controller_manager_check,
	.command = controller_manager_command,
	.report = controller_manager_report,
};
