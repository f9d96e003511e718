/* A robot's ros2_control or ros_control while it is translated: foreign_control.c has its joints and parameters,
 * foreign_controllers.c its controllers. */
#ifndef SDF_FOREIGN_CONTROL_H
#define SDF_FOREIGN_CONTROL_H

#include "sdf/foreign_internal.h"

enum { CONTROL_JOINTS_MAX = 4096 /* of a robot, and in a list */ };

enum quantity { NOTHING, FOREIGN_CONTROL_POSITION, FOREIGN_CONTROL_VELOCITY, FOREIGN_CONTROL_EFFORT };

struct controlled { /* a joint of <ros2_control> or <transmission> */
	const char *name;
	const struct sdf_element *element;
	enum quantity quantity; /* by which it is commanded; the first one of position, velocity and effort */
	const char *initial;    /* position; NULL: not given */
	bool claimed;
};

struct controller {
	const char *name, *type;
	const struct sdf_element *at;
};

struct control_claim { /* by a controller that has a system */
	const char *controller, *joint;
	enum quantity quantity;
	const struct sdf_element *at;
};

struct foreign_control {
	struct foreign *foreign;
	VEC(const struct sdf_element *) files; /* of parameters */
	VEC(struct controlled) joints;
	struct map by_name, claimed; /* claimed: also joints that the robot does not name */
	double gain;                 /* 1/s */
	double update_rate;          /* Hz, of the controllers */
	bool publishes;              /* a controller publishes the states of joints */
	VEC(struct controller) used; /* those that have systems */
	VEC(struct control_claim) claims;
};

/* --- parameters. of: the controller whose parameter it is. Texts and elements are the file's. -----------------------
 */

/* The parameter of a node, or of all nodes; NULL: none. */
const struct sdf_element *foreign_control_find(
	const struct foreign_control *control, const char *node, const char *name);
/* A list of names; a single name counts as a list with one. NULL: none. */
const struct sdf_element *foreign_control_list(
	const struct foreign_control *control, const struct controller *of, const char *name);
/* These have the value `otherwise` if the parameter is not given. */
const char *foreign_control_text(
	const struct foreign_control *control, const struct controller *of, const char *name, const char *otherwise);
bool foreign_control_flag(
	const struct foreign_control *control, const struct controller *of, const char *name, bool otherwise);
double foreign_control_number(
	const struct foreign_control *control, const struct controller *of, const char *name, double otherwise);
/* Adds a parameter to the system, if it is given. */
void foreign_control_add_number(const struct foreign_control *control, const struct controller *of, const char *name,
	struct load_builder *to, const char *to_name);

/* --- joints ------------------------------------------------------------------------------------------------------- */

/* NULL: the robot does not name it. */
struct controlled *foreign_control_joint(const struct foreign_control *control, const char *name);
/* NOTHING: another name. */
enum quantity foreign_control_quantity(const char *name);
/* Makes the system that takes commands for the joint. at: for messages; NOTHING: none is made. */
void foreign_control_command(
	struct foreign_control *control, const struct sdf_element *at, const char *name, enum quantity quantity);

/* --- foreign_controllers.c ---------------------------------------------------------------------------------------- */

/* Makes the systems of all controllers of the files. */
void foreign_controllers_use_all(struct foreign_control *control);
/* Makes the system that publishes the states of the joints. of: NULL: no controller asks for it. */
void foreign_controllers_states(struct foreign_control *control, const struct controller *of);

#endif
