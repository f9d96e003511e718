/* The list is written by hand: no constructors register systems. */
#include "builtin/builtin.h"

#include "builtin/parts.h"

static const struct troupe_kind *const builtin_kinds[] = {
	&builtin_diff_drive,
	&builtin_velocity_control,
	&builtin_lift_drag,
	&builtin_advanced_lift_drag,
	&builtin_buoyancy,
	&builtin_thruster,
	&builtin_hydrodynamics,
	&builtin_wind_effects,
	&builtin_multicopter_motor_model,
	&builtin_multicopter_velocity_control,
	&builtin_apply_link_wrench,
	&builtin_buoyancy_engine,
	&builtin_joint_position_controller,
	&builtin_joint_controller,
	&builtin_apply_joint_force,
	&builtin_joint_state_publisher,
	&builtin_pose_publisher,
	&builtin_odometry_publisher,
	&builtin_ackermann_steering,
	&builtin_mecanum_drive,
	&builtin_joint_trajectory_controller,
	&builtin_trajectory_follower,
	&builtin_drive_to_pose_controller,
	&builtin_wheel_slip,
	&builtin_track_controller,
	&builtin_tracked_vehicle,
	&builtin_detachable_joint,
	&builtin_follow_actor,
	&builtin_breadcrumbs,
	&builtin_comms_endpoint,
	&builtin_perfect_comms,
	&builtin_rf_comms,
	&builtin_acoustic_comms,
	&builtin_kinetic_energy_monitor,
	&builtin_linear_battery,
	&builtin_performer_detector,
	&builtin_touch_plugin,
	&builtin_triggered_publisher,
	NULL,
};

const struct troupe_plugin builtin_plugin = {
	.size = sizeof(struct troupe_plugin),
	.abi = TROUPE_PLUGIN_ABI,
	.name = "troupe",
	.version = "1",
	.kinds = builtin_kinds,
};
