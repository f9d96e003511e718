/* The controllers of a robot, as its <plugin name="troupe::ControllerManager"> lists them. A switch of controllers is
 * for several systems, and each takes it only if it is sound for all: so all check it in the same way. */
#ifndef BUILTIN_CONTROLLER_MANAGER_H
#define BUILTIN_CONTROLLER_MANAGER_H

#include "builtin/parts.h"

enum { CONTROLLERS_MAX = 64 };

struct controller_row {
	const char *name, *type;
	bool switchable;
};

struct controllers { /* config */
	uint32_t count;
	struct controller_row rows[CONTROLLERS_MAX];
	const struct troupe_field *lists[2], *strictness; /* lists: activate, deactivate */
};

/* In configure(): plugin: that of the manager. */
bool controllers_read(
	struct troupe_system *self, const struct troupe_element *plugin, struct controllers *ret_controllers);
/* The same without reading it: whether it lists the controller. */
bool controllers_lists(const struct troupe_host *host, const struct troupe_element *plugin, const char *controller);
/* The place of the controller; count: there is none of this name. */
uint32_t controllers_find(const struct controllers *controllers, const char *name);
/* In check(): a troupe.msgs.ControllerSwitch. */
bool controllers_check(const struct troupe_system *self, const struct controllers *controllers,
	const struct troupe_message *message, char why[TROUPE_WHY_BYTES]);

#endif
