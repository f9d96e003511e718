/* What the names of a condition mean in a scene: models, links, joints, sensors, and quantities of these. */
#ifndef CLI_PREDICATE_NAMES_H
#define CLI_PREDICATE_NAMES_H

#include "cli/predicate.h"

enum predicate_kind { PREDICATE_MODEL, PREDICATE_LINK, PREDICATE_JOINT, PREDICATE_SENSOR };

/* The words of a model and of a link, then those of a model alone. */
enum predicate_word {
	PREDICATE_X,
	PREDICATE_Y,
	PREDICATE_Z,
	PREDICATE_QW,
	PREDICATE_QX,
	PREDICATE_QY,
	PREDICATE_QZ,
	PREDICATE_VX,
	PREDICATE_VY,
	PREDICATE_VZ,
	PREDICATE_WX,
	PREDICATE_WY,
	PREDICATE_WZ,
	PREDICATE_ROLL,
	PREDICATE_PITCH,
	PREDICATE_YAW,
	PREDICATE_TILT,
	PREDICATE_SPEED,
	PREDICATE_TURN,
	PREDICATE_CONTACTS,
	PREDICATE_LINK_WORDS,
	PREDICATE_DRIFT = PREDICATE_LINK_WORDS,
	PREDICATE_DRIFT_YAW,
	PREDICATE_LOADED,
	PREDICATE_ASLEEP,
	PREDICATE_MODEL_WORDS
};

struct predicate_target {
	enum predicate_kind kind;
	uint32_t index; /* in the scene */
	uint32_t word;  /* enum predicate_word; of a joint: position, velocity and effort of each axis; of a sensor its
			   numbers */
};

struct predicate_place {
	VEC(struct predicate_target) targets;
	bool there;      /* something has this name */
	uint32_t who[2]; /* in the scene: the models that the value belongs to; TROUPE_NONE: none */
	bool *shapes;    /* [shape_count]: whether the shape is a part of what the name means */
	uint32_t shape_count;
};

/* Fills predicate->places, unless it is of this scene already. TROUPE_ECOMMAND: a model that is there has no such part
 * or quantity. Holds the sensors that are named. */
troupe_status predicate_find_names(struct predicate *predicate, struct troupe_server *server,
	const struct troupe_scene *scene, struct troupe_error *error);

#endif
