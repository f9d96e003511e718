/* What systems of Open-RMF share. Their names, topics, parameters, defaults and formulas are those of its plug-ins for
 * Gazebo (github.com/open-rmf/rmf_simulation). */
#ifndef BUILTIN_RMF_PARTS_H
#define BUILTIN_RMF_PARTS_H

#include "builtin/parts.h"

/* What a <plugin> or a <component> is: a door or a lift. The first member of its config. */
struct rmf_part {
	bool (*check)(const struct troupe_system *self, uint32_t input, const struct troupe_message *message,
		char why[TROUPE_WHY_BYTES]);
	void (*command)(
		const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words);
	void (*update)(const struct troupe_system *self, const struct troupe_step *step, void *words);
	void (*pre_update)(const struct troupe_system *self, const struct troupe_step *step, void *words);
};
/* at: the <plugin> or <component>. is_public: clients may ask for the door, and hear its state; else lifts only. */
bool rmf_door_configure(struct troupe_system *self, const struct troupe_element *at, bool is_public);
bool rmf_lift_configure(struct troupe_system *self, const struct troupe_element *at);

enum rmf_mode { RMF_CLOSED, RMF_MOVING, RMF_OPEN }; /* of doors, as in rmf_door_msgs/DoorMode */

#define RMF_DOOR_REQUESTS "/door_requests"
#define RMF_DOOR_STATES "/door_states"
/* between lifts and doors */
#define RMF_LIFT_DOOR_REQUESTS "/rmf/lift_door_requests"
#define RMF_LIFT_DOOR_STATES "/rmf/lift_door_states"

/* What a crowd tells each of its people: velocity along x and y of the world in m/s, and about z in rad/s. */
enum { RMF_CROWD_NUMBERS = 3 };

struct rmf_motion {
	double speed_max, acceleration_max, acceleration_usual; /* m/s or rad/s, ... */
	double near;                                            /* m or rad: there it has arrived */
};

/* The speed in the next step, now that it is `speed`, so that it comes to rest at the distance: with the usual
 * acceleration, or with what is needed to stop in time, up to the greatest. speed_there: its speed where the distance
 * ends. */
double rmf_speed(const struct rmf_motion *motion, double distance, double speed, double speed_there, double dt);

/* The point of the line from a to b that is `ahead` m away from `at`; of two, the one nearer to b; where there is none,
 * the point nearest to `at`. In a plane: z has no effect. */
struct troupe_vec3 rmf_pursued(struct troupe_vec3 a, struct troupe_vec3 b, struct troupe_vec3 at, double ahead);

/* A joint that can be driven, of the model of the <plugin> or, by its own name, of a model around it; TROUPE_NOTHING:
 * there is none. */
uint32_t rmf_joint(struct troupe_system *self, const char *name);

/* Reads <v_max_of>, <a_max_of>, <a_nom_of> and <dx_min_of>. */
struct rmf_motion rmf_read_motion(struct troupe_system *self, const struct troupe_element *at, const char *of);

/* Rows of tables of parameters. */
#define RMF_MOTION(of)                                                                                                 \
	BUILTIN_BETWEEN("v_max_" of, 0, BUILTIN_NUMBER_MAX, "m/s or rad/s, default 0.2"),                              \
		BUILTIN_BETWEEN("a_max_" of, 0, BUILTIN_NUMBER_MAX, "m/s2 or rad/s2, default 0.2"),                    \
		BUILTIN_BETWEEN("a_nom_" of, 0, BUILTIN_NUMBER_MAX, "m/s2 or rad/s2, default 0.08"),                   \
		BUILTIN_BETWEEN("dx_min_" of, 0, BUILTIN_NUMBER_MAX, "m or rad, default 0.01"),                        \
		BUILTIN_BETWEEN(                                                                                       \
			"f_max_" of, 0, BUILTIN_NUMBER_MAX, "has no effect: the <effort> of the joint's axis counts")

#endif
