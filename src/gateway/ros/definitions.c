/* The definitions of the types of ROS 2, as its packages have them, without comments. A definition names the types of
 * its fields, so the definitions that a schema needs are found from its own lines. tests/web compares them with those
 * that another project ships, and reads CDR by them. */
#include "gateway/ros/definitions.h"

#include <string.h>

static const struct {
	const char *name, *text;
} definitions[] = {
	{"builtin_interfaces/Time", "int32 sec\n"
				    "uint32 nanosec\n"},
	{"std_msgs/Header", "builtin_interfaces/Time stamp\n"
			    "string frame_id\n"},
	{"std_msgs/Empty", ""},
	{"std_msgs/Bool", "bool data\n"},
	{"std_msgs/Float32", "float32 data\n"},
	{"std_msgs/Float64", "float64 data\n"},
	{"std_msgs/Int32", "int32 data\n"},
	{"std_msgs/Int64", "int64 data\n"},
	{"std_msgs/UInt32", "uint32 data\n"},
	{"std_msgs/UInt64", "uint64 data\n"},
	{"std_msgs/String", "string data\n"},
	{"rosgraph_msgs/Clock", "builtin_interfaces/Time clock\n"},
	{"geometry_msgs/Vector3", "float64 x\n"
				  "float64 y\n"
				  "float64 z\n"},
	{"geometry_msgs/Point", "float64 x\n"
				"float64 y\n"
				"float64 z\n"},
	{"geometry_msgs/Quaternion", "float64 x 0\n"
				     "float64 y 0\n"
				     "float64 z 0\n"
				     "float64 w 1\n"},
	{"geometry_msgs/Pose", "geometry_msgs/Point position\n"
			       "geometry_msgs/Quaternion orientation\n"},
	{"geometry_msgs/PoseStamped", "std_msgs/Header header\n"
				      "geometry_msgs/Pose pose\n"},
	{"geometry_msgs/PoseArray", "std_msgs/Header header\n"
				    "geometry_msgs/Pose[] poses\n"},
	{"geometry_msgs/PoseWithCovariance", "geometry_msgs/Pose pose\n"
					     "float64[36] covariance\n"},
	{"geometry_msgs/Twist", "geometry_msgs/Vector3 linear\n"
				"geometry_msgs/Vector3 angular\n"},
	{"geometry_msgs/TwistStamped", "std_msgs/Header header\n"
				       "geometry_msgs/Twist twist\n"},
	{"geometry_msgs/TwistWithCovariance", "geometry_msgs/Twist twist\n"
					      "float64[36] covariance\n"},
	{"geometry_msgs/Transform", "geometry_msgs/Vector3 translation\n"
				    "geometry_msgs/Quaternion rotation\n"},
	{"geometry_msgs/TransformStamped", "std_msgs/Header header\n"
					   "string child_frame_id\n"
					   "geometry_msgs/Transform transform\n"},
	{"geometry_msgs/Wrench", "geometry_msgs/Vector3 force\n"
				 "geometry_msgs/Vector3 torque\n"},
	{"geometry_msgs/WrenchStamped", "std_msgs/Header header\n"
					"geometry_msgs/Wrench wrench\n"},
	{"tf2_msgs/TFMessage", "geometry_msgs/TransformStamped[] transforms\n"},
	{"nav_msgs/Odometry", "std_msgs/Header header\n"
			      "string child_frame_id\n"
			      "geometry_msgs/PoseWithCovariance pose\n"
			      "geometry_msgs/TwistWithCovariance twist\n"},
	{"actuator_msgs/Actuators", "std_msgs/Header header\n"
				    "float64[] position\n"
				    "float64[] velocity\n"
				    "float64[] normalized\n"},
	{"sensor_msgs/JointState", "std_msgs/Header header\n"
				   "string[] name\n"
				   "float64[] position\n"
				   "float64[] velocity\n"
				   "float64[] effort\n"},
	{"sensor_msgs/LaserScan", "std_msgs/Header header\n"
				  "float32 angle_min\n"
				  "float32 angle_max\n"
				  "float32 angle_increment\n"
				  "float32 time_increment\n"
				  "float32 scan_time\n"
				  "float32 range_min\n"
				  "float32 range_max\n"
				  "float32[] ranges\n"
				  "float32[] intensities\n"},
	{"sensor_msgs/PointField", "uint8 INT8=1\n"
				   "uint8 UINT8=2\n"
				   "uint8 INT16=3\n"
				   "uint8 UINT16=4\n"
				   "uint8 INT32=5\n"
				   "uint8 UINT32=6\n"
				   "uint8 FLOAT32=7\n"
				   "uint8 FLOAT64=8\n"
				   "string name\n"
				   "uint32 offset\n"
				   "uint8 datatype\n"
				   "uint32 count\n"},
	{"sensor_msgs/PointCloud2", "std_msgs/Header header\n"
				    "uint32 height\n"
				    "uint32 width\n"
				    "sensor_msgs/PointField[] fields\n"
				    "bool is_bigendian\n"
				    "uint32 point_step\n"
				    "uint32 row_step\n"
				    "uint8[] data\n"
				    "bool is_dense\n"},
	{"sensor_msgs/Image", "std_msgs/Header header\n"
			      "uint32 height\n"
			      "uint32 width\n"
			      "string encoding\n"
			      "uint8 is_bigendian\n"
			      "uint32 step\n"
			      "uint8[] data\n"},
	{"sensor_msgs/RegionOfInterest", "uint32 x_offset\n"
					 "uint32 y_offset\n"
					 "uint32 height\n"
					 "uint32 width\n"
					 "bool do_rectify\n"},
	{"sensor_msgs/CameraInfo", "std_msgs/Header header\n"
				   "uint32 height\n"
				   "uint32 width\n"
				   "string distortion_model\n"
				   "float64[] d\n"
				   "float64[9] k\n"
				   "float64[9] r\n"
				   "float64[12] p\n"
				   "uint32 binning_x\n"
				   "uint32 binning_y\n"
				   "sensor_msgs/RegionOfInterest roi\n"},
	{"sensor_msgs/Imu", "std_msgs/Header header\n"
			    "geometry_msgs/Quaternion orientation\n"
			    "float64[9] orientation_covariance\n"
			    "geometry_msgs/Vector3 angular_velocity\n"
			    "float64[9] angular_velocity_covariance\n"
			    "geometry_msgs/Vector3 linear_acceleration\n"
			    "float64[9] linear_acceleration_covariance\n"},
	{"sensor_msgs/NavSatStatus", "int8 STATUS_NO_FIX = -1\n"
				     "int8 STATUS_FIX = 0\n"
				     "int8 STATUS_SBAS_FIX = 1\n"
				     "int8 STATUS_GBAS_FIX = 2\n"
				     "int8 status\n"
				     "uint16 SERVICE_GPS = 1\n"
				     "uint16 SERVICE_GLONASS = 2\n"
				     "uint16 SERVICE_COMPASS = 4\n"
				     "uint16 SERVICE_GALILEO = 8\n"
				     "uint16 service\n"},
	{"sensor_msgs/NavSatFix", "std_msgs/Header header\n"
				  "sensor_msgs/NavSatStatus status\n"
				  "float64 latitude\n"
				  "float64 longitude\n"
				  "float64 altitude\n"
				  "float64[9] position_covariance\n"
				  "uint8 COVARIANCE_TYPE_UNKNOWN = 0\n"
				  "uint8 COVARIANCE_TYPE_APPROXIMATED = 1\n"
				  "uint8 COVARIANCE_TYPE_DIAGONAL_KNOWN = 2\n"
				  "uint8 COVARIANCE_TYPE_KNOWN = 3\n"
				  "uint8 position_covariance_type\n"},
	{"sensor_msgs/MagneticField", "std_msgs/Header header\n"
				      "geometry_msgs/Vector3 magnetic_field\n"
				      "float64[9] magnetic_field_covariance\n"},
	{"sensor_msgs/FluidPressure", "std_msgs/Header header\n"
				      "float64 fluid_pressure\n"
				      "float64 variance\n"},
	{"ros_gz_interfaces/Altimeter", "std_msgs/Header header\n"
					"float64 vertical_position\n"
					"float64 vertical_velocity\n"
					"float64 vertical_reference\n"},
	{"ros_gz_interfaces/Entity", "uint8 NONE=0\n"
				     "uint8 LIGHT=1\n"
				     "uint8 MODEL=2\n"
				     "uint8 LINK=3\n"
				     "uint8 VISUAL=4\n"
				     "uint8 COLLISION=5\n"
				     "uint8 SENSOR=6\n"
				     "uint8 JOINT=7\n"
				     "uint64 id\n"
				     "string name\n"
				     "uint8 type\n"},
	{"ros_gz_interfaces/EntityWrench", "std_msgs/Header header\n"
					   "ros_gz_interfaces/Entity entity\n"
					   "geometry_msgs/Wrench wrench\n"},
	{"ros_gz_interfaces/JointWrench", "std_msgs/Header header\n"
					  "std_msgs/String body_1_name\n"
					  "std_msgs/UInt32 body_1_id\n"
					  "std_msgs/String body_2_name\n"
					  "std_msgs/UInt32 body_2_id\n"
					  "geometry_msgs/Wrench body_1_wrench\n"
					  "geometry_msgs/Wrench body_2_wrench\n"},
	{"ros_gz_interfaces/Contact", "ros_gz_interfaces/Entity collision1\n"
				      "ros_gz_interfaces/Entity collision2\n"
				      "geometry_msgs/Vector3[] positions\n"
				      "geometry_msgs/Vector3[] normals\n"
				      "float64[] depths\n"
				      "ros_gz_interfaces/JointWrench[] wrenches\n"},
	{"ros_gz_interfaces/Contacts", "std_msgs/Header header\n"
				       "ros_gz_interfaces/Contact[] contacts\n"},
	{"vision_msgs/Point2D", "float64 x\n"
				"float64 y\n"},
	{"vision_msgs/Pose2D", "vision_msgs/Point2D position\n"
			       "float64 theta\n"},
	{"vision_msgs/BoundingBox2D", "vision_msgs/Pose2D center\n"
				      "float64 size_x\n"
				      "float64 size_y\n"},
	{"vision_msgs/BoundingBox3D", "geometry_msgs/Pose center\n"
				      "geometry_msgs/Vector3 size\n"},
	{"vision_msgs/ObjectHypothesis", "string class_id\n"
					 "float64 score\n"},
	{"vision_msgs/ObjectHypothesisWithPose", "vision_msgs/ObjectHypothesis hypothesis\n"
						 "geometry_msgs/PoseWithCovariance pose\n"},
	{"vision_msgs/Detection2D", "std_msgs/Header header\n"
				    "vision_msgs/ObjectHypothesisWithPose[] results\n"
				    "vision_msgs/BoundingBox2D bbox\n"
				    "string id\n"},
	{"vision_msgs/Detection2DArray", "std_msgs/Header header\n"
					 "vision_msgs/Detection2D[] detections\n"},
	{"vision_msgs/Detection3D", "std_msgs/Header header\n"
				    "vision_msgs/ObjectHypothesisWithPose[] results\n"
				    "vision_msgs/BoundingBox3D bbox\n"
				    "string id\n"},
	{"vision_msgs/Detection3DArray", "std_msgs/Header header\n"
					 "vision_msgs/Detection3D[] detections\n"},
};

/* The definition of the type whose name is the first `length` characters; ARRAY_LEN(definitions): there is none. */
static size_t find(const char *name, size_t length)
{
	size_t i = 0;
	while (i < ARRAY_LEN(definitions) &&
		(strncmp(definitions[i].name, name, length) || definitions[i].name[length]))
		i++;
	return i;
}

/* Adds the types of the fields to a list in which each type stands once. */
static size_t add_parts(size_t of, size_t list[ARRAY_LEN(definitions)], size_t count)
{
	const char *end;
	for (const char *line = definitions[of].text; *line; line = end + 1) {
		end = strchr(line, '\n');
		size_t length = strcspn(line, " ["), part = find(line, length), i = 0;
		while (i < count && list[i] != part)
			i++;
		if (part < ARRAY_LEN(definitions) && i == count)
			list[count++] = part;
	}
	return count;
}

void definitions_add(const char *name, struct text *out)
{
	static const char rule[] = "================================================================================\n";
	size_t list[ARRAY_LEN(definitions)] = {find(name, strlen(name))}, count = 1;
	for (size_t i = 0; i < count; i++) {
		count = add_parts(list[i], list, count);
		if (i)
			text_add(out, "%sMSG: %s\n", rule, definitions[list[i]].name);
		text_add(out, "%s", definitions[list[i]].text);
	}
}

const char *definitions_find(const char *name, size_t length)
{
	size_t at = find(name, length);
	return at < ARRAY_LEN(definitions) ? definitions[at].text : NULL;
}
