/* What the elements of a robot of Open-RMF say (rmf_slotcar.c has what it does): its limits, its battery, the chargers
 * of its world, and the fields of its messages. Read once, constant afterwards. */
#ifndef BUILTIN_RMF_SLOTCAR_CONFIG_H
#define BUILTIN_RMF_SLOTCAR_CONFIG_H

#include "builtin/rmf_parts.h"

enum {
	RMF_SLOTCAR_PLACES_MAX = 128,
	RMF_SLOTCAR_LEVELS_MAX = 4,
	RMF_SLOTCAR_NAME_WORDS = 4,
	RMF_SLOTCAR_TASK_WORDS = 8,
	RMF_SLOTCAR_CHARGERS_MAX = 256,
};

enum rmf_slotcar_input { RMF_SLOTCAR_PATH, RMF_SLOTCAR_MODE, RMF_SLOTCAR_PAUSE, RMF_SLOTCAR_CHARGE };
struct rmf_slotcar_charger {
	double x, y;
	const char *level;
};

struct rmf_slotcar_config {
	const char *name, *level; /* level: before the first path */
	uint32_t link, output, charger_count;
	struct rmf_motion drive, turn;
	double stop_distance, stop_radius, ahead, radius; /* ahead, radius: of ackermann */
	bool reverses, steers;                            /* steers: ackermann */
	double voltage, capacity_Ah, charging_A, mass, inertia, friction, power_W;
	struct rmf_slotcar_charger *chargers;
	struct rmf_slotcar_fields {
		const struct troupe_field *robot[3], *path, *task, *mode, *mode_request, *pause, *checkpoint,
			*pause_request, *t_s, *t_ns, *x, *y, *yaw, *obeys, *limit, *level, *index, *name, *state_task,
			*sequence, *state_mode, *state_request, *battery, *location, *left, *switch_name, *switch_on;
	} field;
};

/* Reads the plug-in, opens the topics, and names the words (struct rmf_slotcar_words). */
bool rmf_slotcar_config_configure(struct troupe_system *self, const struct troupe_element *plugin);

#endif
