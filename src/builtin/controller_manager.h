/* The controllers of a robot, as its <plugin name="troupe::ControllerManager"> lists them. A switch of controllers is
 * for several systems, and each takes it only if it is sound for all: so all check it in the same way, and change the
 * state of a controller in the same way. */
#ifndef BUILTIN_CONTROLLER_MANAGER_H
#define BUILTIN_CONTROLLER_MANAGER_H

#include "builtin/parts.h"

enum { CONTROLLERS_MAX = 64 };

enum controller_state { /* as troupe.msgs.Controller.State; words hold it */
	CONTROLLER_ACTIVE,
	CONTROLLER_INACTIVE,
	CONTROLLER_UNCONFIGURED,
	CONTROLLER_UNLOADED,
};

enum controller_list { /* of a troupe.msgs.ControllerSwitch, in the order in which they are obeyed */
	CONTROLLERS_DEACTIVATE,
	CONTROLLERS_CLEANUP,
	CONTROLLERS_UNLOAD,
	CONTROLLERS_LOAD,
	CONTROLLERS_CONFIGURE,
	CONTROLLERS_ACTIVATE,
	CONTROLLERS_LISTS,
};

struct controller_row {
	const char *name, *type;
	bool switchable;
};

struct controllers { /* config */
	uint32_t count;
	struct controller_row rows[CONTROLLERS_MAX];
	const struct troupe_field *lists[CONTROLLERS_LISTS], *strictness;
};

/* In configure(): plugin: that of the manager. */
bool controllers_read(
	struct troupe_system *self, const struct troupe_element *plugin, struct controllers *ret_controllers);
/* The same without reading it: whether it lists the controller. */
bool controllers_lists(const struct troupe_host *host, const struct troupe_element *plugin, const char *controller);
/* In check(): a troupe.msgs.ControllerSwitch. The states of the controllers do not count here. */
bool controllers_check(const struct troupe_system *self, const struct controllers *controllers,
	const struct troupe_message *message, char why[TROUPE_WHY_BYTES]);
/* In command(): whether the list has the controller. */
bool controllers_names(const struct troupe_system *self, const struct controllers *controllers,
	const struct troupe_message *message, enum controller_list list, const char *name);
/* In command(), of a message that passes the check: the state of the controller after it. */
uint64_t controllers_next(const struct troupe_system *self, const struct controllers *controllers,
	const struct troupe_message *message, const char *name, uint64_t state);

#endif
