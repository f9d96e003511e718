/* The definitions of the types of ROS 2, as its packages have them, without comments. A definition names the types of
 * its fields, so the definitions that a schema needs are found from its own lines. tests/web compares them with those
 * that another project ships, and reads CDR by them. */
#include "gateway/ros/definitions.h"

#include <string.h>

/* One service of simulation_interfaces spawns an entity, another one a list of them: with the same fields. */
#define SPAWN_REQUEST                                                                                                  \
	"string name\n"                                                                                                \
	"bool allow_renaming\n"                                                                                        \
	"simulation_interfaces/Resource entity_resource\n"                                                             \
	"string entity_namespace\n"                                                                                    \
	"geometry_msgs/PoseStamped initial_pose\n"
#define SPAWN_RESULT                                                                                                   \
	"uint8 NAME_NOT_UNIQUE=101\n"                                                                                  \
	"uint8 NAME_INVALID=102\n"                                                                                     \
	"uint8 UNSUPPORTED_FORMAT=103\n"                                                                               \
	"uint8 NO_RESOURCE=104\n"                                                                                      \
	"uint8 NAMESPACE_INVALID=105\n"                                                                                \
	"uint8 RESOURCE_PARSE_ERROR=106\n"                                                                             \
	"uint8 MISSING_ASSETS=107\n"                                                                                   \
	"uint8 UNSUPPORTED_ASSETS=108\n"                                                                               \
	"uint8 INVALID_POSE=109\n"                                                                                     \
	"simulation_interfaces/Result result\n"                                                                        \
	"string entity_name\n"

static const struct {
	const char *name, *text;
} definitions[] = {
	{"builtin_interfaces/Time", "int32 sec\n"
				    "uint32 nanosec\n"},
	{"builtin_interfaces/Duration", "int32 sec\n"
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
	{"rmf_door_msgs/DoorMode", "uint32 value\n"
				   "uint32 MODE_CLOSED=0\n"
				   "uint32 MODE_MOVING=1\n"
				   "uint32 MODE_OPEN=2\n"
				   "uint32 MODE_OFFLINE=3\n"
				   "uint32 MODE_UNKNOWN=4\n"},
	{"rmf_door_msgs/DoorState", "builtin_interfaces/Time door_time\n"
				    "string door_name\n"
				    "rmf_door_msgs/DoorMode current_mode\n"},
	{"rmf_door_msgs/DoorRequest", "builtin_interfaces/Time request_time\n"
				      "string requester_id\n"
				      "string door_name\n"
				      "rmf_door_msgs/DoorMode requested_mode\n"},
	{"rmf_fleet_msgs/Location", "builtin_interfaces/Time t\n"
				    "float32 x\n"
				    "float32 y\n"
				    "float32 yaw\n"
				    "bool obey_approach_speed_limit false\n"
				    "float32 approach_speed_limit\n"
				    "string level_name\n"
				    "uint64 index\n"},
	{"rmf_fleet_msgs/RobotMode", "uint32 mode\n"
				     "uint32 MODE_IDLE=0\n"
				     "uint32 MODE_CHARGING=1\n"
				     "uint32 MODE_MOVING=2\n"
				     "uint32 MODE_PAUSED=3\n"
				     "uint32 MODE_WAITING=4\n"
				     "uint32 MODE_EMERGENCY=5\n"
				     "uint32 MODE_GOING_HOME=6\n"
				     "uint32 MODE_DOCKING=7\n"
				     "uint32 MODE_ADAPTER_ERROR=8\n"
				     "uint32 MODE_CLEANING=9\n"
				     "uint32 MODE_PERFORMING_ACTION=10\n"
				     "uint32 MODE_ACTION_COMPLETED=11\n"
				     "uint64 mode_request_id\n"
				     "string performing_action\n"},
	{"rmf_fleet_msgs/RobotState", "string name\n"
				      "string model\n"
				      "string task_id\n"
				      "uint64 seq\n"
				      "rmf_fleet_msgs/RobotMode mode\n"
				      "float32 battery_percent\n"
				      "rmf_fleet_msgs/Location location\n"
				      "rmf_fleet_msgs/Location[] path\n"},
	{"rmf_fleet_msgs/FleetState", "string name\n"
				      "rmf_fleet_msgs/RobotState[] robots\n"},
	{"rmf_dispenser_msgs/DispenserState", "builtin_interfaces/Time time\n"
					      "string guid\n"
					      "int32 mode\n"
					      "int32 IDLE=0\n"
					      "int32 BUSY=1\n"
					      "int32 OFFLINE=2\n"
					      "string[] request_guid_queue\n"
					      "float32 seconds_remaining\n"},
	{"rmf_dispenser_msgs/DispenserRequestItem", "string type_guid\n"
						    "int32 quantity\n"
						    "string compartment_name\n"},
	{"rmf_dispenser_msgs/DispenserRequest", "builtin_interfaces/Time time\n"
						"string request_guid\n"
						"string target_guid\n"
						"string transporter_type\n"
						"rmf_dispenser_msgs/DispenserRequestItem[] items\n"},
	{"rmf_dispenser_msgs/DispenserResult", "builtin_interfaces/Time time\n"
					       "string request_guid\n"
					       "string source_guid\n"
					       "uint8 status\n"
					       "uint8 ACKNOWLEDGED=0\n"
					       "uint8 SUCCESS=1\n"
					       "uint8 FAILED=2\n"},
	{"rmf_ingestor_msgs/IngestorState", "builtin_interfaces/Time time\n"
					    "string guid\n"
					    "int32 mode\n"
					    "int32 IDLE=0\n"
					    "int32 BUSY=1\n"
					    "int32 OFFLINE=2\n"
					    "string[] request_guid_queue\n"
					    "float32 seconds_remaining\n"},
	{"rmf_ingestor_msgs/IngestorRequestItem", "string type_guid\n"
						  "int32 quantity\n"
						  "string compartment_name\n"},
	{"rmf_ingestor_msgs/IngestorRequest", "builtin_interfaces/Time time\n"
					      "string request_guid\n"
					      "string target_guid\n"
					      "string transporter_type\n"
					      "rmf_ingestor_msgs/IngestorRequestItem[] items\n"},
	{"rmf_ingestor_msgs/IngestorResult", "builtin_interfaces/Time time\n"
					     "string request_guid\n"
					     "string source_guid\n"
					     "uint8 status\n"
					     "uint8 ACKNOWLEDGED=0\n"
					     "uint8 SUCCESS=1\n"
					     "uint8 FAILED=2\n"},
	{"rmf_fleet_msgs/PathRequest", "string fleet_name\n"
				       "string robot_name\n"
				       "rmf_fleet_msgs/Location[] path\n"
				       "string task_id\n"},
	{"rmf_fleet_msgs/ModeParameter", "string name\n"
					 "string value\n"},
	{"rmf_fleet_msgs/ModeRequest", "string fleet_name\n"
				       "string robot_name\n"
				       "rmf_fleet_msgs/RobotMode mode\n"
				       "string task_id\n"
				       "rmf_fleet_msgs/ModeParameter[] parameters\n"},
	{"rmf_fleet_msgs/PauseRequest", "string fleet_name\n"
					"string robot_name\n"
					"uint64 mode_request_id\n"
					"uint32 TYPE_PAUSE_IMMEDIATELY=0\n"
					"uint32 TYPE_PAUSE_AT_CHECKPOINT=1\n"
					"uint32 TYPE_RESUME=2\n"
					"uint32 type\n"
					"uint32 at_checkpoint\n"},
	{"rmf_lift_msgs/LiftState", "builtin_interfaces/Time lift_time\n"
				    "string lift_name\n"
				    "string[] available_floors\n"
				    "string current_floor\n"
				    "string destination_floor\n"
				    "uint8 door_state\n"
				    "uint8 DOOR_CLOSED=0\n"
				    "uint8 DOOR_MOVING=1\n"
				    "uint8 DOOR_OPEN=2\n"
				    "uint8 motion_state\n"
				    "uint8 MOTION_STOPPED=0\n"
				    "uint8 MOTION_UP=1\n"
				    "uint8 MOTION_DOWN=2\n"
				    "uint8 MOTION_UNKNOWN=3\n"
				    "uint8[] available_modes\n"
				    "uint8 current_mode\n"
				    "uint8 MODE_UNKNOWN=0\n"
				    "uint8 MODE_HUMAN=1\n"
				    "uint8 MODE_AGV=2\n"
				    "uint8 MODE_FIRE=3\n"
				    "uint8 MODE_OFFLINE=4\n"
				    "uint8 MODE_EMERGENCY=5\n"
				    "string session_id\n"},
	{"rmf_lift_msgs/LiftRequest", "string lift_name\n"
				      "builtin_interfaces/Time request_time\n"
				      "string session_id\n"
				      "uint8 request_type\n"
				      "uint8 REQUEST_END_SESSION=0\n"
				      "uint8 REQUEST_AGV_MODE=1\n"
				      "uint8 REQUEST_HUMAN_MODE=2\n"
				      "string destination_floor\n"
				      "uint8 door_state\n"
				      "uint8 DOOR_CLOSED=0\n"
				      "uint8 DOOR_OPEN=2\n"},
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
	{"trajectory_msgs/JointTrajectoryPoint", "float64[] positions\n"
						 "float64[] velocities\n"
						 "float64[] accelerations\n"
						 "float64[] effort\n"
						 "builtin_interfaces/Duration time_from_start\n"},
	{"trajectory_msgs/JointTrajectory", "std_msgs/Header header\n"
					    "string[] joint_names\n"
					    "trajectory_msgs/JointTrajectoryPoint[] points\n"},
	{"trajectory_msgs/MultiDOFJointTrajectoryPoint", "geometry_msgs/Transform[] transforms\n"
							 "geometry_msgs/Twist[] velocities\n"
							 "geometry_msgs/Twist[] accelerations\n"
							 "builtin_interfaces/Duration time_from_start\n"},
	{"trajectory_msgs/MultiDOFJointTrajectory", "std_msgs/Header header\n"
						    "string[] joint_names\n"
						    "trajectory_msgs/MultiDOFJointTrajectoryPoint[] points\n"},
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
	{"sensor_msgs/CompressedImage", "std_msgs/Header header\n"
					"string format\n"
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
	/* simulation_interfaces 2.1.0, and what it lacks */
	{"geometry_msgs/Accel", "geometry_msgs/Vector3 linear\n"
				"geometry_msgs/Vector3 angular\n"},
	{"simulation_interfaces/Result", "uint8 RESULT_FEATURE_UNSUPPORTED=0\n"
					 "uint8 RESULT_OK=1\n"
					 "uint8 RESULT_NOT_FOUND=2\n"
					 "uint8 RESULT_INCORRECT_STATE=3\n"
					 "uint8 RESULT_OPERATION_FAILED=4\n"
					 "uint8 result\n"
					 "string error_message\n"},
	{"simulation_interfaces/Resource", "string uri\n"
					   "string resource_string\n"},
	{"simulation_interfaces/Bounds", "uint8 TYPE_EMPTY=0\n"
					 "uint8 TYPE_BOX=1\n"
					 "uint8 TYPE_CONVEX_HULL=2\n"
					 "uint8 TYPE_SPHERE=3\n"
					 "uint8 type\n"
					 "geometry_msgs/Vector3[] points\n"},
	{"simulation_interfaces/TagsFilter", "uint8 FILTER_MODE_ANY=0\n"
					     "uint8 FILTER_MODE_ALL=1\n"
					     "string[] tags\n"
					     "uint8 filter_mode\n"},
	{"simulation_interfaces/EntityCategory", "uint8 CATEGORY_OBJECT=0\n"
						 "uint8 CATEGORY_ROBOT=1\n"
						 "uint8 CATEGORY_HUMAN=2\n"
						 "uint8 CATEGORY_DYNAMIC_OBJECT=4\n"
						 "uint8 CATEGORY_STATIC_OBJECT=5\n"
						 "uint8 category\n"},
	{"simulation_interfaces/EntityFilters", "string filter\n"
						"simulation_interfaces/EntityCategory[] categories\n"
						"simulation_interfaces/TagsFilter tags\n"
						"simulation_interfaces/Bounds bounds\n"},
	{"simulation_interfaces/EntityInfo", "simulation_interfaces/EntityCategory category\n"
					     "string description\n"
					     "string[] tags\n"},
	{"simulation_interfaces/EntityState", "std_msgs/Header header\n"
					      "geometry_msgs/Pose pose\n"
					      "geometry_msgs/Twist twist\n"
					      "geometry_msgs/Accel acceleration\n"},
	{"simulation_interfaces/NamedPose", "string name\n"
					    "string description\n"
					    "string[] tags\n"
					    "geometry_msgs/Pose pose\n"},
	{"simulation_interfaces/SimulationState", "uint8 STATE_STOPPED=0\n"
						  "uint8 STATE_PLAYING=1\n"
						  "uint8 STATE_PAUSED=2\n"
						  "uint8 STATE_QUITTING=3\n"
						  "uint8 STATE_NO_WORLD=4\n"
						  "uint8 STATE_LOADING_WORLD=5\n"
						  "uint8 state\n"},
	{"simulation_interfaces/SimulatorFeatures", "uint8 SPAWNING=0\n"
						    "uint8 DELETING=1\n"
						    "uint8 NAMED_POSES=2\n"
						    "uint8 POSE_BOUNDS=3\n"
						    "uint8 ENTITY_TAGS=4\n"
						    "uint8 ENTITY_BOUNDS=5\n"
						    "uint8 ENTITY_BOUNDS_BOX=6\n"
						    "uint8 ENTITY_BOUNDS_CONVEX=7\n"
						    "uint8 ENTITY_CATEGORIES=8\n"
						    "uint8 SPAWNING_RESOURCE_STRING=9\n"
						    "uint8 ENTITY_STATE_GETTING=10\n"
						    "uint8 ENTITY_STATE_SETTING=11\n"
						    "uint8 ENTITY_INFO_GETTING=12\n"
						    "uint8 ENTITY_INFO_SETTING=13\n"
						    "uint8 SPAWNABLES=14\n"
						    "uint8 SIMULATION_RESET=20\n"
						    "uint8 SIMULATION_RESET_TIME=21\n"
						    "uint8 SIMULATION_RESET_STATE=22\n"
						    "uint8 SIMULATION_RESET_SPAWNED=23\n"
						    "uint8 SIMULATION_STATE_GETTING=24\n"
						    "uint8 SIMULATION_STATE_SETTING=25\n"
						    "uint8 SIMULATION_STATE_PAUSE=26\n"
						    "uint8 STEP_SIMULATION_SINGLE=31\n"
						    "uint8 STEP_SIMULATION_MULTIPLE=32\n"
						    "uint8 STEP_SIMULATION_ACTION=33\n"
						    "uint8 WORLD_LOADING=40\n"
						    "uint8 WORLD_RESOURCE_STRING=41\n"
						    "uint8 WORLD_TAGS=42\n"
						    "uint8 WORLD_UNLOADING=43\n"
						    "uint8 WORLD_INFO_GETTING=44\n"
						    "uint8 AVAILABLE_WORLDS=45\n"
						    "uint8 SPAWNING_ENTITIES=50\n"
						    "uint16[] features\n"
						    "string[] spawn_formats\n"
						    "string custom_info\n"},
	{"simulation_interfaces/SpawnEntity", SPAWN_REQUEST},
	{"simulation_interfaces/SpawnResult", SPAWN_RESULT},
	{"simulation_interfaces/Spawnable", "simulation_interfaces/Resource entity_resource\n"
					    "string description\n"
					    "simulation_interfaces/Bounds spawn_bounds\n"},
	{"simulation_interfaces/WorldResource", "string name\n"
						"simulation_interfaces/Resource world_resource\n"
						"string description\n"
						"string[] tags\n"},
	{"simulation_interfaces/GetSimulatorFeatures_Request", ""},
	{"simulation_interfaces/GetSimulatorFeatures_Response", "simulation_interfaces/SimulatorFeatures features\n"},
	{"simulation_interfaces/SpawnEntity_Request", SPAWN_REQUEST},
	{"simulation_interfaces/SpawnEntity_Response", SPAWN_RESULT},
	{"simulation_interfaces/SpawnEntities_Request", "simulation_interfaces/SpawnEntity[] spawn_requests\n"},
	{"simulation_interfaces/SpawnEntities_Response", "uint8 ENTITIES_SPAWN_FAILED=150\n"
							 "simulation_interfaces/Result result\n"
							 "simulation_interfaces/SpawnResult[] results\n"},
	{"simulation_interfaces/DeleteEntity_Request", "string entity\n"},
	{"simulation_interfaces/DeleteEntity_Response", "simulation_interfaces/Result result\n"},
	{"simulation_interfaces/GetEntities_Request", "simulation_interfaces/EntityFilters filters\n"},
	{"simulation_interfaces/GetEntities_Response", "simulation_interfaces/Result result\n"
						       "string[] entities\n"},
	{"simulation_interfaces/GetEntityState_Request", "string entity\n"},
	{"simulation_interfaces/GetEntityState_Response", "simulation_interfaces/Result result\n"
							  "simulation_interfaces/EntityState state\n"},
	{"simulation_interfaces/GetEntitiesStates_Request", "simulation_interfaces/EntityFilters filters\n"},
	{"simulation_interfaces/GetEntitiesStates_Response", "simulation_interfaces/Result result\n"
							     "string[] entities\n"
							     "simulation_interfaces/EntityState[] states\n"},
	{"simulation_interfaces/SetEntityState_Request", "string entity\n"
							 "simulation_interfaces/EntityState state\n"
							 "bool set_pose\n"
							 "bool set_twist\n"
							 "bool set_acceleration\n"},
	{"simulation_interfaces/SetEntityState_Response", "uint8 INVALID_POSE=101\n"
							  "simulation_interfaces/Result result\n"},
	{"simulation_interfaces/GetEntityInfo_Request", "string entity\n"},
	{"simulation_interfaces/GetEntityInfo_Response", "simulation_interfaces/Result result\n"
							 "simulation_interfaces/EntityInfo info\n"},
	{"simulation_interfaces/SetEntityInfo_Request", "string entity\n"
							"simulation_interfaces/EntityInfo info\n"},
	{"simulation_interfaces/SetEntityInfo_Response", "simulation_interfaces/Result result\n"},
	{"simulation_interfaces/GetEntityBounds_Request", "string entity\n"},
	{"simulation_interfaces/GetEntityBounds_Response", "simulation_interfaces/Result result\n"
							   "simulation_interfaces/Bounds bounds\n"},
	{"simulation_interfaces/GetNamedPoses_Request", "simulation_interfaces/TagsFilter tags\n"},
	{"simulation_interfaces/GetNamedPoses_Response", "simulation_interfaces/Result result\n"
							 "simulation_interfaces/NamedPose[] poses\n"},
	{"simulation_interfaces/GetNamedPoseBounds_Request", "string name\n"},
	{"simulation_interfaces/GetNamedPoseBounds_Response", "simulation_interfaces/Result result\n"
							      "simulation_interfaces/Bounds bounds\n"},
	{"simulation_interfaces/GetSpawnables_Request", "string[] sources\n"},
	{"simulation_interfaces/GetSpawnables_Response", "simulation_interfaces/Result result\n"
							 "simulation_interfaces/Spawnable[] spawnables\n"},
	{"simulation_interfaces/GetSimulationState_Request", ""},
	{"simulation_interfaces/GetSimulationState_Response", "simulation_interfaces/SimulationState state\n"
							      "simulation_interfaces/Result result\n"},
	{"simulation_interfaces/SetSimulationState_Request", "simulation_interfaces/SimulationState state\n"},
	{"simulation_interfaces/SetSimulationState_Response", "uint8 ALREADY_IN_TARGET_STATE=101\n"
							      "uint8 STATE_TRANSITION_ERROR=102\n"
							      "uint8 INCORRECT_TRANSITION=103\n"
							      "simulation_interfaces/Result result\n"},
	{"simulation_interfaces/StepSimulation_Request", "uint64 steps\n"},
	{"simulation_interfaces/StepSimulation_Response", "simulation_interfaces/Result result\n"},
	{"simulation_interfaces/ResetSimulation_Request", "uint8 SCOPE_DEFAULT=0\n"
							  "uint8 SCOPE_TIME=1\n"
							  "uint8 SCOPE_STATE=2\n"
							  "uint8 SCOPE_SPAWNED=4\n"
							  "uint8 SCOPE_ALL=255\n"
							  "uint8 scope\n"},
	{"simulation_interfaces/ResetSimulation_Response", "simulation_interfaces/Result result\n"},
	{"simulation_interfaces/LoadWorld_Request", "simulation_interfaces/Resource world_resource\n"
						    "bool fail_on_unsupported_element\n"
						    "bool ignore_missing_or_unsupported_assets\n"},
	{"simulation_interfaces/LoadWorld_Response", "uint8 UNSUPPORTED_FORMAT=101\n"
						     "uint8 NO_RESOURCE=102\n"
						     "uint8 RESOURCE_PARSE_ERROR=103\n"
						     "uint8 MISSING_ASSETS=104\n"
						     "uint8 UNSUPPORTED_ASSETS=105\n"
						     "uint8 UNSUPPORTED_ELEMENTS=106\n"
						     "simulation_interfaces/Result result\n"
						     "simulation_interfaces/WorldResource world\n"},
	{"simulation_interfaces/UnloadWorld_Request", ""},
	{"simulation_interfaces/UnloadWorld_Response", "uint8 NO_WORLD_LOADED=101\n"
						       "simulation_interfaces/Result result\n"},
	{"simulation_interfaces/GetCurrentWorld_Request", ""},
	{"simulation_interfaces/GetCurrentWorld_Response", "uint8 NO_WORLD_LOADED=101\n"
							   "simulation_interfaces/Result result\n"
							   "simulation_interfaces/WorldResource world\n"},
	{"simulation_interfaces/GetAvailableWorlds_Request", "string[] additional_sources\n"
							     "simulation_interfaces/TagsFilter filter\n"
							     "bool offline_only\n"
							     "bool continue_on_error\n"},
	{"simulation_interfaces/GetAvailableWorlds_Response", "uint8 DEFAULT_SOURCES_FAILED=101\n"
							      "simulation_interfaces/Result result\n"
							      "simulation_interfaces/WorldResource[] worlds\n"},
	{"simulation_interfaces/SimulateSteps_Goal", "uint64 steps\n"},
	{"simulation_interfaces/SimulateSteps_Result", "simulation_interfaces/Result result\n"},
	{"simulation_interfaces/SimulateSteps_Feedback", "uint64 completed_steps\n"
							 "uint64 remaining_steps\n"},
	/* the services and topics of an action; those that every action has are in the package action_msgs */
	{"unique_identifier_msgs/UUID", "uint8[16] uuid\n"},
	{"action_msgs/GoalInfo", "unique_identifier_msgs/UUID goal_id\n"
				 "builtin_interfaces/Time stamp\n"},
	{"action_msgs/GoalStatus", "int8 STATUS_UNKNOWN=0\n"
				   "int8 STATUS_ACCEPTED=1\n"
				   "int8 STATUS_EXECUTING=2\n"
				   "int8 STATUS_CANCELING=3\n"
				   "int8 STATUS_SUCCEEDED=4\n"
				   "int8 STATUS_CANCELED=5\n"
				   "int8 STATUS_ABORTED=6\n"
				   "action_msgs/GoalInfo goal_info\n"
				   "int8 status\n"},
	{"action_msgs/GoalStatusArray", "action_msgs/GoalStatus[] status_list\n"},
	{"action_msgs/CancelGoal_Request", "action_msgs/GoalInfo goal_info\n"},
	{"action_msgs/CancelGoal_Response", "int8 ERROR_NONE=0\n"
					    "int8 ERROR_REJECTED=1\n"
					    "int8 ERROR_UNKNOWN_GOAL_ID=2\n"
					    "int8 ERROR_GOAL_TERMINATED=3\n"
					    "int8 return_code\n"
					    "action_msgs/GoalInfo[] goals_canceling\n"},
	{"simulation_interfaces/SimulateSteps_SendGoal_Request", "unique_identifier_msgs/UUID goal_id\n"
								 "simulation_interfaces/SimulateSteps_Goal goal\n"},
	{"simulation_interfaces/SimulateSteps_SendGoal_Response", "bool accepted\n"
								  "builtin_interfaces/Time stamp\n"},
	{"simulation_interfaces/SimulateSteps_GetResult_Request", "unique_identifier_msgs/UUID goal_id\n"},
	{"simulation_interfaces/SimulateSteps_GetResult_Response",
		"int8 status\n"
		"simulation_interfaces/SimulateSteps_Result result\n"},
	{"simulation_interfaces/SimulateSteps_FeedbackMessage",
		"unique_identifier_msgs/UUID goal_id\n"
		"simulation_interfaces/SimulateSteps_Feedback feedback\n"},
	/* control_msgs and controller_manager_msgs as of ROS 2 Jazzy */
	{"control_msgs/JointTolerance", "string name\n"
					"float64 position\n"
					"float64 velocity\n"
					"float64 acceleration\n"},
	{"control_msgs/JointComponentTolerance", "uint16 X_AXIS=1\n"
						 "uint16 Y_AXIS=2\n"
						 "uint16 Z_AXIS=3\n"
						 "uint16 TRANSLATION=4\n"
						 "uint16 ROTATION=5\n"
						 "string joint_name\n"
						 "uint16 component\n"
						 "float64 position\n"
						 "float64 velocity\n"
						 "float64 acceleration\n"},
	{"control_msgs/FollowJointTrajectory_Goal", "trajectory_msgs/JointTrajectory trajectory\n"
						    "trajectory_msgs/MultiDOFJointTrajectory multi_dof_trajectory\n"
						    "control_msgs/JointTolerance[] path_tolerance\n"
						    "control_msgs/JointComponentTolerance[] component_path_tolerance\n"
						    "control_msgs/JointTolerance[] goal_tolerance\n"
						    "control_msgs/JointComponentTolerance[] component_goal_tolerance\n"
						    "builtin_interfaces/Duration goal_time_tolerance\n"},
	{"control_msgs/FollowJointTrajectory_Result", "int32 SUCCESSFUL=0\n"
						      "int32 INVALID_GOAL=-1\n"
						      "int32 INVALID_JOINTS=-2\n"
						      "int32 OLD_HEADER_TIMESTAMP=-3\n"
						      "int32 PATH_TOLERANCE_VIOLATED=-4\n"
						      "int32 GOAL_TOLERANCE_VIOLATED=-5\n"
						      "int32 error_code\n"
						      "string error_string\n"},
	{"control_msgs/FollowJointTrajectory_Feedback",
		"std_msgs/Header header\n"
		"string[] joint_names\n"
		"trajectory_msgs/JointTrajectoryPoint desired\n"
		"trajectory_msgs/JointTrajectoryPoint actual\n"
		"trajectory_msgs/JointTrajectoryPoint error\n"
		"string[] multi_dof_joint_names\n"
		"trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_desired\n"
		"trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_actual\n"
		"trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_error\n"},
	{"control_msgs/FollowJointTrajectory_SendGoal_Request", "unique_identifier_msgs/UUID goal_id\n"
								"control_msgs/FollowJointTrajectory_Goal goal\n"},
	{"control_msgs/FollowJointTrajectory_SendGoal_Response", "bool accepted\n"
								 "builtin_interfaces/Time stamp\n"},
	{"control_msgs/FollowJointTrajectory_GetResult_Request", "unique_identifier_msgs/UUID goal_id\n"},
	{"control_msgs/FollowJointTrajectory_GetResult_Response", "int8 status\n"
								  "control_msgs/FollowJointTrajectory_Result result\n"},
	{"control_msgs/FollowJointTrajectory_FeedbackMessage",
		"unique_identifier_msgs/UUID goal_id\n"
		"control_msgs/FollowJointTrajectory_Feedback feedback\n"},
	{"controller_manager_msgs/ChainConnection", "string name\n"
						    "string[] reference_interfaces\n"},
	{"controller_manager_msgs/ControllerState", "string name\n"
						    "string state\n"
						    "string type\n"
						    "bool is_async\n"
						    "uint16 update_rate\n"
						    "string[] claimed_interfaces\n"
						    "string[] required_command_interfaces\n"
						    "string[] required_state_interfaces\n"
						    "bool is_chainable\n"
						    "bool is_chained\n"
						    "string[] exported_state_interfaces\n"
						    "string[] reference_interfaces\n"
						    "controller_manager_msgs/ChainConnection[] chain_connections\n"},
	{"controller_manager_msgs/ControllerState@humble",
		"string name\n"
		"string state\n"
		"string type\n"
		"string[] claimed_interfaces\n"
		"string[] required_command_interfaces\n"
		"string[] required_state_interfaces\n"
		"bool is_chainable\n"
		"bool is_chained\n"
		"string[] reference_interfaces\n"
		"controller_manager_msgs/ChainConnection[] chain_connections\n"},
	{"controller_manager_msgs/HardwareInterface", "string name\n"
						      "string data_type\n"
						      "bool is_available\n"
						      "bool is_claimed\n"},
	{"controller_manager_msgs/HardwareInterface@humble", "string name\n"
							     "bool is_available\n"
							     "bool is_claimed\n"},
	{"controller_manager_msgs/ListControllers_Request", ""},
	{"controller_manager_msgs/ListControllers_Response", "controller_manager_msgs/ControllerState[] controller\n"},
	{"controller_manager_msgs/ListControllers_Response@humble",
		"controller_manager_msgs/ControllerState@humble[] controller\n"},
	{"controller_manager_msgs/ListControllerTypes_Request", ""},
	{"controller_manager_msgs/ListControllerTypes_Response", "string[] types\n"
								 "string[] base_classes\n"},
	{"controller_manager_msgs/ListHardwareInterfaces_Request", ""},
	{"controller_manager_msgs/ListHardwareInterfaces_Response",
		"controller_manager_msgs/HardwareInterface[] command_interfaces\n"
		"controller_manager_msgs/HardwareInterface[] state_interfaces\n"},
	{"controller_manager_msgs/ListHardwareInterfaces_Response@humble",
		"controller_manager_msgs/HardwareInterface@humble[] command_interfaces\n"
		"controller_manager_msgs/HardwareInterface@humble[] state_interfaces\n"},
	{"controller_manager_msgs/LoadController_Request", "string name\n"},
	{"controller_manager_msgs/LoadController_Response", "bool ok\n"},
	{"controller_manager_msgs/ConfigureController_Request", "string name\n"},
	{"controller_manager_msgs/ConfigureController_Response", "bool ok\n"},
	{"controller_manager_msgs/CleanupController_Request", "string name\n"},
	{"controller_manager_msgs/CleanupController_Response", "bool ok\n"},
	{"controller_manager_msgs/UnloadController_Request", "string name\n"},
	{"controller_manager_msgs/UnloadController_Response", "bool ok\n"},
	{"controller_manager_msgs/SwitchController_Request", "string[] activate_controllers\n"
							     "string[] deactivate_controllers\n"
							     "int32 strictness\n"
							     "int32 BEST_EFFORT=1\n"
							     "int32 STRICT=2\n"
							     "int32 AUTO=3\n"
							     "int32 FORCE_AUTO=4\n"
							     "bool activate_asap\n"
							     "builtin_interfaces/Duration timeout\n"},
	{"controller_manager_msgs/SwitchController_Request@humble", "string[] activate_controllers\n"
								    "string[] deactivate_controllers\n"
								    "string[] start_controllers\n"
								    "string[] stop_controllers\n"
								    "int32 strictness\n"
								    "int32 BEST_EFFORT=1\n"
								    "int32 STRICT=2\n"
								    "bool start_asap\n"
								    "bool activate_asap\n"
								    "builtin_interfaces/Duration timeout\n"},
	{"controller_manager_msgs/SwitchController_Response@humble", "bool ok\n"},
	{"controller_manager_msgs/SwitchController_Response", "bool ok\n"
							      "string message\n"},
	{"troupe_interfaces/GetHash_Request", ""},
	{"troupe_interfaces/GetHash_Response", "simulation_interfaces/Result result\n"
					       "uint64 step\n"
					       "string hash\n"},
	{"troupe_interfaces/GetSeed_Request", ""},
	{"troupe_interfaces/GetSeed_Response", "simulation_interfaces/Result result\n"
					       "string seed\n"},
	{"troupe_interfaces/SetSeed_Request", "string seed\n"},
	{"troupe_interfaces/SetSeed_Response", "simulation_interfaces/Result result\n"},
	{"troupe_interfaces/Save_Request", "string name\n"},
	{"troupe_interfaces/Save_Response", "simulation_interfaces/Result result\n"},
	{"troupe_interfaces/Resume_Request", "string name\n"},
	{"troupe_interfaces/Resume_Response", "simulation_interfaces/Result result\n"},
};

/* Of "std_msgs/Header" or "std_msgs/msg/Header"; ARRAY_LEN(definitions): there is none. */
static size_t definitions_index_of(const char *name, size_t length)
{
	size_t package = 0, last = length;
	while (package < length && name[package] != '/')
		package++;
	while (last > package && name[last - 1] != '/')
		last--;
	for (size_t i = 0; package < length && i < ARRAY_LEN(definitions); i++) {
		const char *other = definitions[i].name;
		if (*other == *name && !strncmp(other, name, package + 1) &&
			!strncmp(other + package + 1, name + last, length - last) &&
			!other[package + 1 + length - last])
			return i;
	}
	return ARRAY_LEN(definitions);
}

/* Adds the types of the fields to a list in which each type stands once. */
static size_t definitions_add_parts(size_t of, size_t list[ARRAY_LEN(definitions)], size_t count)
{
	const char *end;
	for (const char *line = definitions[of].text; *line; line = end + 1) {
		end = strchr(line, '\n');
		size_t length = strcspn(line, " ["), part = definitions_index_of(line, length), i = 0;
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
	size_t list[ARRAY_LEN(definitions)] = {definitions_index_of(name, strlen(name))}, count = 1;
	for (size_t i = 0; i < count; i++) {
		count = definitions_add_parts(list[i], list, count);
		if (i)
			text_add(out, "%sMSG: %s\n", rule, definitions[list[i]].name);
		text_add(out, "%s", definitions[list[i]].text);
	}
}

const char *definitions_find(const char *name, size_t length)
{
	size_t at = definitions_index_of(name, length);
	return at < ARRAY_LEN(definitions) ? definitions[at].text : NULL;
}
