/* A model while its plug-ins of ROS are translated: foreign.c finds them, and has what the translations share;
 * foreign_drives.c, foreign_sensors.c and foreign_control.c have the translations. */
#ifndef SDF_FOREIGN_INTERNAL_H
#define SDF_FOREIGN_INTERNAL_H

#include "sdf/load.h"
#include "sdf/xml.h"

enum {
	FOREIGN_NAMES_MAX = 12,       /* of parameters that one warning lists */
	FOREIGN_CHANGES_MAX = 100000, /* of one model */
	FOREIGN_POSES_MAX = 64,       /* that are asked for in one model: for each the model is read */
};

/* A change of a link or joint of the model. */
struct foreign_change {
	const char *kind, *name; /* "joint", "left_wheel_joint" */
	const char *path; /* where `set` goes, in place of what is there: "axis/limit/effort"; NULL: it is added */
	const struct sdf_element *set;
	uint32_t next, last; /* changes of the same name; SDF_NONE: the last; last: of the first one */
};

struct foreign {
	struct load *load;
	const struct sdf_element *model; /* as it is in the file */
	const char *name;                /* of the model */
	struct map links, joints;        /* of the model itself, by name -> index in parts */
	VEC(const struct sdf_element *) parts;
	uint32_t poses; /* that were asked for */
	VEC(struct foreign_change) changes;
	struct map changed;                   /* names of parts -> the first change of that name */
	VEC(const struct sdf_element *) made; /* in place of the present plug-in */

	/* the present plug-in */
	const struct sdf_element *plugin;
	bool camel;              /* its parameters are written as in ROS 1: <wheelSeparation> */
	VEC(const char *) asked; /* the names that the translation has asked for */
};

/* Whether the name of a library means this file: "libFILE.so" or "FILE", with or without a path. */
bool foreign_is_file(const char *filename, const char *file);
/* Begins with a plug-in. */
void foreign_look_at(struct foreign *foreign, const struct sdf_element *plugin);

/* --- parameters. Names are those of ROS 2; "wheel_diameter" also stands for <wheelDiameter>. `names` may hold several,
 * with blanks between: the first child that has one of them counts. -------------------------------------------------
 */

/* The first such child of the plug-in after `after`; NULL: none. */
const struct sdf_element *foreign_child(struct foreign *foreign, const char *names, const struct sdf_element *after);
const char *foreign_text(struct foreign *foreign, const char *names, const char *otherwise);
bool foreign_flag(struct foreign *foreign, const char *names, bool otherwise);
/* A number in [lo, hi]; another text is an error of the file. */
double foreign_number(struct foreign *foreign, const char *names, double lo, double hi, double otherwise);
/* These have no effect, and nothing is lost: no warning. */
void foreign_skip(struct foreign *foreign, const char *names);
/* Warns of all children that were not asked for, unless they are 0, false or empty. */
void foreign_warn_of_rest(struct foreign *foreign);

/* --- what is made ------------------------------------------------------------------------------------------------- */

/* A new element with the file and line of `at`. Texts must live as long as the load. */
struct load_builder foreign_new(
	struct foreign *foreign, const struct sdf_element *at, const char *name, const char *text);
/* A <plugin> of a system: "gz-sim-diff-drive-system", "DiffDrive". foreign_finish() puts it in place of the plug-in. */
struct load_builder foreign_begin(struct foreign *foreign, const char *filename, const char *system);
void foreign_finish(struct foreign *foreign, struct load_builder *system);
/* Adds <name>text</name>. at: the element that it is made from; NULL: the plug-in. */
void foreign_add(struct foreign *foreign, struct load_builder *to, const struct sdf_element *at, const char *name,
	const char *text);
void foreign_add_number(
	struct foreign *foreign, struct load_builder *to, const struct sdf_element *at, const char *name, double value);
/* Adds all children of these names under the name `to_name`; if there is none, `otherwise`, which may be NULL. */
void foreign_copy(struct foreign *foreign, struct load_builder *to, const char *names, const char *to_name,
	const char *otherwise);
/* Sets or adds a part of a link or joint of the model; see struct foreign_change. */
void foreign_change(
	struct foreign *foreign, const char *kind, const char *name, const char *path, const struct sdf_element *set);
/* A copy of the element with another part at the path below it; missing elements on the way are made. */
const struct sdf_element *foreign_set(
	struct foreign *foreign, const struct sdf_element *element, const char *path, const struct sdf_element *set);
/* The force or torque, in N or N m, with which a motor drives a joint at most. */
void foreign_limit_effort(struct foreign *foreign, const struct sdf_element *joint_name, double effort);

/* --- the model ---------------------------------------------------------------------------------------------------- */

/* A link or joint of the model itself; NULL: none. */
const struct sdf_element *foreign_link(const struct foreign *foreign, const char *name);
const struct sdf_element *foreign_joint(const struct foreign *foreign, const char *name);
/* The pose of a link or joint in the model. False: there is none, or too many poses were asked for. */
bool foreign_pose(struct foreign *foreign, const char *name, struct pose *ret_pose);
/* The velocity limit of the joint, as the file has it; NULL: none. */
const char *foreign_velocity_limit(const struct foreign *foreign, const char *joint);

/* --- names of ROS ------------------------------------------------------------------------------------------------- */

/* The topic of the server for a name of ROS, after the <remapping>s of the plug-in: in its <namespace>, or else in that
 * of the model: "odom" is "/model/NAME/odometry", and "/NAMESPACE/odom" with a namespace. "~/out" is in the plug-in's
 * name. */
const char *foreign_topic(struct foreign *foreign, const char *name);
/* Whether a <remapping> gives the name of ROS another one. */
bool foreign_is_remapped(struct foreign *foreign, const char *name);
/* Adds the topic of that name as a parameter, unless it is the one that the system has by default: /model/NAME/USUAL.
 */
void foreign_add_topic(
	struct foreign *foreign, struct load_builder *to, const char *parameter, const char *name, const char *usual);

/* --- translations ------------------------------------------------------------------------------------------------- */

typedef void foreign_fn(struct foreign *foreign);
foreign_fn foreign_drives_diff, foreign_drives_skid, foreign_drives_planar, foreign_drives_ackermann,
	foreign_drives_joint_states, foreign_drives_place, foreign_drives_trajectory, foreign_drives_slip;
foreign_fn foreign_control_joints, foreign_control_transmissions;
foreign_fn foreign_sensors_imu, foreign_sensors_force_torque;

/* The sensor with the topic and the frame of its plug-in; the sensor itself if that has none. link: in which it stands.
 */
const struct sdf_element *foreign_sensor(struct foreign *foreign, const struct sdf_element *sensor, const char *link);

#endif
