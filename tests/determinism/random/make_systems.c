/* Systems of the generator: models that a system drives, and systems that any model may have. Each is made so that it
 * has an effect on the state: what only publishes is heard by a TriggeredPublisher. Parameters are valid, but not
 * reasonable together: a system must have the same bits when it throws its model away, too. Names of topics have the
 * model's name, so that a copy of the model has topics of its own. */
#include "make_internal.h"

#include <string.h>

static struct part *add_plugin(struct maker *maker, struct part *owner, const char *name)
{
	return part_add(maker->arena, owner, PART_OPTIONAL, "</plugin>\n",
		"<plugin name='gz::sim::systems::%s' filename='x'>", name);
}

/* rest: below /model/NAME/, or, with a slash at its start, the whole name. message: each $ stands for a random number
 * from low to high. */
static void add_message(
	struct maker *maker, struct made *made, const char *rest, const char *message, double low, double high)
{
	const char *name = *rest == '/' ? rest : arena_printf(maker->arena, "/model/%s/%s", made->name, rest);
	vec_push(&made->topics, (struct topic){name, TOPIC_MESSAGE, message, low, high, false});
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

static void add_box(
	struct maker *maker, struct part *model, const char *name, struct vec3 at, double mass, struct vec3 size)
{
	double i = mass * (size.x * size.x + size.y * size.y + size.z * size.z) / 12;
	part_add(maker->arena, model, PART_NEEDED, NULL,
		"<link name='%s'><pose>%.3g %.3g %.3g 0 0 0</pose><inertial><mass>%.3g</mass><inertia><ixx>%.3g</ixx>"
		"<iyy>%.3g</iyy><izz>%.3g</izz></inertia></inertial><collision name='c'><geometry><box>"
		"<size>%.3g %.3g %.3g</size></box></geometry></collision></link>",
		name, at.x, at.y, at.z, mass, i, i, i, size.x, size.y, size.z);
}

/* fdir: the first direction of friction of a wheel that also rolls sideways; NULL: it does not. */
static void add_wheel(struct maker *maker, struct part *model, const char *name, struct vec3 at, double radius,
	const char *parent, const char *fdir)
{
	double i = 0.4 * radius * radius;
	const char *surface = "";
	if (fdir)
		surface = arena_printf(maker->arena,
			"<surface><friction><ode><mu2>0</mu2><fdir1 gz:expressed_in='l0'>%s</fdir1></ode></friction>"
			"</surface>",
			fdir);
	part_add(maker->arena, model, PART_NEEDED, NULL,
		"<link name='%s'><pose>%.3g %.3g %.3g 0 0 0</pose><inertial><mass>1</mass><inertia><ixx>%.3g</ixx>"
		"<iyy>%.3g</iyy><izz>%.3g</izz></inertia></inertial><collision name='c'><geometry><sphere>"
		"<radius>%.3g</radius></sphere></geometry>%s</collision></link><joint name='%s_joint' type='revolute'>"
		"<parent>%s</parent><child>%s</child><axis><xyz expressed_in='__model__'>0 1 0</xyz></axis></joint>",
		name, at.x, at.y, at.z, i, i, i, radius, surface, name, parent, name);
}

static const char *const wheels[] = {"front_left", "front_right", "rear_left", "rear_right"};
static const double wheel_at[][2] = {{0.25, 0.2}, {0.25, -0.2}, {-0.25, 0.2}, {-0.25, -0.2}};

enum { WHEELS = 4 };

static void add_wheels(struct maker *maker, struct part *model, uint32_t from, const char *const fdirs[WHEELS])
{
	for (uint32_t i = from; i < WHEELS; i++)
		add_wheel(maker, model, wheels[i], (struct vec3){wheel_at[i][0], wheel_at[i][1], 0}, 0.1, "l0",
			fdirs ? fdirs[i] : NULL);
}

static void add_limits(struct maker *maker, struct part *plugin, const char *of)
{
	struct dice *dice = &maker->dice;
	if (dice_chance(dice, 40))
		make_value(maker, plugin, arena_printf(maker->arena, "max_%sacceleration", of), "%g",
			DICE_OF(dice, 0.5, 3, 20));
	if (dice_chance(dice, 20))
		make_value(maker, plugin, arena_printf(maker->arena, "max_%sjerk", of), "%g", DICE_OF(dice, 5, 100));
	if (dice_chance(dice, 20))
		make_value(
			maker, plugin, arena_printf(maker->arena, "max_%svelocity", of), "%g", DICE_OF(dice, 0.3, 2));
	if (dice_chance(dice, 10))
		make_value(
			maker, plugin, arena_printf(maker->arena, "min_%svelocity", of), "%g", -DICE_OF(dice, 0.1, 2));
}

/* --- models ------------------------------------------------------------------------------------------------------- */

static void make_steered(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	add_box(maker, model, "l0", (struct vec3){0, 0, 0.1}, 8, (struct vec3){0.7, 0.3, 0.1});
	for (uint32_t i = 0; i < 2; i++) {
		const char *side = i ? "right" : "left", *steer = arena_printf(maker->arena, "steer_%s", side);
		part_add(maker->arena, model, PART_NEEDED, NULL,
			"<link name='%s'><pose>%g %g 0 0 0 0</pose><inertial><mass>0.5</mass><inertia><ixx>0.01</ixx>"
			"<iyy>0.01</iyy><izz>0.01</izz></inertia></inertial></link><joint name='%s_joint' "
			"type='revolute'><parent>l0</parent><child>%s</child><axis><xyz>0 0 1</xyz><limit>"
			"<lower>-1</lower><upper>1</upper></limit></axis></joint>",
			steer, wheel_at[i][0], wheel_at[i][1], steer, steer);
		add_wheel(maker, model, wheels[i], (struct vec3){wheel_at[i][0], wheel_at[i][1], 0}, 0.1, steer, NULL);
	}
	add_wheels(maker, model, 2, NULL);
	struct part *plugin = add_plugin(maker, model, "AckermannSteering");
	part_add(maker->arena, plugin, PART_NEEDED, NULL, "%s",
		"<left_joint>rear_left_joint</left_joint><right_joint>rear_right_joint</right_joint>"
		"<left_steering_joint>steer_left_joint</left_steering_joint>"
		"<right_steering_joint>steer_right_joint</right_steering_joint>");
	make_value(maker, plugin, "wheel_separation", "0.4");
	make_value(maker, plugin, "wheel_base", "0.5");
	make_value(maker, plugin, "wheel_radius", "%g", DICE_OF(dice, 0.1, 0.2));
	make_value(maker, plugin, "steer_p_gain", "%g", DICE_OF(dice, 1, 10, 100));
	add_limits(maker, plugin, "");
	switch (dice_below(dice, 4)) {
	case 0:
		part_add(maker->arena, plugin, PART_NEEDED, NULL, "%s", "<steering_only>true</steering_only>");
		add_message(maker, made, "steer_angle", "data: $", -1, 1);
		break;
	case 1:
		part_add(maker->arena, plugin, PART_NEEDED, NULL, "%s",
			"<steering_only>true</steering_only><use_actuator_msg>true</use_actuator_msg>"
			"<actuator_number>0</actuator_number>");
		add_message(maker, made, "/actuators", "position: [$]", -1, 1);
		break;
	default:
		add_message(maker, made, "cmd_vel", "linear {x: $} angular {z: $}", -3, 3);
		break;
	}
}

static void make_mecanum(struct maker *maker, struct part *model, struct made *made)
{
	static const char *const fdirs[WHEELS] = {"1 -1 0", "1 1 0", "1 1 0", "1 -1 0"};
	add_box(maker, model, "l0", (struct vec3){0, 0, 0.1}, 8, (struct vec3){0.7, 0.3, 0.1});
	add_wheels(maker, model, 0, fdirs);
	struct part *plugin = add_plugin(maker, model, "MecanumDrive");
	part_add(maker->arena, plugin, PART_NEEDED, NULL, "%s",
		"<front_left_joint>front_left_joint</front_left_joint><front_right_joint>front_right_joint"
		"</front_right_joint><back_left_joint>rear_left_joint</back_left_joint>"
		"<back_right_joint>rear_right_joint</back_right_joint><wheel_radius>0.1</wheel_radius>");
	make_value(maker, plugin, "wheel_separation", "0.4");
	make_value(maker, plugin, "wheelbase", "0.5");
	add_limits(maker, plugin, DICE_WORD(&maker->dice, "", "linear_", "angular_"));
	add_message(maker, made, "cmd_vel", "linear {x: $ y: $} angular {z: $}", -2, 2);
}

static void make_tank(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	add_box(maker, model, "l0", (struct vec3){0, 0, 0.15}, 6, (struct vec3){0.4, 0.25, 0.15});
	for (uint32_t i = 0; i < 2; i++) {
		const char *side = i ? "right" : "left";
		add_box(maker, model, side, (struct vec3){0, i ? -0.2 : 0.2, 0}, 3, (struct vec3){0.6, 0.1, 0.2});
		part_add(maker->arena, model, PART_NEEDED, NULL,
			"<joint name='%s_j' type='%s'><parent>l0</parent><child>%s</child></joint>", side,
			dice_chance(dice, 90) ? "fixed" : "ball", side);
		struct part *track = add_plugin(maker, model, "TrackController");
		part_add(maker->arena, track, PART_NEEDED, NULL, "<link>%s</link>", side);
		add_limits(maker, track, "");
		if (dice_chance(dice, 20))
			make_value(maker, track, "max_command_age", "%g", DICE_OF(dice, 0, 0.05, 0.3));
		if (dice_chance(dice, 15))
			make_value(maker, track, "track_orientation", "0 0 %.3g", dice_between(dice, -3, 3));
		add_message(maker, made, arena_printf(maker->arena, "link/%s/track_cmd_vel", side), "data: $", -2, 2);
	}
	struct part *vehicle = add_plugin(maker, model, "TrackedVehicle");
	part_add(maker->arena, vehicle, PART_NEEDED, NULL, "%s",
		"<left_track><link>left</link></left_track><right_track><link>right</link></right_track>");
	make_value(maker, vehicle, "tracks_separation", "0.4");
	make_value(maker, vehicle, "steering_efficiency", "%g", DICE_OF(dice, 0.2, 0.5, 1));
	add_message(maker, made, "cmd_vel", "linear {x: $} angular {z: $}", -2, 2);
	add_message(maker, made, "steering_efficiency", "data: $", 0.2, 1);
}

/* Driven by four wheels that slip; a wheel's slip is a command, too. */
static void make_slipper(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	add_box(maker, model, "l0", (struct vec3){0, 0, 0.1}, 8, (struct vec3){0.7, 0.3, 0.1});
	add_wheels(maker, model, 0, NULL);
	struct part *drive = add_plugin(maker, model, "DiffDrive");
	part_add(maker->arena, drive, PART_NEEDED, NULL, "%s",
		"<left_joint>front_left_joint</left_joint><left_joint>rear_left_joint</left_joint>"
		"<right_joint>front_right_joint</right_joint><right_joint>rear_right_joint</right_joint>"
		"<wheel_separation>0.4</wheel_separation><wheel_radius>0.1</wheel_radius>");
	add_message(maker, made, "cmd_vel", "linear {x: $} angular {z: $}", -2, 2);
	struct part *slip = add_plugin(maker, model, "WheelSlip");
	for (uint32_t i = 0; i < WHEELS; i++)
		part_add(maker->arena, slip, i ? PART_OPTIONAL : PART_NEEDED, NULL,
			"<wheel link_name='%s'><slip_compliance_lateral>%g</slip_compliance_lateral>"
			"<slip_compliance_longitudinal>%g</slip_compliance_longitudinal><wheel_normal_force>%g"
			"</wheel_normal_force><wheel_radius>0.1</wheel_radius></wheel>",
			wheels[i], DICE_OF(dice, 0, 0.1, 2), DICE_OF(dice, 0, 0.1, 2), DICE_OF(dice, 10, 30, 100));
	const char *service = arena_printf(maker->arena, "/world/w%u/wheel_slip", maker->world);
	add_message(maker, made, service,
		arena_printf(maker->arena, "entity {name: \"%s\"} slip_compliance_lateral: $", made->name), 0, 5);
	add_message(maker, made, service,
		arena_printf(maker->arena,
			"entity {name: \"%s::front_left\"} slip_compliance_lateral: $ slip_compliance_longitudinal: $",
			made->name),
		0, 5);
}

static void make_diver(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	add_box(maker, model, "l0", (struct vec3){0, 0, 0}, 4, (struct vec3){0.5, 0.2, 0.1});
	add_box(maker, model, "screw", (struct vec3){-0.35, 0, 0}, 0.3, (struct vec3){0.05, 0.15, 0.15});
	part_add(maker->arena, model, PART_NEEDED, NULL, "%s",
		"<joint name='shaft' type='revolute'><parent>l0</parent><child>screw</child><axis><xyz>1 0 "
		"0</xyz></axis>"
		"</joint>");
	struct part *water = add_plugin(maker, model, "Hydrodynamics");
	part_add(maker->arena, water, PART_NEEDED, NULL, "%s", "<link_name>l0</link_name>");
	make_value(maker, water, "xDotU", "%g", -DICE_OF(dice, 0, 0.5, 2));
	make_value(maker, water, "yDotV", "%g", -DICE_OF(dice, 0, 1));
	make_value(maker, water, "xU", "%g", -DICE_OF(dice, 1, 20));
	make_value(maker, water, "yVabsV", "%g", -DICE_OF(dice, 1, 20));
	make_value(maker, water, "zW", "%g", -DICE_OF(dice, 5, 40));
	make_value(maker, water, "nR", "%g", -DICE_OF(dice, 0.2, 1));
	if (dice_chance(dice, 30))
		make_value(maker, water, "default_current", "%.3g %.3g 0", dice_between(dice, -1, 1),
			dice_between(dice, -1, 1));
	add_message(maker, made, "/ocean_current", "x: $ y: $", -1, 1);
	struct part *thruster = add_plugin(maker, model, "Thruster");
	part_add(maker->arena, thruster, PART_NEEDED, NULL, "%s", "<joint_name>shaft</joint_name>");
	make_value(maker, thruster, "propeller_diameter", "%g", DICE_OF(dice, 0.1, 0.2));
	if (dice_chance(dice, 50))
		make_value(maker, thruster, "thrust_coefficient", "%g", DICE_OF(dice, 0.004, 0.1, -0.05));
	if (dice_chance(dice, 40))
		make_value(maker, thruster, "velocity_control", "true");
	if (dice_chance(dice, 30))
		make_value(maker, thruster, "deadband", "%g", DICE_OF(dice, 0.5, 3));
	if (dice_chance(dice, 30)) {
		part_add(maker->arena, thruster, PART_NEEDED, NULL, "%s", "<use_angvel_cmd>true</use_angvel_cmd>");
		add_message(maker, made, "joint/shaft/cmd_vel", "data: $", -60, 60);
	} else {
		add_message(maker, made, "joint/shaft/cmd_thrust", "data: $", -20, 20);
		add_message(maker, made, "joint/shaft/enable_deadband", "data: true", 0, 0);
	}
	if (!dice_chance(dice, 50))
		return;
	struct part *engine = add_plugin(maker, model, "BuoyancyEngine");
	part_add(maker->arena, engine, PART_NEEDED, NULL, "<link_name>l0</link_name><namespace>%s</namespace>",
		made->name);
	make_value(maker, engine, "max_inflation_rate", "%g", DICE_OF(dice, 0.000003, 0.001));
	if (dice_chance(dice, 40))
		make_value(maker, engine, "surface", "%g", DICE_OF(dice, 0.5, 2));
	add_message(maker, made, "buoyancy_engine", "data: $", 0, 0.001);
}

static void add_rotor(struct maker *maker, struct part *model, struct made *made, uint32_t index)
{
	static const double at[][2] = {{0.3, 0.02}, {-0.02, 0.3}, {-0.3, -0.02}, {0.02, -0.3}};
	struct dice *dice = &maker->dice;
	const char *name = arena_printf(maker->arena, "r%u", index);
	add_box(maker, model, name, (struct vec3){at[index][0], at[index][1], 0.1}, 0.05,
		(struct vec3){0.2, 0.02, 0.02});
	part_add(maker->arena, model, PART_NEEDED, NULL,
		"<joint name='j%u' type='revolute'><parent>l0</parent><child>%s</child><axis><xyz>0 0 "
		"1</xyz></axis></joint>",
		index, name);
	struct part *motor = add_plugin(maker, model, "MulticopterMotorModel");
	part_add(maker->arena, motor, PART_NEEDED, NULL,
		"<jointName>j%u</jointName><linkName>%s</linkName><motorNumber>%u</motorNumber><turningDirection>%s"
		"</turningDirection><motorConstant>1e-4</motorConstant><robotNamespace>%s</robotNamespace>",
		index, name, index, index % 2 ? "cw" : "ccw", made->name);
	if (dice_chance(dice, 20))
		make_value(maker, motor, "timeConstantUp", "%g", DICE_OF(dice, 0.01, 0.2));
	if (dice_chance(dice, 20))
		make_value(maker, motor, "rotorDragCoefficient", "%g", DICE_OF(dice, 1e-3, 1e-5));
}

static void make_copter(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	add_box(maker, model, "l0", (struct vec3){0, 0, 0}, 1.5, (struct vec3){0.3, 0.3, 0.1});
	for (uint32_t i = 0; i < 4; i++)
		add_rotor(maker, model, made, i);
	if (dice_chance(dice, 40)) {
		add_message(maker, made, "command/motor_speed", "velocity: [$, $, $, $]", 0, 400);
		return;
	}
	struct part *control = add_plugin(maker, model, "MulticopterVelocityControl");
	part_add(maker->arena, control, PART_NEEDED, NULL,
		"<robotNamespace>%s</robotNamespace><comLinkName>l0</comLinkName><velocityGain>4 4 4</velocityGain>"
		"<attitudeGain>%g 40 1</attitudeGain><angularRateGain>12 12 4</angularRateGain>",
		made->name, DICE_OF(dice, 20, 40));
	part_add(maker->arena, control, PART_NEEDED, NULL, "%s", "<rotorConfiguration>");
	for (uint32_t i = 0; i < 4; i++)
		part_add(maker->arena, control, PART_NEEDED, NULL,
			"<rotor><jointName>j%u</jointName><forceConstant>1e-4</forceConstant><momentConstant>0.016"
			"</momentConstant><direction>%d</direction></rotor>",
			i, i % 2 ? -1 : 1);
	part_add(maker->arena, control, PART_NEEDED, NULL, "%s", "</rotorConfiguration>");
	if (dice_chance(dice, 40))
		make_value(maker, control, "linearVelocityNoiseStdDev", "0.1 0.1 0.2");
	if (dice_chance(dice, 20))
		make_value(maker, control, "angularVelocityNoiseStdDev", "0.05 0 0.1");
	if (dice_chance(dice, 30))
		make_value(maker, control, "maximumLinearAcceleration", "%g 2 3", DICE_OF(dice, 0.5, 3));
	add_message(maker, made, arena_printf(maker->arena, "/%s/cmd_vel", made->name),
		"linear {x: $ y: $ z: $} angular {z: $}", -2, 2);
	add_message(maker, made, arena_printf(maker->arena, "/%s/enable", made->name), "data: true", 0, 0);
	add_message(maker, made, arena_printf(maker->arena, "/%s/enable", made->name), "data: false", 0, 0);
}

static void make_arm(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	add_box(maker, model, "l0", (struct vec3){0, 0, 0}, 20, (struct vec3){0.5, 0.5, 0.1});
	for (uint32_t i = 1; i <= 2; i++) {
		const char *name = arena_printf(maker->arena, "l%u", i);
		add_box(maker, model, name, (struct vec3){0, 0.1 * i, 0.35 * i}, 1, (struct vec3){0.08, 0.08, 0.4});
		part_add(maker->arena, model, PART_NEEDED, NULL,
			"<joint name='j%u' type='revolute'><pose>0 0 -0.2 0 0 "
			"0</pose><parent>l%u</parent><child>%s</child>"
			"<axis><xyz>%s</xyz></axis></joint>",
			i, i - 1, name, i == 1 ? "0 0 1" : "0 1 0");
	}
	struct part *plugin = add_plugin(maker, model, "JointTrajectoryController");
	static const char *const gains[] = {"position_p_gain", "position_i_gain", "position_d_gain", "velocity_p_gain"};
	for (size_t g = 0; g < ARRAY_LEN(gains); g++)
		for (uint32_t i = 0; i < 2; i++)
			make_value(
				maker, plugin, gains[g], "%g", g == 0 ? DICE_OF(dice, 5, 50) : DICE_OF(dice, 0, 1, 5));
	if (dice_chance(dice, 20))
		make_value(maker, plugin, "use_header_start_time", "true");
	add_message(maker, made, "joint_trajectory",
		"joint_names: [\"j1\", \"j2\"] points {positions: [$, $] time_from_start {nsec: 50000000}} "
		"points {positions: [$, $] velocities: [$, 0] time_from_start {nsec: 300000000}}",
		-2, 2);
	add_message(
		maker, made, "joint_trajectory", "joint_names: [\"j2\"] points {positions: [$] effort: [$]}", -2, 2);
}

/* A link that no force moves: it goes at the commanded velocity, and pushes what is in its way. Another link may hang
 * on it. */
static void make_pusher(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	double width = dice_between(dice, 0.3, 1.5), most = maker->speed_max;
	part_add(maker->arena, model, PART_NEEDED, NULL,
		"<link name='l0'><kinematic>true</kinematic><inertial><mass>%g</mass></inertial><collision name='c'>"
		"<geometry>%s</geometry></collision></link>",
		DICE_OF(dice, 0.1, 1, 50),
		dice_chance(dice, 60)
			? arena_printf(maker->arena, "<box><size>0.2 %.3g %.3g</size></box>", width,
				  dice_between(dice, 0.2, 1))
			: arena_printf(maker->arena, "<cylinder><radius>%.3g</radius><length>1</length></cylinder>",
				  width / 3));
	if (dice_chance(dice, 35)) {
		bool first = dice_chance(dice, 70);
		add_box(maker, model, "l1", (struct vec3){0.4, 0, 0}, 1, (struct vec3){0.4, 0.1, 0.1});
		part_add(maker->arena, model, PART_OPTIONAL, NULL,
			"<joint name='j1' type='%s'><parent>%s</parent><child>%s</child><axis><xyz>0 0 1</xyz></axis>"
			"</joint>",
			DICE_WORD(dice, "revolute", "prismatic", "ball", "fixed"), first ? "l0" : "l1",
			first ? "l1" : "l0");
	}
	struct part *plugin = add_plugin(maker, model, "VelocityControl");
	make_value(maker, plugin, "initial_linear", "%.3g %.3g 0", dice_between(dice, -most, most),
		dice_between(dice, -most, most));
	if (dice_chance(dice, 50))
		make_value(maker, plugin, "initial_angular", "0 0 %.3g", dice_between(dice, -4, 4));
	add_message(maker, made, "cmd_vel", "linear {x: $ y: $} angular {z: $}", -most, most);
	add_message(maker, made, "cmd_vel", "", 0, 0);
}

void make_driven(struct maker *maker, struct part *model, struct made *made)
{
	static void (*const makes[])(struct maker *, struct part *, struct made *) = {make_steered, make_mecanum,
		make_tank, make_slipper, make_diver, make_copter, make_arm, make_pusher, make_pusher};
	makes[dice_below(&maker->dice, (uint32_t)ARRAY_LEN(makes))](maker, model, made);
}

/* --- systems of any model ----------------------------------------------------------------------------------------- */

/* A model of this world that can be commanded by a Twist; NULL: none. */
static const struct made *any_mover(struct maker *maker)
{
	for (int tries = 0; tries < 6 && maker->models.count; tries++) {
		const struct made *made = &maker->models.at[dice_below(&maker->dice, maker->models.count)];
		if (made->world == maker->world && made->topics.count && strstr(made->topics.at[0].name, "cmd_vel") &&
			!strstr(made->topics.at[0].name, "/joint/") && !strstr(made->topics.at[0].name, "/link/"))
			return made;
	}
	return NULL;
}

/* The name of a model; before there is one, of the one that is going to be the first. */
static const char *any_name(struct maker *maker)
{
	uint32_t count = maker->models.count;
	return count ? maker->models.at[dice_below(&maker->dice, count)].name : "plane0";
}

/* Something happens on the topic, and a model moves because of it, or another system acts. */
static void add_reaction(
	struct maker *maker, struct part *owner, const char *type, const char *topic, const char *match)
{
	struct dice *dice = &maker->dice;
	const struct made *mover = any_mover(maker);
	struct part *plugin = add_plugin(maker, owner, "TriggeredPublisher");
	part_add(maker->arena, plugin, PART_NEEDED, NULL, "<input type='%s' topic='%s'>%s</input>", type, topic, match);
	if (dice_chance(dice, 40))
		make_value(maker, plugin, "delay_ms", "%u", dice_below(dice, 60));
	if (mover && dice_chance(dice, 70))
		part_add(maker->arena, plugin, PART_NEEDED, NULL,
			"<output type='gz.msgs.Twist' topic='%s'>linear {x: %.3g y: %.3g} angular {z: %.3g}</output>",
			mover->topics.at[0].name, dice_between(dice, -1, 1), dice_between(dice, -1, 1),
			dice_between(dice, -2, 2));
	else
		part_add(maker->arena, plugin, PART_NEEDED, NULL,
			"<service name='/world/w%u/set_pose' reqType='gz.msgs.Pose' "
			"reqMsg='name: &quot;%s&quot; position {x: %.3g y: %.3g z: %.3g}'/>",
			maker->world, any_name(maker), dice_between(dice, -2, 2), dice_between(dice, -2, 2),
			dice_between(dice, 0.5, 2));
}

static void add_battery(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	struct part *plugin = add_plugin(maker, model, "LinearBatteryPlugin");
	part_add(maker->arena, plugin, PART_NEEDED, NULL,
		"<battery_name>b</battery_name><voltage>12</voltage><capacity>%g</capacity>",
		DICE_OF(dice, 0.0002, 0.01));
	make_value(maker, plugin, "open_circuit_voltage_constant_coef", "12");
	make_value(maker, plugin, "open_circuit_voltage_linear_coef", "-2");
	make_value(maker, plugin, "resistance", "%g", DICE_OF(dice, 0, 0.1));
	make_value(maker, plugin, "power_load", "%g", DICE_OF(dice, 5, 300));
	if (dice_chance(dice, 40))
		make_value(maker, plugin, "start_draining", "true");
	part_add(maker->arena, plugin, PART_NEEDED, NULL, "<power_draining_topic>/%s/drain</power_draining_topic>",
		made->name);
	add_message(maker, made, arena_printf(maker->arena, "/%s/drain", made->name), "data: \"x\"", 0, 0);
	if (dice_chance(dice, 40)) {
		part_add(maker->arena, plugin, PART_NEEDED, NULL, "%s",
			"<enable_recharge>true</enable_recharge><charging_time>0.001</charging_time>");
		add_message(maker, made, "battery/b/recharge/start", "data: true", 0, 0);
		add_message(maker, made, "battery/b/recharge/stop", "data: true", 0, 0);
	}
}

static void add_touch(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	struct part *plugin = add_plugin(maker, model, "TouchPlugin");
	part_add(maker->arena, plugin, PART_NEEDED, NULL, "<target>%s</target><time>%g</time><namespace>%s</namespace>",
		DICE_WORD(dice, "c", "plane", "m", "s"), DICE_OF(dice, 0, 0.01, 0.1), made->name);
	make_value(maker, plugin, "enabled", "true");
	add_message(maker, made, arena_printf(maker->arena, "/%s/enable", made->name), "data: true", 0, 0);
	add_reaction(maker, model, "gz.msgs.Boolean", arena_printf(maker->arena, "/%s/touched", made->name), "");
}

static void add_energy(struct maker *maker, struct part *model, struct made *made)
{
	struct part *plugin = add_plugin(maker, model, "KineticEnergyMonitor");
	part_add(maker->arena, plugin, PART_NEEDED, NULL,
		"<link_name>l0</link_name><kinetic_energy_threshold>%g</kinetic_energy_threshold>",
		DICE_OF(&maker->dice, 0.01, 0.5, 5));
	add_reaction(
		maker, model, "gz.msgs.Double", arena_printf(maker->arena, "/model/%s/kinetic_energy", made->name), "");
}

static void add_odometry(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	struct part *plugin = add_plugin(maker, model, "OdometryPublisher");
	make_value(maker, plugin, "dimensions", "%g", DICE_OF(dice, 2, 3));
	if (dice_chance(dice, 50))
		make_value(maker, plugin, "gaussian_noise", "%g", DICE_OF(dice, 0.01, 1));
	if (dice_chance(dice, 50))
		make_value(maker, plugin, "odom_publish_frequency", "%g", DICE_OF(dice, 0, 10, 77));
	if (dice_chance(dice, 50))
		add_reaction(maker, model, "gz.msgs.Odometry",
			arena_printf(maker->arena, "/model/%s/odometry", made->name),
			"<match field='twist.linear.x' tol='0.5'>0.5</match>");
}

static void add_crumbs(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	struct part *plugin = add_plugin(maker, model, "Breadcrumbs");
	part_add(maker->arena, plugin, PART_NEEDED, NULL,
		"<topic>/%s/drop</topic><max_deployments>%d</max_deployments><breadcrumb><sdf version='1.9'>"
		"<model name='%s_crumb'><pose>%.3g 0 %.3g 0 0 0</pose><link name='l0'><collision "
		"name='c'><geometry><sphere>"
		"<radius>%.3g</radius></sphere></geometry></collision></link></model></sdf></breadcrumb>",
		made->name, dice_chance(dice, 30) ? -1 : (int)dice_from(dice, 1, 3), made->name,
		dice_between(dice, -1, 1), dice_between(dice, 0, 1), dice_between(dice, 0.05, 0.3));
	if (dice_chance(dice, 50))
		make_value(maker, plugin, "disable_physics_time", "%.3g", dice_between(dice, 0.001, 1));
	if (dice_chance(dice, 40))
		make_value(maker, plugin, "allow_renaming", "true");
	if (dice_chance(dice, 30))
		make_value(maker, plugin, "performer_volume", "<geometry><box><size>1 1 1</size></box></geometry>");
	add_message(maker, made, arena_printf(maker->arena, "/%s/drop", made->name), "", 0, 0);
}

/* To a model that exists, or to one that may be created. */
static void add_hook(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	const char *other = maker->models.count && dice_chance(dice, 85)
				    ? maker->models.at[dice_below(dice, maker->models.count)].name
				    : arena_printf(maker->arena, "n%u", maker->named + 1);
	struct part *plugin = add_plugin(maker, model, "DetachableJoint");
	part_add(maker->arena, plugin, PART_NEEDED, NULL,
		"<parent_link>l0</parent_link><child_model>%s</child_model><child_link>l0</child_link>"
		"<suppress_child_warning>true</suppress_child_warning>",
		other);
	if (dice_chance(dice, 30))
		make_value(maker, plugin, "initial_attach", "false");
	add_message(maker, made, "detachable_joint/detach", "", 0, 0);
	add_message(maker, made, "detachable_joint/attach", "", 0, 0);
	if (dice_chance(dice, 30))
		add_reaction(maker, model, "gz.msgs.StringMsg",
			arena_printf(maker->arena, "/model/%s/detachable_joint/state", other), "");
}

void make_tie(struct maker *maker, struct made *parent, const struct made *child)
{
	struct dice *dice = &maker->link_dice;
	struct part *plugin = add_plugin(maker, parent->part, "DetachableJoint");
	part_add(maker->arena, plugin, PART_NEEDED, NULL,
		"<parent_link>%s</parent_link><child_model>%s</child_model><child_link>%s</child_link>"
		"<suppress_child_warning>true</suppress_child_warning>",
		parent->first_link, child->name, child->first_link);
	add_message(maker, parent, "detachable_joint/detach", "", 0, 0);
	if (dice_chance(dice, 70))
		add_message(maker, parent, "detachable_joint/attach", "", 0, 0);
}

void make_conveyor(struct maker *maker, struct made *made)
{
	struct dice *dice = &maker->link_dice;
	struct part *plugin = add_plugin(maker, made->part, "TrackController");
	const char *topic = arena_printf(maker->arena, "link/%s/track_cmd_vel", made->first_link);
	part_add(maker->arena, plugin, PART_NEEDED, NULL, "<link>%s</link>", made->first_link);
	if (dice_chance(dice, 30))
		make_value(maker, plugin, "max_acceleration", "%g", DICE_OF(dice, 0.5, 20));
	if (dice_chance(dice, 20))
		make_value(maker, plugin, "max_command_age", "%g", DICE_OF(dice, 0.05, 0.3));
	add_message(maker, made, topic, "data: $", -2, 2);
	if (dice_chance(dice, 50))
		add_message(maker, made,
			arena_printf(maker->arena, "link/%s/track_cmd_center_of_rotation", made->first_link),
			"x: $ y: $", -3, 3);
	if (maker->scenario->kind != KIND_RESET) /* it makes its commands by itself */
		make_command(maker, dice_below(dice, (uint32_t)maker->scenario->steps / 2 + 1), COMMAND_GIVE, 0,
			"/model/%s/%s data: %.3g", made->name, topic, dice_between(dice, -2, 2));
}

static void add_radio(struct maker *maker, struct part *model, struct made *made)
{
	uint32_t number = dice_below(&maker->dice, 4);
	struct part *plugin = add_plugin(maker, model, "CommsEndpoint");
	part_add(maker->arena, plugin, PART_NEEDED, NULL, "<address>%u</address><topic>%s/rx</topic>", number,
		made->name);
	add_reaction(maker, model, "gz.msgs.Dataframe", arena_printf(maker->arena, "%s/rx", made->name), "");
}

static void add_wing(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	(void)made;
	bool advanced = dice_chance(dice, 40);
	struct part *plugin = add_plugin(maker, model, advanced ? "AdvancedLiftDrag" : "LiftDrag");
	part_add(maker->arena, plugin, PART_NEEDED, NULL, "<link_name>l0</link_name>%s", advanced ? "<AR>6</AR>" : "");
	make_value(maker, plugin, "area", "%g", DICE_OF(dice, 0.01, 0.1));
	make_value(maker, plugin, "cp", "0 %.2g 0", dice_between(dice, -0.1, 0.1));
	make_value(maker, plugin, "alpha_stall", "%g", DICE_OF(dice, 0.2, 0.6));
	make_value(maker, plugin, advanced ? "CLa" : "cla", "%g", DICE_OF(dice, 1, 4));
	make_value(maker, plugin, advanced ? "CD0" : "cda", "%g", DICE_OF(dice, 0.01, 0.5));
	if (!advanced && dice_chance(dice, 30))
		make_value(maker, plugin, "radial_symmetry", "true");
	if (advanced)
		make_value(maker, plugin, "Cemq", "%g", -DICE_OF(dice, 0, 5));
}

static void add_follower(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	struct part *plugin = add_plugin(maker, model, "TrajectoryFollower");
	part_add(maker->arena, plugin, PART_NEEDED, NULL, "<link_name>l0</link_name>%s",
		DICE_WORD(dice, "<waypoints><waypoint>1 2</waypoint><waypoint>-1 0.5</waypoint></waypoints>",
			"<line><direction>1</direction><length>2</length></line>",
			"<circle><radius>1</radius></circle>"));
	make_value(maker, plugin, "force", "%g", DICE_OF(dice, 5, 60));
	make_value(maker, plugin, "torque", "%g", DICE_OF(dice, 0.5, 10));
	if (dice_chance(dice, 50))
		make_value(maker, plugin, "loop", "true");
	if (dice_chance(dice, 50))
		make_value(maker, plugin, "zero_vel_on_bearing_reached", "true");
	add_message(maker, made, "trajectory_follower/pause", "data: true", 0, 0);
	add_message(maker, made, "trajectory_follower/pause", "data: false", 0, 0);
}

static void add_detector(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	struct part *plugin = add_plugin(maker, model, "PerformerDetector");
	double edge = DICE_OF(dice, 0.5, 2, 4);
	part_add(maker->arena, plugin, PART_NEEDED, NULL, "<geometry><box><size>%g %g %g</size></box></geometry>", edge,
		edge, edge);
	add_reaction(maker, model, "gz.msgs.Pose",
		arena_printf(maker->arena, "/model/%s/performer_detector/status", made->name), "");
}

/* A cmd_vel listener of the model does what this one decides. */
static void add_driver(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	add_plugin(maker, model, "OdometryPublisher");
	struct part *plugin = add_plugin(maker, model, "DriveToPoseController");
	make_value(maker, plugin, "linear_p_gain", "%g", DICE_OF(dice, 0.5, 2));
	make_value(maker, plugin, "linear_deviation", "%g", DICE_OF(dice, 0.05, 0.5));
	add_message(maker, made, "cmd_pose", "pose {position {x: $ y: $} orientation {w: 1 z: $}}", -2, 2);
	add_reaction(maker, model, "gz.msgs.Pose_V", arena_printf(maker->arena, "/model/%s/pose", made->name), "");
}

static void add_teller(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	if (dice_chance(dice, 30)) {
		add_plugin(maker, model, "JointStatePublisher");
		return;
	}
	struct part *plugin = add_plugin(maker, model, "PosePublisher");
	/* as OdometryPublisher has this topic */
	part_add(maker->arena, plugin, PART_NEEDED, NULL, "%s", "<use_pose_vector_msg>true</use_pose_vector_msg>");
	make_value(maker, plugin, "publish_model_pose", "true");
	make_value(maker, plugin, "update_frequency", "%g", DICE_OF(dice, 0, 20));
	make_value(maker, plugin, "static_publisher", "true");
	make_value(maker, plugin, "publish_sensor_pose", "true");
	make_value(maker, plugin, "publish_collision_pose", "true");
	add_reaction(maker, model, "gz.msgs.Pose_V", arena_printf(maker->arena, "/model/%s/pose", made->name), "");
}

/* Several may work against one another. A static model has those alone that do not move it. */
void make_systems(struct maker *maker, struct part *model, struct made *made)
{
	static void (*const adds[])(struct maker *, struct part *, struct made *) = {add_hook, add_radio, add_detector,
		add_battery, add_touch, add_energy, add_odometry, add_crumbs, add_wing, add_follower, add_driver,
		add_teller};
	enum { FOR_STATIC_MODELS = 3 };
	struct dice *dice = &maker->dice;
	uint32_t kinds = made->is_static ? FOR_STATIC_MODELS : (uint32_t)ARRAY_LEN(adds);
	for (uint32_t i = dice_chance(dice, 50) ? 0 : dice_from(dice, 1, 3); i > 0; i--)
		adds[dice_below(dice, kinds)](maker, model, made);
}

/* --- of the world ------------------------------------------------------------------------------------------------- */

static void add_broker(struct maker *maker, struct part *world, struct made *speaker)
{
	struct dice *dice = &maker->dice;
	const char *kind = DICE_WORD(dice, "PerfectComms", "RFComms", "AcousticComms");
	struct part *plugin = add_plugin(maker, world, kind);
	if (*kind == 'R')
		part_add(maker->arena, plugin, PART_OPTIONAL, NULL, "%s",
			"<range_config><fading_exponent>2</fading_exponent><sigma>20</sigma></range_config>"
			"<radio_config><tx_power>20</tx_power><noise_floor>-40</noise_floor></radio_config>");
	if (*kind == 'A')
		part_add(maker->arena, plugin, PART_OPTIONAL, NULL, "<speed_of_sound>%g</speed_of_sound>",
			DICE_OF(dice, 5, 50, 343));
	if (*kind == 'A' && dice_chance(dice, 50))
		make_value(maker, plugin, "collision_time_per_byte", "0.0005");
	for (uint32_t i = 0; i < 4; i++)
		add_message(maker, speaker, "/broker/msgs",
			arena_printf(maker->arena, "src_address: \"%u\" dst_address: \"%u\" data: \"hello\"",
				dice_below(dice, 4), i),
			0, 0);
}

static void add_wind(struct maker *maker, struct part *world, struct made *speaker)
{
	struct dice *dice = &maker->dice;
	make_value(maker, world, "wind", "<linear_velocity>%.3g %.3g 0</linear_velocity>", dice_between(dice, -5, 5),
		dice_between(dice, -5, 5));
	struct part *plugin = add_plugin(maker, world, "WindEffects");
	make_value(maker, plugin, "force_approximation_scaling_factor", "%g", DICE_OF(dice, 0.1, 1));
	if (dice_chance(dice, 60))
		make_value(maker, plugin, "horizontal",
			"<magnitude><time_for_rise>%g</time_for_rise><noise type='gaussian'><mean>0</mean><stddev>1"
			"</stddev></noise></magnitude>",
			DICE_OF(dice, 0.1, 5));
	bool blows = false; /* nothing listens where it cannot blow at anything */
	for (uint32_t i = 0; i < maker->models.count; i++) {
		const struct made *made = &maker->models.at[i];
		blows = blows || (made->world == maker->world && made->in_wind && !made->is_static);
	}
	if (blows)
		add_message(maker, speaker, arena_printf(maker->arena, "/world/w%u/wind", maker->world),
			"linear_velocity {x: $ y: $ z: $} enable_wind: true", -5, 5);
}

void make_world_systems(struct maker *maker, struct part *world)
{
	struct dice *dice = &maker->dice;
	struct made *speaker = NULL;
	for (uint32_t i = 0; i < maker->models.count; i++)
		if (maker->models.at[i].world == maker->world)
			speaker = &maker->models.at[i];
	if (!speaker)
		return;
	if (dice_chance(dice, 40))
		add_broker(maker, world, speaker);
	if (dice_chance(dice, 30))
		add_wind(maker, world, speaker);
	if (dice_chance(dice, 25)) {
		struct part *plugin = add_plugin(maker, world, "Buoyancy");
		if (dice_chance(dice, 50))
			make_value(maker, plugin, "graded_buoyancy",
				"<default_density>1000</default_density><density_change><above_depth>%g</"
				"above_depth><density>1"
				"</density></density_change>",
				DICE_OF(dice, 0, 0.5, 1));
		else
			make_value(maker, plugin, "uniform_fluid_density", "%g", DICE_OF(dice, 10, 300, 1000));
	}
	if (dice_chance(dice, 15)) {
		struct part *plugin = add_plugin(maker, world, "ApplyLinkWrench");
		make_value(maker, plugin, "persistent",
			"<entity_name>%s</entity_name><entity_type>model</entity_type><force>%.3g 0 0</force>"
			"<torque>0 0 0.2</torque>",
			speaker->name, dice_between(dice, -3, 3));
	}
	if (maker->scenario->kind != KIND_RESET && dice_chance(dice, 50)) {
		add_message(maker, speaker,
			arena_printf(maker->arena, "/world/w%u/set_spherical_coordinates", maker->world),
			"latitude_deg: $ longitude_deg: $ elevation: $ heading_deg: $", -90, 90);
		speaker->topics.at[speaker->topics.count - 1].lasts = true;
	}
	const struct made *mover = any_mover(maker);
	if (mover)
		add_reaction(maker, world, "gz.msgs.Twist", mover->topics.at[0].name, "");
}

uint32_t make_walker(struct maker *maker, struct part *parent, const char *name, struct vec3 at)
{
	struct dice *dice = &maker->dice;
	struct made made = {.name = name, .world = maker->world, .is_actor = true, .at = at, .first_link = "l"};
	struct part *actor = part_add(maker->arena, parent, PART_OPTIONAL, "</actor>\n",
		"<actor name='%s'><pose>%.3g %.3g 0.5 0 0 0</pose><link name='l'><collision name='c'><geometry><box>"
		"<size>0.3 0.3 1</size></box></geometry></collision></link>",
		name, at.x, at.y);
	struct part *plugin = add_plugin(maker, actor, "FollowActor");
	part_add(maker->arena, plugin, PART_NEEDED, NULL, "<target>%s</target>", any_name(maker));
	make_value(maker, plugin, "velocity", "%g", DICE_OF(dice, 0.8, 4));
	make_value(maker, plugin, "min_distance", "%g", DICE_OF(dice, 0, 1));
	make_value(maker, plugin, "max_distance", "%g", DICE_OF(dice, 3, 9));
	vec_push(&maker->models, made);
	return maker->models.count - 1;
}
