/* A message is read from protobuf's bytes into its struct, and written from there: one reader with its limits serves
 * all types, and a type is one function, or has none if its fields have the same names in ROS 2 (paired.h). All types
 * that the server takes are of the second kind.
 *
 * ros_gz_bridge pairs the same types; see ros.h. */
#include "gateway/ros/ros.h"

#include "gateway/ros/definitions.h"
#include "gateway/ros/paired.h"
#include "gateway/ros/write.h"
#include "topic/message.h"
#include "topic/motion.pb-c.h"
#include "topic/plain.pb-c.h"
#include "topic/rmf.pb-c.h"
#include "topic/scene.pb-c.h"
#include "topic/sensor.pb-c.h"
#include "topic/troupe.pb-c.h"
#include "topic/world.pb-c.h"

#include <string.h>

#define GZ(name) &gz__msgs__##name##__descriptor
#define TROUPE(name) &troupe__msgs__##name##__descriptor

/* A type that stands twice: the first row is for topics of frames. */
static const struct ros_type ros_types[] = {
	{GZ(actuators), "actuator_msgs/msg/Actuators", NULL, true},
	{GZ(altimeter), "ros_gz_interfaces/msg/Altimeter", write_altimeter, false},
	{GZ(annotated_axis_aligned2_dbox__v), "vision_msgs/msg/Detection2DArray", write_boxes, false},
	{GZ(annotated_oriented3_dbox__v), "vision_msgs/msg/Detection3DArray", write_solid_boxes, false},
	{GZ(boolean), "std_msgs/msg/Bool", NULL, true},
	{GZ(camera_info), "sensor_msgs/msg/CameraInfo", write_camera_info, false},
	{GZ(clock), "rosgraph_msgs/msg/Clock", write_clock, false},
	{TROUPE(compressed_image), "sensor_msgs/msg/CompressedImage", write_compressed_image, false},
	{GZ(contacts), "ros_gz_interfaces/msg/Contacts", write_contacts, false},
	{TROUPE(dispenser_request), "rmf_dispenser_msgs/msg/DispenserRequest", NULL, true},
	{TROUPE(dispenser_result), "rmf_dispenser_msgs/msg/DispenserResult", NULL, false},
	{TROUPE(dispenser_state), "rmf_dispenser_msgs/msg/DispenserState", NULL, false},
	{TROUPE(door_request), "rmf_door_msgs/msg/DoorRequest", NULL, true},
	{TROUPE(door_state), "rmf_door_msgs/msg/DoorState", NULL, false},
	{GZ(double), "std_msgs/msg/Float64", NULL, true},
	{GZ(empty), "std_msgs/msg/Empty", NULL, true},
	{GZ(entity), "ros_gz_interfaces/msg/Entity", NULL, true},
	{GZ(entity_wrench), "ros_gz_interfaces/msg/EntityWrench", NULL, true},
	{TROUPE(fleet_state), "rmf_fleet_msgs/msg/FleetState", NULL, true},
	{GZ(float), "std_msgs/msg/Float32", NULL, true},
	{GZ(fluid_pressure), "sensor_msgs/msg/FluidPressure", write_pressure, false},
	{GZ(imu), "sensor_msgs/msg/Imu", write_imu, false},
	{GZ(image), "sensor_msgs/msg/Image", write_image, false},
	{TROUPE(ingestor_request), "rmf_ingestor_msgs/msg/IngestorRequest", NULL, true},
	{TROUPE(ingestor_result), "rmf_ingestor_msgs/msg/IngestorResult", NULL, false},
	{TROUPE(ingestor_state), "rmf_ingestor_msgs/msg/IngestorState", NULL, false},
	{GZ(int32), "std_msgs/msg/Int32", NULL, true},
	{GZ(int64), "std_msgs/msg/Int64", NULL, true},
	{GZ(joint_trajectory), "trajectory_msgs/msg/JointTrajectory", NULL, true},
	{GZ(laser_scan), "sensor_msgs/msg/LaserScan", write_scan, false},
	{TROUPE(lift_request), "rmf_lift_msgs/msg/LiftRequest", NULL, true},
	{TROUPE(lift_state), "rmf_lift_msgs/msg/LiftState", NULL, false},
	{GZ(magnetometer), "sensor_msgs/msg/MagneticField", write_magnetic_field, false},
	{GZ(model), "sensor_msgs/msg/JointState", write_joint_state, false},
	{GZ(nav_sat), "sensor_msgs/msg/NavSatFix", write_navsat, false},
	{GZ(odometry), "nav_msgs/msg/Odometry", write_odometry, false},
	{GZ(point_cloud_packed), "sensor_msgs/msg/PointCloud2", write_points, false},
	{GZ(pose), "geometry_msgs/msg/PoseStamped", write_pose, false},
	{GZ(pose__v), "tf2_msgs/msg/TFMessage", write_tf, false},
	{GZ(pose__v), "geometry_msgs/msg/PoseArray", write_poses, false},
	{TROUPE(robot_mode_request), "rmf_fleet_msgs/msg/ModeRequest", NULL, true},
	{TROUPE(robot_path_request), "rmf_fleet_msgs/msg/PathRequest", NULL, true},
	{TROUPE(robot_pause_request), "rmf_fleet_msgs/msg/PauseRequest", NULL, true},
	{TROUPE(robot_state), "rmf_fleet_msgs/msg/RobotState", NULL, false},
	{GZ(string_msg), "std_msgs/msg/String", NULL, true},
	{GZ(twist), "geometry_msgs/msg/Twist", NULL, true},
	{GZ(uint32), "std_msgs/msg/UInt32", NULL, true},
	{GZ(uint64), "std_msgs/msg/UInt64", NULL, true},
	{GZ(wrench), "geometry_msgs/msg/WrenchStamped", write_wrench, false},
};

/* Pairs that ros_type_find() does not choose. */
static const struct ros_type ros_type_twist_stamped = {GZ(twist), "geometry_msgs/msg/TwistStamped", NULL, true};
static const struct ros_type ros_type_fixed_frames = {GZ(scene), "tf2_msgs/msg/TFMessage", write_fixed_frames, false};

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
	definitions_add(type->name, out);
}

troupe_status ros_of_bytes_for(const struct ros_type *type, const char *robot, const void *bytes, size_t count,
	struct text *out, struct troupe_error *error)
{
	ProtobufCMessage *message;
	struct arena arena = {0};
	size_t before = out->count;
	troupe_status status =
		message_of_bytes_in(&arena, type->gz, bytes, count, &message_limits_none, &message, error);
	if (status)
		return status;
	struct cdr_out cdr = cdr_begin(out);
	if (robot && type->write == write_tf)
		write_robot_tf(&cdr, message, robot);
	else if (robot && type->write == write_fixed_frames)
		write_robot_fixed_frames(&cdr, message, robot);
	else if (type->write)
		status = type->write(&cdr, message, error);
	else
		paired_write(&cdr, type->name, message);
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
		paired_read(&in, type->name, type->gz, &bytes);
	if (!in.bad && bytes.count)
		text_add_bytes(out, bytes.at, bytes.count);
	text_fini(&bytes);
	return in.bad ? fail(error, TROUPE_ECOMMAND, "not a message of %s in CDR", type->name) : TROUPE_OK;
}
