/* Drives, and what publishes joints and places. A plug-in of ROS is a drive and an odometry in one; here these are two
 * systems, because the usual odometry of ROS is the true place of the model in the world, and that of a drive is
 * reckoned from its wheels. */
#include "sdf/foreign_internal.h"

#include <math.h>
#include <string.h>

#define DIFF_DRIVE "gz-sim-diff-drive-system", "DiffDrive"
#define ODOMETRY_PUBLISHER "gz-sim-odometry-publisher-system", "OdometryPublisher"
#define JOINT_STATE_PUBLISHER "gz-sim-joint-state-publisher-system", "JointStatePublisher"

/* --- odometry ----------------------------------------------------------------------------------------------------- */

struct odometry {
	bool message, transform; /* what is published */
	const char *rate_hz;
};

static void foreign_drives_add_outputs(
	struct foreign *foreign, struct load_builder *to, const struct odometry *odometry)
{
	foreign_add(foreign, to, NULL, "odom_publish_frequency", odometry->rate_hz);
	if (!odometry->message)
		foreign_add(foreign, to, NULL, "publish_odometry", "false");
	if (!odometry->transform)
		foreign_add(foreign, to, NULL, "publish_tf", "false");
}

/* The topic of the odometry, and that of the same with covariances. */
static void foreign_drives_add_topics(struct foreign *foreign, struct load_builder *place, const char *name)
{
	foreign_add_topic(foreign, place, "odom_topic", name, "odometry");
	foreign_add_topic(foreign, place, "odom_covariance_topic",
		arena_printf(&foreign->load->sdf->arena, "%s_with_covariance", foreign_topic(foreign, name)),
		"odometry_with_covariance");
}

/* Of the true place of the model. */
static void foreign_drives_add_place(struct foreign *foreign, const struct odometry *odometry)
{
	struct load_builder place = foreign_begin(foreign, ODOMETRY_PUBLISHER);
	foreign_add(foreign, &place, NULL, "odom_frame", foreign_text(foreign, "odometry_frame", "odom"));
	foreign_add(
		foreign, &place, NULL, "robot_base_frame", foreign_text(foreign, "robot_base_frame", "base_footprint"));
	foreign_add(foreign, &place, NULL, "dimensions", "3");
	foreign_drives_add_topics(foreign, &place, foreign_text(foreign, "odometry_topic", "odom"));
	foreign_add(foreign, &place, NULL, "tf_topic",
		arena_printf(&foreign->load->sdf->arena, "/model/%s/tf", foreign->name));
	foreign_drives_add_outputs(foreign, &place, odometry);
	if (odometry->message || odometry->transform)
		foreign_finish(foreign, &place);
}

/* Reckoned by the drive itself. */
static void foreign_drives_add_reckoning(
	struct foreign *foreign, struct load_builder *drive, const struct odometry *odometry)
{
	foreign_add(foreign, drive, NULL, "frame_id", foreign_text(foreign, "odometry_frame", "odom"));
	foreign_add(
		foreign, drive, NULL, "child_frame_id", foreign_text(foreign, "robot_base_frame", "base_footprint"));
	foreign_add_topic(foreign, drive, "odom_topic", foreign_text(foreign, "odometry_topic", "odom"), "odometry");
	foreign_drives_add_outputs(foreign, drive, odometry);
}

/* Ends the drive, with its odometry. */
static void foreign_drives_finish(
	struct foreign *foreign, struct load_builder *drive, const struct odometry *odometry, bool reckoned)
{
	static const struct odometry none = {.rate_hz = "50"};
	if (reckoned)
		foreign_drives_add_reckoning(foreign, drive, odometry);
	else
		foreign_drives_add_outputs(foreign, drive, &none);
	foreign_finish(foreign, drive);
	if (!reckoned)
		foreign_drives_add_place(foreign, odometry);
}

/* --- wheels ------------------------------------------------------------------------------------------------------- */

/* Each wheel pushes with this torque at most. */
static void foreign_drives_limit(struct foreign *foreign, const char *joints, double torque)
{
	for (const struct sdf_element *at = foreign_child(foreign, joints, NULL); at;
		at = foreign_child(foreign, joints, at))
		foreign_limit_effort(foreign, at, torque);
}

static void foreign_drives_warn_of_pairs(struct foreign *foreign, const char *names)
{
	const struct sdf_element *first = foreign_child(foreign, names, NULL), *at = first;
	while (at && (at = foreign_child(foreign, names, at)) != NULL)
		if (strcmp(at->text, first->text) != 0) {
			load_warn(foreign->load, at,
				"<%.40s> is \"%.40s\" for another pair of wheels: %.40s is used for all", at->name,
				at->text, first->text);
			return;
		}
}

/* Limits of a DiffDrive from the acceleration of the rims, in m/s2: exact for straight ways and for turns in place. */
static void foreign_drives_add_acceleration(struct foreign *foreign, struct load_builder *to, double separation)
{
	static const char names[] = "max_wheel_acceleration wheel_acceleration";
	const struct sdf_element *at = foreign_child(foreign, names, NULL);
	double most = foreign_number(foreign, names, 0, 1e6, 0);
	if (most == 0)
		return;
	foreign_add_number(foreign, to, at, "min_linear_acceleration", -most);
	foreign_add_number(foreign, to, at, "max_linear_acceleration", most);
	foreign_add_number(foreign, to, at, "min_angular_acceleration", -2 * most / separation);
	foreign_add_number(foreign, to, at, "max_angular_acceleration", 2 * most / separation);
}

/* The wheels' sizes; returns the separation. */
static double foreign_drives_add_wheels(struct foreign *foreign, struct load_builder *to, double usual_separation)
{
	const struct sdf_element *apart = foreign_child(foreign, "wheel_separation", NULL);
	const struct sdf_element *across = foreign_child(foreign, "wheel_diameter", NULL);
	double separation = foreign_number(foreign, "wheel_separation", 1e-6, 1e6, usual_separation);
	double diameter = foreign_number(foreign, "wheel_diameter", 2e-6, 1e6, 0.15);
	foreign_drives_warn_of_pairs(foreign, "wheel_separation");
	foreign_drives_warn_of_pairs(foreign, "wheel_diameter");
	foreign_add_number(foreign, to, apart, "wheel_separation", separation);
	foreign_add_number(foreign, to, across, "wheel_radius", diameter / 2);
	return separation;
}

/* Of two joints, whether `left` stands on the right. Unknown joints stand where they should. */
static bool foreign_drives_stand_crossed(struct foreign *foreign, const char *left, const char *right)
{
	struct pose of_left, of_right;
	return foreign_pose(foreign, left, &of_left) && foreign_pose(foreign, right, &of_right) &&
	       of_left.p.y < of_right.p.y;
}

/* The plug-in of ROS 1 had left and right crossed once; <legacyMode> says whether the file expects that. Some files
 * that do not say it expect it, others do not: then the joint that stands on the left is the left one. */
static bool foreign_drives_are_crossed(struct foreign *foreign)
{
	const char *legacy = foreign_text(foreign, "legacy_mode", NULL);
	if (legacy || !foreign->camel)
		return foreign_flag(foreign, "legacy_mode", false);
	return foreign_drives_stand_crossed(foreign, foreign_text(foreign, "left_joint", "left_joint"),
		foreign_text(foreign, "right_joint", "right_joint"));
}

/* True: <odometry_source> is that of the wheels' encoders. */
static bool foreign_drives_is_reckoned(struct foreign *foreign)
{
	const char *source = foreign_text(foreign, "odometry_source", "world");
	return !strcmp(source, "encoder") || !strcmp(source, "ENCODER") || !strcmp(source, "0");
}

void foreign_drives_diff(struct foreign *foreign)
{
	struct load_builder drive = foreign_begin(foreign, DIFF_DRIVE);
	bool crossed = foreign_drives_are_crossed(foreign), camel = foreign->camel;
	double torque = foreign_number(foreign, "max_wheel_torque wheel_torque torque", 0, 1e9, 5);
	struct odometry odometry = {.message = foreign_flag(foreign, "publish_odom publish_tf", camel),
		.transform = foreign_flag(foreign, "publish_odom_tf", camel),
		.rate_hz = foreign_text(foreign, "update_rate publish_rate", "100")};
	odometry.transform = odometry.transform && (odometry.message || !camel);
	foreign_copy(foreign, &drive, crossed ? "right_joint" : "left_joint", "left_joint", "left_joint");
	foreign_copy(foreign, &drive, crossed ? "left_joint" : "right_joint", "right_joint", "right_joint");
	foreign_drives_limit(foreign, "left_joint", torque);
	foreign_drives_limit(foreign, "right_joint", torque);
	double separation = foreign_drives_add_wheels(foreign, &drive, 0.34);
	foreign_drives_add_acceleration(foreign, &drive, separation);
	foreign_add_topic(foreign, &drive, "topic", foreign_text(foreign, "command_topic", "cmd_vel"), "cmd_vel");
	foreign_skip(foreign, "num_wheel_pairs");
	foreign_drives_finish(foreign, &drive, &odometry, foreign_drives_is_reckoned(foreign));
	if (!foreign_flag(foreign, "publish_wheel_joint_state", false))
		return;
	struct load_builder states = foreign_begin(foreign, JOINT_STATE_PUBLISHER);
	foreign_copy(foreign, &states, "left_joint", "joint_name", "left_joint");
	foreign_copy(foreign, &states, "right_joint", "joint_name", "right_joint");
	foreign_add_topic(foreign, &states, "topic", "joint_states", "joint_states");
	foreign_finish(foreign, &states);
}

void foreign_drives_skid(struct foreign *foreign)
{
	static const char *const sides[2][2] = {
		{"left_front_joint", "left_rear_joint"}, {"right_front_joint", "right_rear_joint"}};
	struct load_builder drive = foreign_begin(foreign, DIFF_DRIVE);
	double torque = foreign_number(foreign, "torque wheel_torque max_wheel_torque", 0, 1e9, 5);
	struct odometry odometry = {.message = foreign_flag(foreign, "publish_odom", true),
		.transform = foreign_flag(foreign, "broadcast_tf publish_odom_tf", false),
		.rate_hz = foreign_text(foreign, "update_rate", "100")};
	for (int side = 0; side < 2; side++)
		for (int wheel = 0; wheel < 2; wheel++) {
			foreign_copy(foreign, &drive, sides[side][wheel], side ? "right_joint" : "left_joint",
				sides[side][wheel]);
			foreign_drives_limit(foreign, sides[side][wheel], torque);
		}
	(void)foreign_drives_add_wheels(foreign, &drive, 0.4);
	foreign_add_topic(
		foreign, &drive, "topic", foreign_text(foreign, "command_topic topic_name", "cmd_vel"), "cmd_vel");
	foreign_drives_finish(foreign, &drive, &odometry, false);
}

/* --- planar move -------------------------------------------------------------------------------------------------- */

void foreign_drives_planar(struct foreign *foreign)
{
	struct load_builder drive = foreign_begin(foreign, "gz-sim-velocity-control-system", "VelocityControl");
	struct odometry odometry = {.message = foreign_flag(foreign, "publish_odom", true),
		.transform = foreign_flag(foreign, "publish_odom_tf", true),
		.rate_hz = foreign_text(foreign, "publish_rate odometry_rate", "20")};
	/* at rest until the first command, as in Gazebo, also where it could fall or roll */
	foreign_add(foreign, &drive, NULL, "initial_linear", "0 0 0");
	foreign_add_topic(foreign, &drive, "topic", foreign_text(foreign, "command_topic", "cmd_vel"), "cmd_vel");
	foreign_skip(foreign, "update_rate");
	foreign_finish(foreign, &drive);
	foreign_drives_add_place(foreign, &odometry);
}

/* --- Ackermann ---------------------------------------------------------------------------------------------------- */

struct foreign_drives_wheel {
	struct vec3 centre; /* in the model */
	double radius;      /* NaN: its first shape is no cylinder or sphere */
};

/* The wheel is the first collision of the joint's child. False, after a warning: it is not found. */
static bool foreign_drives_find_wheel(struct foreign *foreign, const char *name, struct foreign_drives_wheel *ret_wheel)
{
	const char *joint = foreign_text(foreign, name, name);
	const char *link = sdf_child_text(foreign_joint(foreign, joint), "child");
	const struct sdf_element *part = link ? foreign_link(foreign, link) : NULL;
	const struct sdf_element *collision = sdf_child(part, "collision", NULL);
	const struct sdf_element *geometry = sdf_child(collision, "geometry", NULL),
				 *at = geometry ? geometry->child : NULL;
	struct pose place, inside = POSE_IDENTITY;
	if (!collision || !foreign_pose(foreign, link, &place)) {
		load_warn(foreign->load, foreign->plugin,
			"plugin \"%.80s\" is left out: <%s> names the joint \"%.80s\": expected a joint of this model "
			"whose child has a <collision>",
			sdf_attribute(foreign->plugin, "filename"), name, joint);
		return false;
	}
	(void)sdf_child_pose(collision, &inside, NULL);
	ret_wheel->centre = pose_point(place, inside.p);
	ret_wheel->radius = NAN;
	if (at && (xml_is(at, "cylinder") || xml_is(at, "sphere")))
		(void)sdf_child_double(at, "radius", 1e-6, 1e6, &ret_wheel->radius, NULL);
	return true;
}

/* The sizes of the car are those of its wheels, as the plug-in measures them. */
static bool foreign_drives_add_car(struct foreign *foreign, struct load_builder *drive)
{
	static const char *const names[] = {
		"front_left_joint", "front_right_joint", "rear_left_joint", "rear_right_joint"};
	struct foreign_drives_wheel wheels[4];
	for (int i = 0; i < 4; i++)
		if (!foreign_drives_find_wheel(foreign, names[i], &wheels[i]))
			return false;
	struct vec3 front = vec3_scale(vec3_add(wheels[0].centre, wheels[1].centre), 0.5);
	struct vec3 rear = vec3_scale(vec3_add(wheels[2].centre, wheels[3].centre), 0.5);
	double separation = vec3_length(vec3_sub(wheels[0].centre, wheels[1].centre));
	double base = vec3_length(vec3_sub(front, rear)), radius = wheels[3].radius;
	if (!(separation > 1e-6) || !(base > 1e-6) || isnan(radius)) {
		load_warn(foreign->load, foreign->plugin,
			"plugin \"%.80s\" is left out: expected four wheels in four places, and a cylinder or sphere "
			"as the first <collision> of <rear_right_joint>'s child",
			sdf_attribute(foreign->plugin, "filename"));
		return false;
	}
	foreign_add_number(foreign, drive, NULL, "wheel_separation", separation);
	foreign_add_number(foreign, drive, NULL, "kingpin_width", separation);
	foreign_add_number(foreign, drive, NULL, "wheel_base", base);
	foreign_add_number(foreign, drive, NULL, "wheel_radius", radius);
	return true;
}

/* The plug-in reaches speed and angles by forces of PID controllers, whose gains depend on its steps; here they are
 * reached by velocities, so the gains have no counterpart. */
void foreign_drives_ackermann(struct foreign *foreign)
{
	struct load_builder drive = foreign_begin(foreign, "gz-sim-ackermann-steering-system", "AckermannSteering");
	struct odometry odometry = {.message = foreign_flag(foreign, "publish_odom", false),
		.transform = foreign_flag(foreign, "publish_odom_tf", false),
		.rate_hz = foreign_text(foreign, "update_rate", "100")};
	double most = foreign_number(foreign, "max_speed", 0, 1e6, 20);
	foreign_skip(foreign, "front_left_joint front_right_joint max_steering_angle");
	foreign_skip(foreign, "left_steering_pid_gain left_steering_i_range right_steering_pid_gain");
	foreign_skip(foreign, "right_steering_i_range linear_velocity_pid_gain linear_velocity_i_range");
	foreign_copy(foreign, &drive, "rear_left_joint", "left_joint", "rear_left_joint");
	foreign_copy(foreign, &drive, "rear_right_joint", "right_joint", "rear_right_joint");
	foreign_copy(foreign, &drive, "left_steering_joint", "left_steering_joint", "left_steering_joint");
	foreign_copy(foreign, &drive, "right_steering_joint", "right_steering_joint", "right_steering_joint");
	if (!foreign_drives_add_car(foreign, &drive))
		return;
	foreign_copy(foreign, &drive, "max_steer", "steering_limit", "0.6");
	foreign_add(foreign, &drive, NULL, "turn_is_angle", "true");
	foreign_add(foreign, &drive, NULL, "steer_p_gain", "20");
	foreign_add_number(foreign, &drive, NULL, "min_velocity", -most);
	foreign_add_number(foreign, &drive, NULL, "max_velocity", most);
	foreign_add_topic(foreign, &drive, "topic", "cmd_vel", "cmd_vel");
	foreign_drives_finish(foreign, &drive, &odometry, false);
}

/* --- joints and places -------------------------------------------------------------------------------------------- */

/* Adds the words of a list with commas as elements of this name. */
static void foreign_drives_add_list(
	struct foreign *foreign, struct load_builder *to, const struct sdf_element *list, const char *name)
{
	for (const char *at = list->text; *at;) {
		at += strspn(at, ", \t\r\n");
		size_t length = strcspn(at, ", \t\r\n");
		if (length)
			foreign_add(foreign, to, list, name,
				arena_printf(&foreign->load->sdf->arena, "%.*s", (int)length, at));
		at += length;
	}
}

void foreign_drives_joint_states(struct foreign *foreign)
{
	struct load_builder states = foreign_begin(foreign, JOINT_STATE_PUBLISHER);
	for (const struct sdf_element *at = foreign_child(foreign, "joint_name", NULL); at;
		at = foreign_child(foreign, "joint_name", at))
		foreign_drives_add_list(foreign, &states, at, "joint_name");
	foreign_copy(foreign, &states, "update_rate", "update_rate", "100");
	foreign_add_topic(foreign, &states, "topic", "joint_states", "joint_states");
	foreign_finish(foreign, &states);
}

/* The first link of the model, whose pose OdometryPublisher gives as that of the model. */
static const char *foreign_drives_first_link(const struct foreign *foreign)
{
	const char *name = sdf_attribute(sdf_child(foreign->model, "link", NULL), "name");
	return name ? name : "";
}

static bool foreign_drives_is(const char *text, const char *wanted)
{
	return text && !strcmp(text, wanted);
}

/* Whether the link, or the frame that is left of a lumped one, keeps its place on the first link. */
static bool foreign_drives_is_held(const struct foreign *foreign, const char *name)
{
	const char *first = foreign_drives_first_link(foreign);
	for (const struct sdf_element *at = foreign->model->child; at; at = at->next)
		if ((xml_is(at, "frame") && foreign_drives_is(sdf_attribute(at, "name"), name) &&
			    foreign_drives_is(sdf_attribute(at, "attached_to"), first)) ||
			(xml_is(at, "joint") && foreign_drives_is(sdf_attribute(at, "type"), "fixed") &&
				foreign_drives_is(sdf_child_text(at, "parent"), first) &&
				foreign_drives_is(sdf_child_text(at, "child"), name)))
			return true;
	return !strcmp(name, first);
}

static void foreign_drives_add_offset(
	struct foreign *foreign, struct load_builder *place, const struct sdf_element *body, struct vec3 offset)
{
	const double values[] = {offset.x, offset.y, offset.z};
	struct text xyz = {0};
	for (int i = 0; i < 3; i++) {
		text_add(&xyz, i ? " " : "");
		text_add_double(&xyz, values[i]);
	}
	foreign_add(foreign, place, body, "xyz_offset", arena_strdup(&foreign->load->sdf->arena, xyz.at));
	text_fini(&xyz);
}

/* The place of the body in the model. */
static struct pose foreign_drives_find_body(struct foreign *foreign, const struct sdf_element *body)
{
	struct pose in_model = POSE_IDENTITY;
	if (!body)
		return in_model;
	if (!foreign_pose(foreign, body->text, &in_model))
		load_warn(foreign->load, body, "<%.40s> is \"%.80s\": expected a link of this model; the model is used",
			body->name, body->text);
	else if (!foreign_drives_is_held(foreign, body->text) || fabs(in_model.q.w) < 1 - 1e-9)
		load_warn(foreign->load, body,
			"<%.40s> is \"%.80s\", which moves in the model or is turned: expected the first link, "
			"\"%.80s\"; "
			"the model is used, with the offset that the link has at first",
			body->name, body->text, foreign_drives_first_link(foreign));
	return in_model;
}

/* p3d publishes the place of a link. The system publishes that of the model, with an offset. */
void foreign_drives_place(struct foreign *foreign)
{
	struct load_builder place = foreign_begin(foreign, ODOMETRY_PUBLISHER);
	const struct sdf_element *body = foreign_child(foreign, "body_name", NULL);
	const char *frame = foreign_text(foreign, "frame_name", "world");
	struct pose in_model = foreign_drives_find_body(foreign, body);
	frame += *frame == '/';
	if (strcmp(frame, "world") != 0 && strcmp(frame, "map") != 0)
		load_warn(foreign->load, foreign_child(foreign, "frame_name", NULL),
			"<frame_name> is \"%.80s\": the place is given in the world: expected world", frame);
	foreign_add(foreign, &place, NULL, "odom_frame", frame);
	foreign_add(foreign, &place, body, "robot_base_frame", body ? body->text : "");
	foreign_add(foreign, &place, NULL, "dimensions", "3");
	foreign_copy(foreign, &place, "update_rate", "odom_publish_frequency", "0");
	foreign_copy(foreign, &place, "gaussian_noise", "gaussian_noise", NULL);
	foreign_drives_add_topics(foreign, &place, foreign_text(foreign, "topic_name", "odom"));
	foreign_add(foreign, &place, NULL, "publish_tf", "false");
	if (!pose_is_identity(in_model))
		foreign_drives_add_offset(foreign, &place, body, in_model.p);
	foreign_finish(foreign, &place);
}

/* The plug-in sets positions; here joints are driven there. */
void foreign_drives_trajectory(struct foreign *foreign)
{
	struct load_builder follower =
		foreign_begin(foreign, "gz-sim-joint-trajectory-controller-system", "JointTrajectoryController");
	foreign_add(foreign, &follower, NULL, "use_velocity_commands", "true");
	foreign_skip(foreign, "update_rate service_name");
	foreign_add_topic(foreign, &follower, "topic", foreign_text(foreign, "topic_name", "set_joint_trajectory"),
		"joint_trajectory");
	foreign_finish(foreign, &follower);
}

/* The parameters are those of Gazebo's WheelSlip. */
void foreign_drives_slip(struct foreign *foreign)
{
	struct load_builder slip = foreign_begin(foreign, "gz-sim-wheel-slip-system", "WheelSlip");
	for (const struct sdf_element *at = foreign_child(foreign, "wheel", NULL); at;
		at = foreign_child(foreign, "wheel", at))
		load_build_add(foreign->load, &slip, at);
	foreign_finish(foreign, &slip);
}
