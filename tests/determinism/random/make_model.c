/* Models of the generator. Every element that has a default in SDF is a part of its own, so that the shrinker can leave
 * it out. Numbers have few digits, so that a shrunk world can be read. Sizes are from 5 cm to 1 m and masses from 50 g
 * to 30 kg: each part of a world is sane, but their combinations need not be. */
#include "make_internal.h"

#include <stdio.h>
#include <string.h>

/* --- elements --------------------------------------------------------------------------------------------------- */

struct part *make_element(struct maker *maker, struct part *parent, enum part_kind kind, const char *name)
{
	return part_add(maker->arena, parent, kind, arena_printf(maker->arena, "</%s>", name), "<%s>", name);
}

void make_value(struct maker *maker, struct part *parent, const char *name, const char *format, ...)
{
	char text[256];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	part_add(maker->arena, parent, PART_OPTIONAL, NULL, "<%s>%s</%s>", name, text, name);
}

void make_pose(struct maker *maker, struct part *parent, enum part_kind kind, struct vec3 at, bool turned)
{
	struct dice *dice = &maker->dice;
	if (turned)
		part_add(maker->arena, parent, kind, NULL, "<pose>%.4g %.4g %.4g %.3g %.3g %.3g</pose>", at.x, at.y,
			at.z, dice_between(dice, -3, 3), dice_between(dice, -1.5, 1.5), dice_between(dice, -3, 3));
	else
		part_add(maker->arena, parent, kind, NULL, "<pose>%.4g %.4g %.4g 0 0 0</pose>", at.x, at.y, at.z);
}

static struct vec3 somewhere(struct dice *dice, double most)
{
	struct vec3 at = {
		dice_between(dice, -most, most), dice_between(dice, -most, most), dice_between(dice, -most, most)};
	return at;
}

/* A random value of this range, rather than one of a list. */
static double some(struct dice *dice, double low, double high)
{
	return dice_between(dice, low, high);
}

/* --- files ------------------------------------------------------------------------------------------------------ */

struct part *make_file(struct maker *maker, const char *name, const char *copy_of)
{
	for (uint32_t i = 0; i < maker->scenario->files.count; i++)
		if (!strcmp(maker->scenario->files.at[i].name, name))
			return NULL;
	struct part *part = copy_of ? NULL : part_add(maker->arena, NULL, PART_NEEDED, NULL, "%s", "");
	vec_push(&maker->scenario->files, (struct scenario_file){name, part, copy_of});
	return part;
}

/* A double pyramid, a block like the letter L, and two blocks in one file. */
const char *make_mesh(struct maker *maker)
{
	static const char *const names[] = {"pyramids.obj", "ell.obj", "stool.obj"};
	static const char pyramids[] = "v 0.5 0 0\nv 0 0.4 0\nv -0.5 0 0\nv 0 -0.6 0\nv 0 0 0.5\nv 0.1 0 -0.4\n"
				       "f 1 2 5\nf 2 3 5\nf 3 4 5\nf 4 1 5\nf 2 1 6\nf 3 2 6\nf 4 3 6\nf 1 4 6\n";
	static const char ell[] =
		"v -0.5 -0.5 -0.2\nv 0.5 -0.5 -0.2\nv 0.5 0 -0.2\nv 0 0 -0.2\nv 0 0.5 -0.2\nv -0.5 0.5 -0.2\n"
		"v -0.5 -0.5 0.2\nv 0.5 -0.5 0.2\nv 0.5 0 0.2\nv 0 0 0.2\nv 0 0.5 0.2\nv -0.5 0.5 0.2\n"
		"f 1 4 3 2\nf 1 6 5 4\nf 7 8 9 10\nf 7 10 11 12\nf 1 2 8 7\nf 2 3 9 8\nf 3 4 10 9\nf 4 5 11 10\n"
		"f 5 6 12 11\nf 6 1 7 12\n";
	uint32_t which = dice_below(&maker->dice, (uint32_t)ARRAY_LEN(names));
	struct part *file = make_file(maker, names[which], which == 2 ? "worlds/models/shapes/stool.obj" : NULL);
	if (file)
		part_add(maker->arena, file, PART_NEEDED, NULL, "%s", which ? ell : pyramids);
	return names[which];
}

const char *make_image(struct maker *maker)
{
	return make_image_named(maker, DICE_WORD(&maker->dice, "hills.png", "bowl.png", "flat.png"));
}

const char *make_image_named(struct maker *maker, const char *name)
{
	(void)make_file(maker, name, arena_printf(maker->arena, "worlds/models/shapes/%s", name));
	return name;
}

/* --- shapes ----------------------------------------------------------------------------------------------------- */

static void add_polyline(struct maker *maker, struct part *geometry, double size)
{
	struct dice *dice = &maker->dice;
	static const double convex[][2] = {{1, 0}, {0.3, 0.9}, {-0.8, 0.6}, {-0.8, -0.5}, {0.3, -1}};
	static const double hollow[][2] = {{1, -1}, {1, 1}, {0.2, 1}, {0.2, -0.2}, {-1, -0.2}, {-1, -1}};
	bool is_hollow = dice_chance(dice, 40);
	const double(*points)[2] = is_hollow ? hollow : convex;
	struct part *polyline = make_element(maker, geometry, PART_NEEDED, "polyline");
	for (uint32_t i = 0; i < (is_hollow ? ARRAY_LEN(hollow) : ARRAY_LEN(convex)); i++)
		part_add(maker->arena, polyline, i < 3 ? PART_NEEDED : PART_OPTIONAL, NULL, "<point>%.3g %.3g</point>",
			points[i][0] * size / 2, points[i][1] * size / 2);
	part_add(maker->arena, polyline, PART_NEEDED, NULL, "<height>%.3g</height>", size * some(dice, 0.4, 1.2));
}

static void add_mesh(struct maker *maker, struct part *geometry, double size)
{
	struct dice *dice = &maker->dice;
	const char *way = dice_chance(dice, 30) ? " optimization='convex_hull'" : "";
	struct part *mesh = part_add(maker->arena, geometry, PART_NEEDED, "</mesh>", "<mesh%s>", way);
	part_add(maker->arena, mesh, PART_NEEDED, NULL, "<uri>%s</uri>", make_mesh(maker));
	part_add(maker->arena, mesh, PART_NEEDED, NULL, "<scale>%.3g %.3g %.3g</scale>", size, size,
		size * some(dice, 0.5, 1.5));
}

/* size: of an edge or a diameter, in metres. */
static void add_shape(struct maker *maker, struct part *collision, double size, bool is_static)
{
	struct dice *dice = &maker->dice;
	struct part *geometry = make_element(maker, collision, PART_NEEDED, "geometry");
	double a = size * some(dice, 0.5, 1.2), b = size * some(dice, 0.5, 1.2), c = size * some(dice, 0.5, 1.2);
	uint32_t kind = dice_below(dice, is_static ? 13 : 12);
	if (kind < 4)
		part_add(maker->arena, geometry, PART_NEEDED, NULL, "<box><size>%.3g %.3g %.3g</size></box>", a, b, c);
	else if (kind < 6)
		part_add(maker->arena, geometry, PART_NEEDED, NULL, "<sphere><radius>%.3g</radius></sphere>", a / 2);
	else if (kind < 7)
		part_add(maker->arena, geometry, PART_NEEDED, NULL,
			"<ellipsoid><radii>%.3g %.3g %.3g</radii></ellipsoid>", a / 2, b / 2, c / 2);
	else if (kind < 10) {
		const char *name = kind == 7 ? "cylinder" : kind == 8 ? "capsule" : "cone";
		part_add(maker->arena, geometry, PART_NEEDED, NULL,
			"<%s><radius>%.3g</radius><length>%.3g</length></%s>", name, a / 2, b, name);
	} else if (kind < 11)
		add_polyline(maker, geometry, size);
	else if (kind < 12)
		add_mesh(maker, geometry, size);
	else
		part_add(maker->arena, geometry, PART_NEEDED, NULL,
			"<heightmap><uri>%s</uri><size>%.3g %.3g %.3g</size></heightmap>", make_image(maker), 4 * size,
			4 * size, size * some(dice, 0.2, 1));
}

static void add_friction(struct maker *maker, struct part *surface)
{
	struct dice *dice = &maker->dice;
	struct part *friction = make_element(maker, surface, PART_OPTIONAL, "friction");
	struct part *ode = make_element(maker, friction, PART_NEEDED, "ode");
	make_value(maker, ode, "mu", "%g", DICE_OF(dice, 0, 0.2, 0.5, 1, 2, 100));
	make_value(maker, ode, "mu2", "%g", DICE_OF(dice, 0, 0.2, 0.5, 1, 2, 100));
	if (dice_chance(dice, 20))
		make_value(maker, ode, "fdir1", "%s", DICE_WORD(dice, "1 0 0", "0 1 0", "1 1 0.3"));
	if (dice_chance(dice, 20))
		make_value(maker, ode, "slip1", "%g", DICE_OF(dice, 0.01, 0.5));
	if (dice_chance(dice, 20))
		make_value(maker, ode, "slip2", "%g", DICE_OF(dice, 0.01, 0.5));
}

static void add_contact(struct maker *maker, struct part *surface)
{
	struct dice *dice = &maker->dice;
	struct part *contact = make_element(maker, surface, PART_OPTIONAL, "contact");
	if (dice_chance(dice, 25))
		make_value(maker, contact, "collide_bitmask", "%s", DICE_WORD(dice, "0x01", "0x02", "0x03", "0"));
	if (dice_chance(dice, 25))
		make_value(maker, contact, "category_bitmask", "%s", DICE_WORD(dice, "0x01", "0x02", "0xffff"));
	struct part *ode = make_element(maker, contact, PART_OPTIONAL, "ode");
	if (dice_chance(dice, 50))
		make_value(maker, ode, "kp", "%g", DICE_OF(dice, 1e4, 1e5, 1e7));
	if (dice_chance(dice, 50))
		make_value(maker, ode, "kd", "%g", DICE_OF(dice, 1, 100, 1e4));
	if (dice_chance(dice, 50))
		make_value(maker, ode, "max_vel", "%g", DICE_OF(dice, 0, 0.01, 0.1, 10));
	if (dice_chance(dice, 50))
		make_value(maker, ode, "min_depth", "%g", DICE_OF(dice, 0, 0.001, 0.01));
	if (dice_chance(dice, 20))
		make_value(maker, ode, "soft_cfm", "%g", DICE_OF(dice, 0, 1e-4));
	if (dice_chance(dice, 20))
		make_value(maker, ode, "soft_erp", "%g", DICE_OF(dice, 0.2, 0.9));
}

static void add_surface(struct maker *maker, struct part *collision)
{
	struct dice *dice = &maker->dice;
	if (dice_chance(dice, 50))
		return;
	struct part *surface = make_element(maker, collision, PART_OPTIONAL, "surface");
	if (dice_chance(dice, 70))
		add_friction(maker, surface);
	if (dice_chance(dice, 30)) {
		struct part *bounce = make_element(maker, surface, PART_OPTIONAL, "bounce");
		make_value(maker, bounce, "restitution_coefficient", "%g", DICE_OF(dice, 0.3, 0.9, 1));
		make_value(maker, bounce, "threshold", "%g", DICE_OF(dice, 0, 0.01, 1));
	}
	if (dice_chance(dice, 30))
		add_contact(maker, surface);
}

static void add_collision(
	struct maker *maker, struct part *link, uint32_t index, double size, bool is_static, bool centred)
{
	struct part *collision =
		part_add(maker->arena, link, PART_OPTIONAL, "</collision>", "<collision name='c%u'>", index);
	if (!centred)
		make_pose(maker, collision, PART_OPTIONAL, somewhere(&maker->dice, size / 2),
			dice_chance(&maker->dice, 50));
	add_shape(maker, collision, size, is_static);
	add_surface(maker, collision);
	if (dice_chance(&maker->dice, 5))
		make_value(maker, collision, "max_contacts", "%u", dice_below(&maker->dice, 4));
}

/* --- links ------------------------------------------------------------------------------------------------------ */

static void add_inertial(struct maker *maker, struct part *link, double size)
{
	struct dice *dice = &maker->dice;
	uint32_t way = dice_below(dice, 10);
	if (way < 3) /* SDF's default: 1 kg and 1 kg m^2 */
		return;
	if (way < 5) {
		part_add(maker->arena, link, PART_OPTIONAL, NULL,
			"<inertial auto='true'><density>%g</density></inertial>", DICE_OF(dice, 100, 400, 1000));
		return;
	}
	double mass = DICE_OF(dice, 0.05, 0.5, 2, 5, 30), i = mass * size * size * some(dice, 0.1, 0.4);
	struct part *inertial = make_element(maker, link, PART_OPTIONAL, "inertial");
	if (dice_chance(dice, 30))
		make_pose(maker, inertial, PART_OPTIONAL, somewhere(dice, size / 4), dice_chance(dice, 30));
	part_add(maker->arena, inertial, PART_NEEDED, NULL, "<mass>%g</mass>", mass);
	struct part *inertia = make_element(maker, inertial, PART_NEEDED, "inertia");
	part_add(maker->arena, inertia, PART_NEEDED, NULL, "<ixx>%.4g</ixx><iyy>%.4g</iyy><izz>%.4g</izz>", i,
		i * some(dice, 0.9, 1.2), i * some(dice, 0.9, 1.2));
	if (dice_chance(dice, 20))
		make_value(maker, inertia, "ixy", "%.3g", i * some(dice, -0.2, 0.2));
	if (dice_chance(dice, 20))
		make_value(maker, inertia, "iyz", "%.3g", i * some(dice, -0.2, 0.2));
}

static const char *noise_of(struct maker *maker)
{
	struct dice *dice = &maker->sensor_dice;
	return dice_chance(dice, 50) ? ""
				     : "<noise type='gaussian'><mean>0.01</mean><stddev>0.02</stddev><bias_stddev>0.1"
				       "</bias_stddev><dynamic_bias_stddev>0.1</dynamic_bias_stddev>"
				       "<dynamic_bias_correlation_time>2</dynamic_bias_correlation_time></noise>";
}

static void add_camera(struct maker *maker, struct part *sensor, uint32_t number)
{
	struct dice *dice = &maker->sensor_dice;
	struct part *camera = part_add(maker->arena, sensor, PART_OPTIONAL, "</camera>", "<camera name='c%u'>", number);
	if (number)
		part_add(
			maker->arena, camera, PART_OPTIONAL, NULL, "<pose>0 -0.1 0 0 0 %g</pose>", DICE_OF(dice, 0, 2));
	struct part *image = make_element(maker, camera, PART_NEEDED, "image");
	part_add(maker->arena, image, PART_NEEDED, NULL, "<width>%u</width><height>3</height>", dice_from(dice, 1, 8));
	part_add(maker->arena, camera, PART_NEEDED, NULL, "<clip><near>0.1</near><far>%g</far></clip>%s",
		DICE_OF(dice, 1, 20), noise_of(maker));
	make_sight_camera(maker, camera, image);
}

static void add_lidar(struct maker *maker, struct part *sensor)
{
	struct dice *dice = &maker->sensor_dice;
	struct part *lidar = make_element(maker, sensor, PART_OPTIONAL, "lidar");
	part_add(maker->arena, lidar, PART_NEEDED, NULL,
		"<scan><horizontal><samples>%u</samples><min_angle>-3</min_angle><max_angle>3</max_angle></horizontal>"
		"</scan><range><min>0.1</min><max>%g</max></range>%s",
		dice_from(dice, 1, 30), DICE_OF(dice, 1, 5, 100), noise_of(maker));
	make_sight_lidar(maker, lidar);
}

/* A sensor of any kind; those that see get small pictures and few rays. */
static void add_sensor(struct maker *maker, struct part *link, const char *kind, uint32_t index)
{
	struct dice *dice = &maker->sensor_dice;
	struct part *sensor = part_add(maker->arena, link, PART_OPTIONAL, "</sensor>",
		"<sensor name='s%u' type='%s'><update_rate>%g</update_rate>", index, kind,
		DICE_OF(dice, 0, 7, 10, 30, 100));
	if (!strcmp(kind, "lidar"))
		add_lidar(maker, sensor);
	else if (strstr(kind, "camera") && strcmp(kind, "logical_camera") != 0)
		for (uint32_t i = 0; i < (strcmp(kind, "multicamera") ? 1 : 2); i++)
			add_camera(maker, sensor, i);
	else if (!strcmp(kind, "altimeter"))
		part_add(maker->arena, sensor, PART_OPTIONAL, NULL,
			"<altimeter><vertical_position>%s</vertical_position></altimeter>", noise_of(maker));
	else if (!strcmp(kind, "contact"))
		part_add(maker->arena, sensor, PART_OPTIONAL, NULL, "<contact><collision>c0</collision></contact>");
}

static void add_sensors(struct maker *maker, struct part *link, double size)
{
	struct dice *dice = &maker->sensor_dice;
	if (!maker->scenario->senses || dice_chance(dice, 60))
		return;
	part_add(maker->arena, link, PART_OPTIONAL, NULL,
		"<visual name='v'><geometry><box><size>%g %g %g</size></box></geometry></visual>", size, size * 0.7,
		size * 0.5);
	for (uint32_t i = dice_below(dice, 3); i > 0; i--)
		add_sensor(maker, link,
			DICE_WORD(dice, "imu", "altimeter", "magnetometer", "navsat", "air_pressure", "air_speed",
				"lidar", "lidar", "rgbd_camera", "depth_camera", "camera", "logical_camera", "contact",
				"segmentation_camera", "boundingbox_camera", "wide_angle_camera", "multicamera",
				"thermal_camera"),
			i);
}

static struct part *add_link(
	struct maker *maker, struct part *model, enum part_kind kind, const char *name, struct vec3 at, double size)
{
	struct dice *dice = &maker->dice;
	struct part *link = part_add(maker->arena, model, kind, "</link>", "<link name='%s'>", name);
	if (at.x != 0 || at.y != 0 || at.z != 0)
		make_pose(maker, link, PART_OPTIONAL, at, dice_chance(dice, 30));
	add_inertial(maker, link, size);
	if (dice_chance(dice, 10))
		make_value(maker, link, "gravity", "false");
	if (dice_chance(dice, 15))
		make_value(maker, link, "self_collide", "%s", DICE_WORD(dice, "true", "false"));
	if (dice_chance(dice, 3))
		make_value(maker, link, "kinematic", "true");
	if (dice_chance(dice, 10)) {
		struct part *decay = make_element(maker, link, PART_OPTIONAL, "velocity_decay");
		make_value(maker, decay, "linear", "%g", DICE_OF(dice, 0, 0.01, 0.5));
		make_value(maker, decay, "angular", "%g", DICE_OF(dice, 0, 0.01, 0.5));
	}
	make_sight_visuals(maker, link, size);
	add_sensors(maker, link, size);
	return link;
}

static void add_collisions(struct maker *maker, struct part *link, double size, bool is_static)
{
	uint32_t count = dice_chance(&maker->dice, 70) ? 1 : dice_from(&maker->dice, 0, 3);
	for (uint32_t i = 0; i < count; i++)
		add_collision(maker, link, i, size, is_static, i == 0 && dice_chance(&maker->dice, 70));
}

/* --- joints ----------------------------------------------------------------------------------------------------- */

static const char *const single[] = {"revolute", "continuous", "prismatic", "screw", "revolute"};
static const char *const any_kind[] = {
	"revolute", "revolute", "continuous", "prismatic", "ball", "universal", "revolute2", "screw", "fixed"};

static bool is_linear(const char *type)
{
	return !strcmp(type, "prismatic");
}

static bool has_axes(const char *type)
{
	return strcmp(type, "ball") != 0 && strcmp(type, "fixed") != 0;
}

static bool has_two_axes(const char *type)
{
	return !strcmp(type, "universal") || !strcmp(type, "revolute2") || !strcmp(type, "gearbox");
}

static void set_stops(struct maker *maker, struct part *limit, double lower, double upper)
{
	if (lower > -1e15)
		make_value(maker, limit, "lower", "%.4g", lower);
	if (upper < 1e15)
		make_value(maker, limit, "upper", "%.4g", upper);
}

/* Stops near and beyond half a turn, on one side, at one point, or away from the joint's first position. */
static void add_stops(struct maker *maker, struct part *limit, double scale)
{
	struct dice *dice = &maker->dice;
	double near = some(dice, 0.01, 0.5) * scale, far = some(dice, 0.5, 2) * scale, none = 1e16;
	switch (dice_below(dice, 12)) {
	case 0:
		set_stops(maker, limit, -near, near);
		break;
	case 1:
		set_stops(maker, limit, -far, near);
		break;
	case 2:
		set_stops(maker, limit, -near, none);
		break;
	case 3:
		set_stops(maker, limit, -none, near);
		break;
	case 4:
		set_stops(maker, limit, 0, DICE_OF(dice, 0.3, 3.1, 4, 1e16) * scale);
		break;
	case 5:
		set_stops(maker, limit, -DICE_OF(dice, 3.1, 3.14159265, 3.2) * scale,
			DICE_OF(dice, 3.1, 3.14159265, 3.2) * scale);
		break;
	case 6:
		set_stops(maker, limit, -DICE_OF(dice, 4, 6.4, 7) * scale, DICE_OF(dice, 0.2, 4, 7) * scale);
		break;
	case 7:
		set_stops(maker, limit, -near, DICE_OF(dice, 3.2, 7) * scale);
		break;
	case 8:
		set_stops(maker, limit, near, near);
		break;
	case 9:
		set_stops(maker, limit, near, near + far);
		break;
	default:
		break;
	}
}

static void add_limits(struct maker *maker, struct part *axis, double scale)
{
	struct dice *dice = &maker->dice;
	struct part *limit = make_element(maker, axis, PART_OPTIONAL, "limit");
	add_stops(maker, limit, scale);
	if (dice_chance(dice, 25))
		make_value(maker, limit, "effort", "%g", DICE_OF(dice, 0, 1, 5, 50));
	if (dice_chance(dice, 20))
		make_value(maker, limit, "velocity", "%g", DICE_OF(dice, 0.1, 1, 5));
	if (dice_chance(dice, 10))
		make_value(maker, limit, "stiffness", "%g", DICE_OF(dice, 0, 100, 2000, 1e6));
	if (dice_chance(dice, 10))
		make_value(maker, limit, "dissipation", "%g", DICE_OF(dice, 0, 0.1, 5, 100));
}

static void add_dynamics(struct maker *maker, struct part *axis)
{
	struct dice *dice = &maker->dice;
	struct part *dynamics = make_element(maker, axis, PART_OPTIONAL, "dynamics");
	if (dice_chance(dice, 50))
		make_value(maker, dynamics, "damping", "%g", DICE_OF(dice, 0.05, 0.5, 5, 1000));
	if (dice_chance(dice, 30))
		make_value(maker, dynamics, "friction", "%g", DICE_OF(dice, 0.1, 1, 10));
	if (dice_chance(dice, 40)) {
		make_value(maker, dynamics, "spring_stiffness", "%g", DICE_OF(dice, 1, 50, 1e4));
		make_value(maker, dynamics, "spring_reference", "%g", DICE_OF(dice, 0, 0.3, -1));
	}
}

static void add_axis(struct maker *maker, struct part *joint, const char *which, const char *type, const char *mimic)
{
	struct dice *dice = &maker->dice;
	struct part *axis = make_element(maker, joint, PART_OPTIONAL, which);
	if (!strcmp(which, "axis2")) /* across the first axis; otherwise the joint would be left out, and the system
					that drives it, too */
		part_add(maker->arena, axis, PART_NEEDED, NULL, "<xyz>%s</xyz>", DICE_WORD(dice, "1 0 0", "1 0.1 0"));
	else if (dice_chance(dice, 80))
		make_value(maker, axis, "xyz", "%s", DICE_WORD(dice, "0 0 1", "0 1 0", "0.2 0 1", "0 0 -1"));
	if (dice_chance(dice, 75))
		add_limits(maker, axis, is_linear(type) ? 0.3 : 1);
	if (dice_chance(dice, 40))
		add_dynamics(maker, axis);
	if (mimic)
		part_add(maker->arena, axis, PART_OPTIONAL, NULL,
			"<mimic joint='%s' axis='axis'><multiplier>%g</multiplier><offset>%g</offset>"
			"<reference>%g</reference></mimic>",
			mimic, DICE_OF(dice, 1, -1, 0.5, 2), DICE_OF(dice, 0, 0.1), DICE_OF(dice, 0, 0.1));
}

/* parent and child: names that are valid at the joint's place in the file. */
static struct part *add_joint(struct maker *maker, struct part *owner, const char *name, const char *type,
	const char *parent, const char *child, const char *mimic)
{
	struct dice *dice = &maker->dice;
	struct part *joint =
		part_add(maker->arena, owner, PART_OPTIONAL, "</joint>\n", "<joint name='%s' type='%s'>", name, type);
	if (dice_chance(dice, 30))
		make_pose(maker, joint, PART_OPTIONAL, somewhere(dice, 0.3), dice_chance(dice, 30));
	part_add(maker->arena, joint, PART_NEEDED, NULL, "<parent>%s</parent><child>%s</child>", parent, child);
	if (!strcmp(type, "screw"))
		make_value(maker, joint, "screw_thread_pitch", "%g", DICE_OF(dice, 0.1, 1, -0.5, 5));
	if (has_axes(type))
		add_axis(maker, joint, "axis", type, mimic);
	if (has_two_axes(type))
		add_axis(maker, joint, "axis2", type, NULL);
	return joint;
}

static void add_topic(struct maker *maker, struct made *made, enum topic_kind kind, const char *rest)
{
	vec_push(&made->topics,
		(struct topic){.name = arena_printf(maker->arena, "/model/%s/%s", made->name, rest), .kind = kind});
}

static struct part *add_plugin(struct maker *maker, struct part *model, const char *name)
{
	return part_add(maker->arena, model, PART_OPTIONAL, "</plugin>\n",
		"<plugin name='gz::sim::systems::%s' filename='x'>", name);
}

static void add_pid(struct maker *maker, struct part *plugin)
{
	struct dice *dice = &maker->dice;
	make_value(maker, plugin, "p_gain", "%g", DICE_OF(dice, 1, 20, 200));
	make_value(maker, plugin, "i_gain", "%g", DICE_OF(dice, 0, 0.1, 10));
	make_value(maker, plugin, "d_gain", "%g", DICE_OF(dice, 0, 0.01, 1));
	make_value(maker, plugin, "cmd_max", "%g", DICE_OF(dice, 10, 1000));
	make_value(maker, plugin, "cmd_min", "%g", -DICE_OF(dice, 10, 1000));
}

/* A system that drives a joint with an axis. */
static void add_driver(struct maker *maker, struct part *model, struct made *made, const char *joint)
{
	struct dice *dice = &maker->dice;
	struct part *plugin;
	switch (dice_below(dice, 4)) {
	case 0:
	case 1:
		plugin = add_plugin(maker, model, "JointController");
		if (dice_chance(dice, 60))
			make_value(maker, plugin, "initial_velocity", "%g", DICE_OF(dice, -4, -1, 0.5, 3, 10));
		if (dice_chance(dice, 25)) {
			make_value(maker, plugin, "use_force_commands", "true");
			add_pid(maker, plugin);
		}
		add_topic(maker, made, TOPIC_VELOCITY, arena_printf(maker->arena, "joint/%s/cmd_vel", joint));
		break;
	case 2:
		plugin = add_plugin(maker, model, "JointPositionController");
		if (dice_chance(dice, 60))
			make_value(maker, plugin, "initial_position", "%g", DICE_OF(dice, -1, 0.5, 4));
		if (dice_chance(dice, 30))
			make_value(maker, plugin, "use_velocity_commands", "true");
		else
			add_pid(maker, plugin);
		add_topic(maker, made, TOPIC_POSITION, arena_printf(maker->arena, "joint/%s/0/cmd_pos", joint));
		break;
	default:
		plugin = add_plugin(maker, model, "ApplyJointForce");
		add_topic(maker, made, TOPIC_FORCE, arena_printf(maker->arena, "joint/%s/cmd_force", joint));
		break;
	}
	part_add(maker->arena, plugin, PART_NEEDED, NULL, "<joint_name>%s</joint_name>", joint);
}

static void add_velocity_control(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	struct part *plugin = add_plugin(maker, model, "VelocityControl");
	double most = maker->speed_max;
	if (dice_chance(dice, 70))
		make_value(maker, plugin, "initial_linear", "%.3g %.3g %.3g", some(dice, -most, most),
			some(dice, -most, most), dice_chance(dice, 80) ? 0 : some(dice, -1, 1));
	if (dice_chance(dice, 20))
		make_value(maker, plugin, "initial_angular", "0 0 %.3g", some(dice, -3, 3));
	if (dice_chance(dice, maker->in_a_herd)) { /* one topic for several models */
		make_value(maker, plugin, "topic", "herd");
		vec_push(&made->topics, (struct topic){.name = "/herd", .kind = TOPIC_TWIST});
	} else {
		add_topic(maker, made, TOPIC_TWIST, "cmd_vel");
	}
	if (!dice_chance(dice, 12))
		return;
	make_value(maker, plugin, "link_name", "l0");
	add_topic(maker, made, TOPIC_TWIST, "link/l0/cmd_vel");
}

/* --- models ----------------------------------------------------------------------------------------------------- */

static void make_solid(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	double size = some(dice, 0.15, 0.8);
	add_collisions(maker, add_link(maker, model, PART_NEEDED, "l0", (struct vec3){0, 0, 0}, size), size, false);
	if (dice_chance(dice, 25)) {
		struct vec3 beside = {size, 0, size / 2};
		add_collisions(maker, add_link(maker, model, PART_OPTIONAL, "l1", beside, size / 2), size / 2, false);
		add_joint(maker, model, "weld", "fixed", "l0", "l1", NULL);
	}
	if (dice_chance(dice, 50))
		add_velocity_control(maker, model, made);
}

/* Links in a row: a joint ties each to one before it; some are links of a nested model. */
static void make_mechanism(struct maker *maker, struct part *model, struct made *made)
{
	enum { LINKS_MAX = 4 };
	struct dice *dice = &maker->dice;
	const char *names[LINKS_MAX];
	uint32_t links = dice_from(dice, 1, LINKS_MAX);
	double size = some(dice, 0.1, 0.5), reach = size * some(dice, 0.5, 1.6);
	bool to_world = links == 1 || dice_chance(dice, 40);
	for (uint32_t i = 0; i < links; i++) {
		const char *name = arena_printf(maker->arena, "l%u", i);
		struct vec3 at = {i * reach, i ? some(dice, -0.1, 0.1) : 0, i ? some(dice, -0.1, 0.1) : 0};
		bool nested = i > 0 && dice_chance(dice, 12);
		struct part *owner =
			!nested ? model
				: part_add(maker->arena, model, PART_OPTIONAL, "</model>", "<model name='in%u'>", i);
		struct part *link = add_link(maker, owner, i ? PART_OPTIONAL : PART_NEEDED, name, at, size);
		if (dice_chance(dice, 85))
			add_collisions(maker, link, size, false);
		names[i] = nested ? arena_printf(maker->arena, "in%u::%s", i, name) : name;
		if (!i && !to_world)
			continue;
		const char *type = dice_string(dice, any_kind, ARRAY_LEN(any_kind));
		const char *joint = arena_printf(maker->arena, "j%u", i);
		add_joint(maker, model, joint, type, i ? names[dice_below(dice, i)] : "world", names[i], NULL);
		if (has_axes(type) && dice_chance(dice, 60))
			add_driver(maker, model, made, joint);
	}
	if (dice_chance(dice, 20))
		add_velocity_control(maker, model, made);
}

static void make_gears(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	struct part *frame = add_link(maker, model, PART_NEEDED, "l0", (struct vec3){0, 0, 0}, 0.4);
	if (dice_chance(dice, 50))
		add_collision(maker, frame, 0, 0.3, false, true);
	for (uint32_t i = 1; i <= 2; i++) {
		struct vec3 at = {0, i == 1 ? 0.5 : -0.5, 0};
		struct part *link =
			add_link(maker, model, PART_OPTIONAL, arena_printf(maker->arena, "l%u", i), at, 0.3);
		if (dice_chance(dice, 50))
			add_collision(maker, link, 0, 0.3, false, true);
		bool follows = i == 2 && dice_chance(dice, 50);
		add_joint(maker, model, arena_printf(maker->arena, "j%u", i),
			dice_string(dice, single, ARRAY_LEN(single)), "l0", arena_printf(maker->arena, "l%u", i),
			follows ? "j1" : NULL);
		if (dice_chance(dice, 70))
			add_driver(maker, model, made, arena_printf(maker->arena, "j%u", i));
	}
	if (dice_chance(dice, 60))
		part_add(maker->arena, model, PART_OPTIONAL, NULL,
			"<joint name='train' type='gearbox'><parent>l1</parent><child>l2</child><gearbox_ratio>%g"
			"</gearbox_ratio><gearbox_reference_body>l0</gearbox_reference_body><axis><xyz>0 0 "
			"1</xyz></axis>"
			"<axis2><xyz>0 0 1</xyz></axis2></joint>",
			DICE_OF(dice, 0.2, -1, 3));
	if (dice_chance(dice, 30))
		add_joint(maker, model, "j0", DICE_WORD(dice, "fixed", "ball", "prismatic", "revolute"), "world", "l0",
			NULL);
}

static void make_cart(struct maker *maker, struct part *model, struct made *made)
{
	struct dice *dice = &maker->dice;
	part_add(maker->arena, model, PART_NEEDED, NULL,
		"<link name='l0'><inertial><mass>5</mass><inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.2</izz></inertia>"
		"</inertial><collision name='c'><geometry><box><size>0.6 0.3 0.15</size></box></geometry></collision>"
		"<collision name='caster'><pose>-0.25 0 -0.1 0 0 "
		"0</pose><geometry><sphere><radius>0.1</radius></sphere>"
		"</geometry><surface><friction><ode><mu>0</mu><mu2>0</mu2></ode></friction></surface></collision></"
		"link>");
	for (int side = 0; side < 2; side++) {
		const char *name = side ? "right" : "left";
		part_add(maker->arena, model, PART_NEEDED, NULL,
			"<link name='%s'><pose>0.15 %g -0.05 -1.5708 0 0</pose><inertial><mass>0.5</mass><inertia>"
			"<ixx>0.003</ixx><iyy>0.003</iyy><izz>0.004</izz></inertia></inertial><collision name='c'>"
			"<geometry><cylinder><radius>0.15</radius><length>0.06</length></cylinder></geometry></"
			"collision>"
			"</link><joint name='%s_joint' type='continuous'><parent>l0</parent><child>%s</child><axis>"
			"<xyz>0 0 1</xyz></axis></joint>",
			name, side ? -0.2 : 0.2, name, name);
	}
	struct part *plugin = add_plugin(maker, model, "DiffDrive");
	part_add(maker->arena, plugin, PART_NEEDED, NULL,
		"<left_joint>left_joint</left_joint><right_joint>right_joint</right_joint>");
	make_value(maker, plugin, "wheel_separation", "0.4");
	make_value(maker, plugin, "wheel_radius", "0.15");
	if (dice_chance(dice, 50))
		make_value(maker, plugin, "max_linear_acceleration", "%g", DICE_OF(dice, 1, 10));
	if (dice_chance(dice, 30))
		make_value(maker, plugin, "max_linear_jerk", "%g", DICE_OF(dice, 5, 100));
	add_topic(maker, made, TOPIC_TWIST, "cmd_vel");
	add_topic(maker, made, TOPIC_ENABLE, "enable");
}

static void make_static(struct maker *maker, struct part *model)
{
	struct dice *dice = &maker->dice;
	double size = some(dice, 0.3, maker->region_m);
	struct part *link = part_add(maker->arena, model, PART_NEEDED, "</link>", "<link name='l0'>");
	add_collision(maker, link, 0, size, true, dice_chance(dice, 80));
	if (dice_chance(dice, 20))
		add_collision(maker, link, 1, size, true, false);
}

static void make_plane(struct maker *maker, struct part *model)
{
	struct dice *dice = &maker->dice;
	struct part *collision = part_add(maker->arena, model, PART_NEEDED, "</collision></link>",
		"<link name='l0'><collision name='c'><geometry><plane><normal>%s</normal></plane></geometry>",
		dice_chance(dice, 80) ? "0 0 1" : "0.1 0 1");
	add_surface(maker, collision);
}

/* A model that flies; its commands, and so the levels that it loads, are made later. */
void make_tourist(struct maker *maker, struct part *world, const char *name, struct vec3 at)
{
	struct made made = {.name = name, .world = maker->world, .at = at, .tours = true, .first_link = "l0"};
	struct part *model = part_add(maker->arena, world, PART_OPTIONAL, "</model>\n",
		"<model name='%s'><pose>%.4g %.4g %.4g 0 0 0</pose>", name, at.x, at.y, at.z);
	struct part *link = part_add(maker->arena, model, PART_NEEDED, "</link>", "<link name='l0'>");
	make_value(maker, link, "gravity", "false");
	if (dice_chance(&maker->dice, 70))
		add_collision(maker, link, 0, some(&maker->dice, 0.1, 0.6), false, true);
	part_add(maker->arena, model, PART_OPTIONAL, NULL, "%s",
		"<plugin name='gz::sim::systems::VelocityControl' filename='x'/>");
	add_topic(maker, &made, TOPIC_TWIST, "cmd_vel");
	vec_push(&maker->models, made);
}

uint32_t make_model(
	struct maker *maker, struct part *parent, enum model_kind kind, const char *name, const struct vec3 *at)
{
	struct dice *dice = &maker->dice;
	bool is_static = kind == MODEL_STATIC || kind == MODEL_PLANE;
	struct made made = {.name = name, .world = maker->world, .is_static = is_static, .first_link = "l0"};
	made.at = at ? *at : made.at;
	struct part *model = part_add(maker->arena, parent, PART_OPTIONAL, "</model>\n", "<model name='%s'>", name);
	if (is_static)
		part_add(maker->arena, model, PART_NEEDED, NULL, "<static>true</static>");
	if (at)
		make_pose(maker, model, PART_OPTIONAL, *at,
			kind != MODEL_PLANE && kind != MODEL_CART && dice_chance(dice, 40));
	if (!is_static && dice_chance(dice, 8))
		make_value(maker, model, "self_collide", "true");
	if (!is_static && dice_chance(dice, 8))
		make_value(maker, model, "allow_auto_disable", "false");
	switch (kind) {
	case MODEL_MECHANISM:
		make_mechanism(maker, model, &made);
		break;
	case MODEL_GEARS:
		make_gears(maker, model, &made);
		break;
	case MODEL_CART:
		make_cart(maker, model, &made);
		break;
	case MODEL_STATIC:
		make_static(maker, model);
		break;
	case MODEL_PLANE:
		make_plane(maker, model);
		break;
	case MODEL_DRIVEN:
		make_driven(maker, model, &made);
		break;
	default:
		make_solid(maker, model, &made);
		break;
	}
	made.in_wind = maker->scenario->has_systems && dice_chance(dice, 60);
	if (made.in_wind)
		make_value(maker, model, "enable_wind", "true");
	if (maker->scenario->has_systems && kind != MODEL_PLANE)
		make_systems(maker, model, &made);
	made.part = model;
	vec_push(&maker->models, made);
	return maker->models.count - 1;
}

static void add_walk(struct maker *maker, struct part *script, uint32_t id)
{
	struct dice *dice = &maker->dice;
	struct part *walk =
		part_add(maker->arena, script, PART_OPTIONAL, "</trajectory>", "<trajectory id='%u' type='walk'>", id);
	double time_s = 0;
	for (uint32_t i = dice_from(dice, 1, 4); i > 0; i--) {
		struct vec3 to = somewhere(dice, maker->region_m / 2);
		part_add(maker->arena, walk, PART_OPTIONAL, NULL,
			"<waypoint><time>%.3g</time><pose>%.3g %.3g 0 0 0 %.3g</pose></waypoint>", time_s, to.x, to.y,
			some(dice, -3, 3));
		time_s += some(dice, 0.03, 0.5);
	}
}

uint32_t make_actor(struct maker *maker, struct part *parent, const char *name, struct vec3 at)
{
	struct dice *dice = &maker->dice;
	struct made made = {.name = name, .world = maker->world, .is_actor = true, .at = at, .first_link = "l"};
	struct part *actor = part_add(maker->arena, parent, PART_OPTIONAL, "</actor>\n", "<actor name='%s'>", name);
	make_pose(maker, actor, PART_OPTIONAL, at, false);
	part_add(maker->arena, actor, PART_OPTIONAL, NULL,
		"<link name='l'><collision name='c'><geometry>%s</geometry></collision></link>",
		DICE_WORD(dice, "<box><size>0.4 0.4 1</size></box>", "<sphere><radius>0.3</radius></sphere>",
			"<capsule><radius>0.2</radius><length>0.6</length></capsule>"));
	struct part *script = make_element(maker, actor, PART_NEEDED, "script");
	if (dice_chance(dice, 20))
		make_value(maker, script, "loop", "false");
	if (dice_chance(dice, 20))
		make_value(maker, script, "delay_start", "%g", DICE_OF(dice, 0.02, 0.1));
	if (dice_chance(dice, 10))
		make_value(maker, script, "auto_start", "false");
	for (uint32_t t = 0, walks = dice_chance(dice, 30) ? 2 : 1; t < walks; t++)
		add_walk(maker, script, t);
	maker->scenario->actors = true;
	vec_push(&maker->models, made);
	return maker->models.count - 1;
}

void make_world_joint(struct maker *maker, struct part *parent_part, const char *name, const struct made *parent,
	const struct made *child, const char *type)
{
	const char *above = parent ? arena_printf(maker->arena, "%s::%s", parent->name, parent->first_link) : "world";
	const char *below = arena_printf(maker->arena, "%s::%s", child->name, child->first_link);
	add_joint(maker, parent_part, name, type ? type : dice_string(&maker->dice, any_kind, ARRAY_LEN(any_kind)),
		above, below, NULL);
}
