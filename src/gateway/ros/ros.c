/* A message is read from protobuf's bytes into its struct, and written from there: one reader with its limits serves
 * all types, and a type is one function. The other way, for the few types that the server takes, a message is filled
 * from CDR and written by protobuf-c.
 *
 * ros_gz_bridge pairs the same types; see ros.h. */
#include "gateway/ros/ros.h"

#include "gateway/ros/definitions.h"
#include "gateway/ros/write.h"
#include "topic/message.h"
#include "topic/motion.pb-c.h"
#include "topic/plain.pb-c.h"
#include "topic/rmf.pb-c.h"
#include "topic/scene.pb-c.h"
#include "topic/sensor.pb-c.h"
#include "topic/troupe.pb-c.h"
#include "topic/world.pb-c.h"

#include <stdlib.h>
#include <string.h>

#define GZ(name) &gz__msgs__##name##__descriptor
#define TROUPE(name) &troupe__msgs__##name##__descriptor

/* A type that stands twice: the first row is for topics of frames. */
static const struct ros_type ros_types[] = {
	{GZ(actuators), "actuator_msgs/msg/Actuators", write_actuators, read_actuators},
	{GZ(altimeter), "ros_gz_interfaces/msg/Altimeter", write_altimeter, NULL},
	{GZ(annotated_axis_aligned2_dbox__v), "vision_msgs/msg/Detection2DArray", write_boxes, NULL},
	{GZ(annotated_oriented3_dbox__v), "vision_msgs/msg/Detection3DArray", write_solid_boxes, NULL},
	{GZ(boolean), "std_msgs/msg/Bool", write_boolean, read_boolean},
	{GZ(camera_info), "sensor_msgs/msg/CameraInfo", write_camera_info, NULL},
	{GZ(clock), "rosgraph_msgs/msg/Clock", write_clock, NULL},
	{&troupe__msgs__compressed_image__descriptor, "sensor_msgs/msg/CompressedImage", write_compressed_image, NULL},
	{GZ(contacts), "ros_gz_interfaces/msg/Contacts", write_contacts, NULL},
	{TROUPE(dispenser_request), "rmf_dispenser_msgs/msg/DispenserRequest", write_dispenser_request,
		read_dispenser_request},
	{TROUPE(dispenser_result), "rmf_dispenser_msgs/msg/DispenserResult", write_dispenser_result, NULL},
	{TROUPE(dispenser_state), "rmf_dispenser_msgs/msg/DispenserState", write_dispenser_state, NULL},
	{TROUPE(door_request), "rmf_door_msgs/msg/DoorRequest", write_door_request, read_door_request},
	{TROUPE(door_state), "rmf_door_msgs/msg/DoorState", write_door_state, NULL},
	{GZ(double), "std_msgs/msg/Float64", write_double, read_double},
	{GZ(empty), "std_msgs/msg/Empty", write_empty, read_empty},
	{GZ(entity), "ros_gz_interfaces/msg/Entity", write_entity, read_entity},
	{GZ(entity_wrench), "ros_gz_interfaces/msg/EntityWrench", write_entity_wrench, read_entity_wrench},
	{TROUPE(fleet_state), "rmf_fleet_msgs/msg/FleetState", write_fleet_state, read_fleet_state},
	{GZ(float), "std_msgs/msg/Float32", write_float, read_float},
	{GZ(fluid_pressure), "sensor_msgs/msg/FluidPressure", write_pressure, NULL},
	{GZ(imu), "sensor_msgs/msg/Imu", write_imu, NULL},
	{GZ(image), "sensor_msgs/msg/Image", write_image, NULL},
	{TROUPE(ingestor_request), "rmf_ingestor_msgs/msg/IngestorRequest", write_ingestor_request,
		read_ingestor_request},
	{TROUPE(ingestor_result), "rmf_ingestor_msgs/msg/IngestorResult", write_ingestor_result, NULL},
	{TROUPE(ingestor_state), "rmf_ingestor_msgs/msg/IngestorState", write_ingestor_state, NULL},
	{GZ(int32), "std_msgs/msg/Int32", write_int32, read_int32},
	{GZ(int64), "std_msgs/msg/Int64", write_int64, read_int64},
	{GZ(joint_trajectory), "trajectory_msgs/msg/JointTrajectory", write_joint_trajectory, read_joint_trajectory},
	{GZ(laser_scan), "sensor_msgs/msg/LaserScan", write_scan, NULL},
	{TROUPE(lift_request), "rmf_lift_msgs/msg/LiftRequest", write_lift_request, read_lift_request},
	{TROUPE(lift_state), "rmf_lift_msgs/msg/LiftState", write_lift_state, NULL},
	{GZ(magnetometer), "sensor_msgs/msg/MagneticField", write_magnetic_field, NULL},
	{GZ(model), "sensor_msgs/msg/JointState", write_joint_state, NULL},
	{GZ(nav_sat), "sensor_msgs/msg/NavSatFix", write_navsat, NULL},
	{GZ(odometry), "nav_msgs/msg/Odometry", write_odometry, NULL},
	{GZ(point_cloud_packed), "sensor_msgs/msg/PointCloud2", write_points, NULL},
	{GZ(pose), "geometry_msgs/msg/PoseStamped", write_pose, NULL},
	{GZ(pose__v), "tf2_msgs/msg/TFMessage", write_tf, NULL},
	{GZ(pose__v), "geometry_msgs/msg/PoseArray", write_poses, NULL},
	{TROUPE(robot_mode_request), "rmf_fleet_msgs/msg/ModeRequest", write_robot_mode_request,
		read_robot_mode_request},
	{TROUPE(robot_path_request), "rmf_fleet_msgs/msg/PathRequest", write_robot_path_request,
		read_robot_path_request},
	{TROUPE(robot_pause_request), "rmf_fleet_msgs/msg/PauseRequest", write_robot_pause_request,
		read_robot_pause_request},
	{TROUPE(robot_state), "rmf_fleet_msgs/msg/RobotState", write_robot_state, NULL},
	{GZ(string_msg), "std_msgs/msg/String", write_string, read_string},
	{GZ(twist), "geometry_msgs/msg/Twist", write_twist, read_twist},
	{GZ(uint32), "std_msgs/msg/UInt32", write_uint32, read_uint32},
	{GZ(uint64), "std_msgs/msg/UInt64", write_uint64, read_uint64},
	{GZ(wrench), "geometry_msgs/msg/WrenchStamped", write_wrench, NULL},
};

/* Pairs that ros_type_find() does not choose. */
static const struct ros_type ros_type_twist_stamped = {
	GZ(twist), "geometry_msgs/msg/TwistStamped", NULL, read_twist_stamped};
static const struct ros_type ros_type_fixed_frames = {GZ(scene), "tf2_msgs/msg/TFMessage", write_fixed_frames, NULL};

const struct ros_type *ros_twist_stamped(void)
{
	return &ros_type_twist_stamped;
}

const struct ros_type *ros_fixed_frames(void)
{
	return &ros_type_fixed_frames;
}

static bool ros_has_frames(const char *topic)
{
	static const char *const names[] = {"tf", "tf_static", "pose", "pose_static"};
	const char *slash = topic ? strrchr(topic, '/') : NULL;
	for (size_t i = 0; slash && i < ARRAY_LEN(names); i++)
		if (!strcmp(slash + 1, names[i]))
			return true;
	return false;
}

const struct ros_type *ros_type_find(const char *type, const char *topic)
{
	message_type found = type_find(type);
	for (size_t i = 0; found && i < ARRAY_LEN(ros_types); i++)
		if (ros_types[i].gz == found)
			return ros_types + i + (ros_types[i].write == write_tf && !ros_has_frames(topic));
	return NULL;
}

void ros_add_schema(const struct ros_type *type, struct text *out)
{
	const char *slash = strchr(type->name, '/');
	char *name = mem_printf("%.*s%s", (int)(slash - type->name), type->name, strrchr(type->name, '/'));
	definitions_add(name, out);
	free(name);
}

troupe_status ros_of_bytes_for(const struct ros_type *type, const char *robot, const void *bytes, size_t count,
	struct text *out, struct troupe_error *error)
{
	static const struct message_limits no_limits = {.bytes_max = UINT32_MAX, .items_max = UINT32_MAX};
	ProtobufCMessage *message;
	struct arena arena = {0};
	size_t before = out->count;
	troupe_status status = message_of_bytes_in(&arena, type->gz, bytes, count, &no_limits, &message, error);
	if (status)
		return status;
	struct cdr_out cdr = cdr_begin(out);
	if (robot && type->write == write_tf)
		write_robot_tf(&cdr, message, robot);
	else if (robot && type->write == write_fixed_frames)
		write_robot_fixed_frames(&cdr, message, robot);
	else
		status = type->write(&cdr, message, error);
	if (status || out->count == cdr.origin)
		out->count = before;
	arena_fini(&arena);
	return status;
}

troupe_status ros_of_bytes(
	const struct ros_type *type, const void *bytes, size_t count, struct text *out, struct troupe_error *error)
{
	return ros_of_bytes_for(type, NULL, bytes, count, out, error);
}

troupe_status ros_to_bytes(
	const struct ros_type *type, const void *cdr, size_t count, struct text *out, struct troupe_error *error)
{
	struct cdr_in in = cdr_open(cdr, count);
	struct text bytes = {0};
	if (!in.bad)
		type->read(&in, &bytes);
	if (!in.bad && bytes.count)
		text_add_bytes(out, bytes.at, bytes.count);
	text_fini(&bytes);
	return in.bad ? fail(error, TROUPE_ECOMMAND, "not a message of %s in CDR", type->name) : TROUPE_OK;
}
