/* Reads the kinds and axes of joints. The links and frames that a joint names may be declared after it, so the last
 * pass finds them. A joint that cannot be made is left out, and the arrays are then closed up. */
#include "sdf/load.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	enum sdf_joint_kind kind;
} sdf_joint_kinds[] = {
	{"revolute", SDF_REVOLUTE},
	{"continuous", SDF_CONTINUOUS},
	{"prismatic", SDF_PRISMATIC},
	{"fixed", SDF_FIXED},
	{"ball", SDF_BALL},
	{"universal", SDF_UNIVERSAL},
	{"revolute2", SDF_REVOLUTE2},
	{"screw", SDF_SCREW},
	{"gearbox", SDF_GEARBOX},
};

const char *sdf_joint_kind_text(enum sdf_joint_kind kind)
{
	for (size_t i = 0; i < ARRAY_LEN(sdf_joint_kinds); i++)
		if (sdf_joint_kinds[i].kind == kind)
			return sdf_joint_kinds[i].name;
	return "unknown";
}

static enum sdf_joint_kind sdf_joint_load_kind(struct load *load, const struct sdf_element *element, const char *name)
{
	const char *type = sdf_attribute(element, "type");
	for (size_t i = 0; type && i < ARRAY_LEN(sdf_joint_kinds); i++)
		if (!strcmp(sdf_joint_kinds[i].name, type))
			return sdf_joint_kinds[i].kind;
	load_error(load, element,
		"joint \"%.80s\" has the type \"%.40s\": expected revolute, continuous, prismatic, fixed, ball, "
		"universal, revolute2, screw or gearbox",
		name, type ? type : "");
	return SDF_FIXED;
}

static void sdf_joint_load_limits(struct load *load, const struct sdf_element *limit, struct sdf_axis *axis)
{
	double effort = -1, velocity = -1;
	load_double(load, limit, "lower", -INFINITY, INFINITY, &axis->lower_raw);
	load_double(load, limit, "upper", -INFINITY, INFINITY, &axis->upper_raw);
	load_double(load, limit, "effort", -INFINITY, INFINITY, &effort);
	load_double(load, limit, "velocity", -INFINITY, INFINITY, &velocity);
	load_double(load, limit, "stiffness", 0, 1e30, &axis->stiffness);
	load_double(load, limit, "dissipation", 0, 1e30, &axis->dissipation);
	axis->lower = axis->lower_raw <= -1e16 ? (double)-INFINITY : axis->lower_raw;
	axis->upper = axis->upper_raw >= 1e16 ? (double)INFINITY : axis->upper_raw;
	axis->effort = effort < 0 || effort >= 1e16 ? (double)INFINITY : effort;
	axis->velocity = velocity < 0 || velocity >= 1e16 ? (double)INFINITY : velocity;
	if (axis->lower > axis->upper)
		load_warn(load, limit, "<lower> %g is above <upper> %g: the joint has no limits", axis->lower,
			axis->upper);
}

/* Reads an axis. Its direction is still in its own frame; load_place_joints() turns it. */
static struct sdf_axis sdf_joint_load_axis(struct load *load, const struct sdf_element *element, struct vec3 xyz)
{
	struct sdf_axis axis = {
		.xyz_world = xyz, .lower_raw = -1e16, .upper_raw = 1e16, .stiffness = 1e8, .dissipation = 1};
	const struct sdf_element *dynamics = sdf_child(element, "dynamics", NULL);
	sdf_joint_load_limits(load, sdf_child(element, "limit", NULL), &axis);
	if (!element)
		return axis;
	load_vec3(load, element, "xyz", -1e100, 1e100, &axis.xyz_world);
	if (!(vec3_length(axis.xyz_world) > 1e-100)) {
		load_error(load, sdf_child(element, "xyz", NULL),
			"the direction <xyz> of an axis is 0 0 0: expected a direction");
		axis.xyz_world = xyz;
	}
	axis.xyz_world = vec3_unit(axis.xyz_world);
	load_double(load, element, "initial_position", -SDF_BEGIN_MAX, SDF_BEGIN_MAX, &axis.initial_position);
	load_double(load, dynamics, "damping", -1e16, 1e16, &axis.damping);
	load_double(load, dynamics, "friction", -1e16, 1e16, &axis.friction);
	load_double(load, dynamics, "spring_reference", -1e16, 1e16, &axis.spring_reference);
	load_double(load, dynamics, "spring_stiffness", -1e16, 1e16, &axis.spring_stiffness);
	return axis;
}

/* The axes are added to load->axes. */
static void sdf_joint_load_axes(struct load *load, const struct sdf_element *element, struct sdf_joint *joint)
{
	static const unsigned needed[] = {[SDF_REVOLUTE] = 1,
		[SDF_CONTINUOUS] = 1,
		[SDF_PRISMATIC] = 1,
		[SDF_UNIVERSAL] = 2,
		[SDF_REVOLUTE2] = 2,
		[SDF_SCREW] = 1,
		[SDF_GEARBOX] = 2};
	const struct sdf_element *first = sdf_child(element, "axis", NULL), *second = sdf_child(element, "axis2", NULL);
	joint->axis_count = second ? 2 : first ? 1 : 0;
	struct sdf_axis *axes = vec_append(&load->axes, 2);
	axes[0] = sdf_joint_load_axis(load, first, (struct vec3){0, 0, 1});
	/* a second axis that is not given has to differ from the first */
	bool along_x = fabs(axes[0].xyz_world.x) > 0.9;
	struct vec3 other = along_x ? (struct vec3){0, 0, 1} : (struct vec3){1, 0, 0};
	axes[1] = sdf_joint_load_axis(load, second, second ? (struct vec3){0, 0, 1} : other);
	if ((size_t)joint->kind < ARRAY_LEN(needed) && joint->axis_count < needed[joint->kind])
		load_warn_once(load, sdf_joint_kind_text(joint->kind), element,
			"joint \"%.80s\" is %s but has %u of the %u axes it needs: defaults are used", joint->name,
			sdf_joint_kind_text(joint->kind), (unsigned)joint->axis_count, needed[joint->kind]);
}

static void sdf_joint_load_gears(struct load *load, const struct sdf_element *element, struct sdf_joint *joint)
{
	double lead_m = 1, old_rad_per_m = 0;
	joint->gearbox_ratio = 1;
	load_double(load, element, "gearbox_ratio", -1e9, 1e9, &joint->gearbox_ratio);
	load_double(load, element, "screw_thread_pitch", -SDF_LENGTH_MAX, SDF_LENGTH_MAX, &lead_m);
	load_double(load, element, "thread_pitch", -SDF_LENGTH_MAX, SDF_LENGTH_MAX, &old_rad_per_m);
	bool old = sdf_child(element, "thread_pitch", NULL) && !sdf_child(element, "screw_thread_pitch", NULL);
	joint->thread_pitch = old ? -old_rad_per_m : 2 * M_PI / lead_m;
	if (joint->kind == SDF_SCREW && !(isfinite(joint->thread_pitch) && joint->thread_pitch != 0))
		load_error(load, element, "joint \"%.80s\" has a thread pitch of 0: expected another", joint->name);
}

static void sdf_joint_load_ode(struct load *load, const struct sdf_element *element, struct sdf_joint *joint)
{
	const struct sdf_element *from = sdf_child(sdf_child(element, "physics", NULL), "ode", NULL);
	const struct sdf_element *limit = sdf_child(from, "limit", NULL);
	struct sdf_joint_ode ode = {.stop_erp = NAN, .stop_cfm = NAN, .erp = NAN, .cfm = NAN};
	load_double(load, from, "max_force", 0, INFINITY, &ode.max_force);
	load_double(load, from, "velocity", -1e4, 1e4, &ode.velocity);
	load_double(load, from, "erp", 0, 1, &ode.erp);
	load_double(load, from, "cfm", 0, 1e12, &ode.cfm);
	load_double(load, limit, "erp", 0, 1, &ode.stop_erp);
	load_double(load, limit, "cfm", 0, 1e12, &ode.stop_cfm);
	if (ode.max_force >= 1e16)
		ode.max_force = INFINITY;
	joint->ode = load_share(load, &ode, sizeof ode);
	bool softens = sdf_child(from, "erp", NULL) || sdf_child(from, "cfm", NULL);
	if (softens && joint->kind != SDF_BALL && joint->kind != SDF_FIXED)
		load_warn_once(load, "joint erp", from,
			"<erp> and <cfm> of joint \"%.80s\", of type %s, are ignored: they act on ball and fixed "
			"joints",
			joint->name, sdf_joint_kind_text(joint->kind));
}

/* The text of <parent> or <child>, checked as far as possible before the names are known. */
static const char *sdf_joint_load_end(struct load *load, const struct sdf_element *element, const char *end)
{
	const char *text = sdf_child_text(element, end);
	if (text && !*text)
		text = NULL;
	if (!text)
		load_error(load, element, "joint has no <%s>: expected the name of a link or frame", end);
	else if (!strcmp(text, "__root__"))
		load_error(load, element, "<%s> of a joint is __root__: expected the name of a link or frame", end);
	else
		return text;
	return "";
}

static void sdf_joint_load_sensors(struct load *load, const struct sdf_element *element, uint32_t index, uint32_t scope)
{
	for (const struct sdf_element *at = sdf_child(element, "sensor", NULL); at;
		at = sdf_child(element, "sensor", at))
		load_sensor(load, at, SDF_NONE, index, scope);
}

void load_joint(struct load *load, const struct sdf_element *element, uint32_t model, uint32_t scope)
{
	struct sdf_world *world = load->world;
	uint32_t index = world->joints.count;
	const char *relative_to;
	if (!load_room(load, element, index))
		return;
	struct sdf_joint joint = {.name = load_name(load, element),
		.model = model,
		.line = element->line,
		.element = element,
		.parent = SDF_NONE,
		.child = SDF_NONE};
	joint.scoped = model == SDF_NONE
			       ? joint.name
			       : arena_printf(&load->sdf->arena, "%s::%s", world->models.at[model].scoped, joint.name);
	joint.kind = sdf_joint_load_kind(load, element, joint.name);
	joint.parent_name = sdf_joint_load_end(load, element, "parent");
	joint.child_name = sdf_joint_load_end(load, element, "child");
	sdf_joint_load_axes(load, element, &joint);
	sdf_joint_load_gears(load, element, &joint);
	sdf_joint_load_ode(load, element, &joint);
	struct pose raw = load_pose(load, element, &relative_to);
	uint32_t frame = load_declare(load, (struct frames_frame){.kind = FRAMES_JOINT,
						    .name = joint.name,
						    .element = element,
						    .scope = scope,
						    .relative_to = relative_to,
						    .attached_to = *joint.child_name ? joint.child_name : NULL,
						    .raw = raw});
	vec_push(&load->joint_frames, frame);
	vec_push(&load->joint_dropped, 0);
	vec_push(&world->joints, joint);
	sdf_joint_load_sensors(load, element, index, scope);
}

/* Whether the frame is a joint. A joint may be left out, so printed text must not refer to joints. */
static bool sdf_joint_is_joint(const struct load *load, uint32_t frame)
{
	return load->frames.frames.at[frame].kind == FRAMES_JOINT;
}

/* The frame that the joint's pose is relative to, for print. */
static const char *sdf_joint_pose_frame(const struct load *load, uint32_t frame)
{
	const struct frames_frame *own = &load->frames.frames.at[frame];
	if (own->target == SDF_NONE || sdf_joint_is_joint(load, own->target))
		return NULL;
	return own->relative_to ? own->relative_to : own->attached_to ? own->attached_to : NULL;
}

/* Turns an axis from the frame it is expressed in to the world. */
static void sdf_joint_place_axis(
	struct load *load, const struct sdf_joint *joint, uint32_t scope, const char *which, struct sdf_axis *axis)
{
	const struct sdf_element *element = sdf_child(joint->element, which, NULL);
	const struct sdf_element *xyz = sdf_child(element, "xyz", NULL);
	const char *in = xyz ? load_reference(load, xyz, "expressed_in") : NULL;
	uint32_t version = element ? load_version_of(load, element) : load->version;
	bool in_model = element && version < 105; /* 1.4 has no other frame */
	struct quat q = sdf_joint_in_world(load->world, joint).q;
	axis->xyz_frame = "";
	if (element && version < 107)
		load_bool(load, element, "use_parent_model_frame", &in_model);
	if (in) {
		uint32_t frame = frames_find(&load->frames, scope, in);
		if (frame == SDF_NONE)
			load_error(load, xyz,
				"<xyz> is expressed_in \"%.80s\": expected the name of a link, joint, frame or model%s",
				in, frames_such_as(&load->frames, scope, in, &(struct near){0}));
		else
			q = load_world_pose(load, frame).q;
		axis->xyz_frame = frame == SDF_NONE || sdf_joint_is_joint(load, frame) ? NULL : in;
	} else if (in_model && joint->model != SDF_NONE) {
		q = load->world->models.at[joint->model].in_world.q;
		axis->xyz_frame = "__model__";
	} else if (in_model) {
		q = QUAT_IDENTITY;
		axis->xyz_frame = "world";
	}
	axis->xyz_world = quat_rotate(q, axis->xyz_world);
}

enum end { END_LINK, END_WORLD, END_DROP, END_BAD };

static bool sdf_joint_ends_with_model_frame(const char *name)
{
	static const char suffix[] = "::__model__";
	size_t length = strlen(name), tail = sizeof suffix - 1;
	return length > tail && !strcmp(name + length - tail, suffix);
}

/* The link that the text of <parent> or <child> means. */
static enum end sdf_joint_find_end(struct load *load, const struct sdf_joint *joint, uint32_t scope, const char *which,
	const char *name, uint32_t *ret_link)
{
	const struct sdf_element *element = sdf_child(joint->element, which, NULL);
	bool missing = false, is_parent = !strcmp(which, "parent");
	uint32_t frame = frames_find(&load->frames, scope, name);
	if (!*name)
		return END_BAD;
	if (!strcmp(name, "world") && is_parent)
		return END_WORLD;
	if (!strcmp(name, "world")) {
		load_error(load, element,
			"<child> of joint \"%.80s\" is the world: expected a link, and the world as <parent>",
			joint->name);
		return END_BAD;
	}
	struct near near;
	bool by_frame =
		frame != SDF_NONE && sdf_joint_ends_with_model_frame(name) && load_version_of(load, element) < 109;
	if (frame == SDF_NONE || (by_frame && load->frames.frames.at[frame].kind == FRAMES_ROOT)) {
		load_error(load, element,
			"<%s> of joint \"%.80s\" is \"%.80s\": expected the name of a link, frame or model%s", which,
			joint->name, name,
			frame == SDF_NONE ? frames_such_as(&load->frames, scope, name, &near)
					  : " (before SDF 1.9 a model's frame goes by the model's name)");
		return END_BAD;
	}
	if (frames_link(&load->frames, frame, ret_link, &missing))
		return END_LINK;
	if (missing) {
		load_warn(load, element, "<%s> of joint \"%.80s\" is in an include that was left out: so is the joint",
			which, joint->name);
		return END_DROP;
	}
	if (is_parent && scope == FRAMES_WORLD)
		return END_WORLD; /* a frame of the world */
	load_error(load, element,
		"<%s> of joint \"%.80s\" is \"%.80s\", which is attached to no link: expected one that is", which,
		joint->name, name);
	return END_BAD;
}

/* The name of the link relative to the joint: without the names of the models around the joint. */
static const char *sdf_joint_name_from(const struct load *load, const struct sdf_joint *joint, uint32_t link)
{
	const char *scoped = load->world->links.at[link].scoped;
	if (joint->model == SDF_NONE)
		return scoped;
	return scoped + strlen(load->world->models.at[joint->model].scoped) + 2;
}

/* Whether the end names a link or a frame, and not a joint, whose frame moves with a link of its own. */
static bool sdf_joint_ends_at_frame(const struct load *load, uint32_t scope, const char *name)
{
	uint32_t frame = frames_find(&load->frames, scope, name);
	return frame != SDF_NONE && !sdf_joint_is_joint(load, frame);
}

/* A joint between frames of one link holds nothing, so a model without it moves as with it, and Gazebo runs such
 * models. What no one can mean is an error: the same name twice, or a joint that hangs on another joint of its own
 * link. */
static bool sdf_joint_may_miss(const struct load *load, const struct sdf_joint *joint, uint32_t scope)
{
	if (joint->model == SDF_NONE)
		return true; /* Gazebo reads worlds with joints that it cannot make */
	return strcmp(joint->parent_name, joint->child_name) &&
	       sdf_joint_ends_at_frame(load, scope, joint->parent_name) &&
	       sdf_joint_ends_at_frame(load, scope, joint->child_name);
}

/* False: the joint must be left out. */
static bool sdf_joint_place_ends(struct load *load, struct sdf_joint *joint, uint32_t scope)
{
	uint32_t parent = SDF_NONE, child = SDF_NONE;
	enum end parent_end = sdf_joint_find_end(load, joint, scope, "parent", joint->parent_name, &parent);
	enum end child_end = sdf_joint_find_end(load, joint, scope, "child", joint->child_name, &child);
	if (parent_end == END_BAD || child_end == END_BAD)
		return true; /* reported */
	if (parent_end == END_DROP || child_end == END_DROP)
		return false;
	if (parent == child && sdf_joint_may_miss(load, joint, scope)) {
		load_warn(load, joint->element, "joint \"%.80s\" connects \"%.80s\" with itself: it is left out",
			joint->name, sdf_joint_name_from(load, joint, child));
		return false;
	}
	if (parent == child)
		load_error(load, joint->element,
			"parent and child of joint \"%.80s\" are the same link \"%.80s\": expected two", joint->name,
			sdf_joint_name_from(load, joint, child));
	joint->parent = parent;
	joint->child = child;
	joint->parent_name = parent_end == END_WORLD ? "world" : sdf_joint_name_from(load, joint, parent);
	joint->child_name = sdf_joint_name_from(load, joint, child);
	return true;
}

static void sdf_joint_drop_sensors(struct sdf_world *world, const uint32_t *number)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < world->sensors.count; i++) {
		struct sdf_sensor sensor = world->sensors.at[i];
		if (sensor.joint != SDF_NONE) {
			if (number[sensor.joint] == number[sensor.joint + 1])
				continue;
			sensor.joint = number[sensor.joint];
		}
		world->sensors.at[kept++] = sensor;
	}
	world->sensors.count = kept;
}

/* Removes dropped joints from the arrays; number[i] is the number of kept joints before joint i. */
static void sdf_joint_drop(struct load *load)
{
	struct sdf_world *world = load->world;
	uint32_t kept = 0, count = world->joints.count;
	uint32_t *number = mem_alloc((count + 1) * sizeof *number);
	for (uint32_t i = 0; i < count; i++) {
		number[i] = kept;
		if (!load->joint_dropped.at[i])
			world->joints.at[kept++] = world->joints.at[i];
	}
	number[count] = kept;
	world->joints.count = kept;
	for (uint32_t i = 0; i < world->models.count; i++) {
		struct sdf_model *model = &world->models.at[i];
		uint32_t end = number[model->joint_first + model->joint_count];
		model->joint_first = number[model->joint_first];
		model->joint_count = end - model->joint_first;
	}
	sdf_joint_drop_sensors(world, number);
	free(number);
}

void load_place_joints(struct load *load)
{
	struct sdf_world *world = load->world;
	bool dropped = false;
	for (uint32_t i = 0; i < world->joints.count; i++) {
		struct sdf_joint *joint = &world->joints.at[i];
		uint32_t scope = load_scope_of(joint->model);
		const struct pose *in_scope = &load->frames.frames.at[load->joint_frames.at[i]].in_scope;
		joint->in_model = load_share(load, in_scope, sizeof *in_scope);
		joint->pose_frame = sdf_joint_pose_frame(load, load->joint_frames.at[i]);
		struct sdf_axis *axes = &load->axes.at[2 * (size_t)i];
		sdf_joint_place_axis(load, joint, scope, "axis", &axes[0]);
		sdf_joint_place_axis(load, joint, scope, "axis2", &axes[1]);
		joint->axis = load_share(load, axes, 2 * sizeof *axes);
		load->joint_dropped.at[i] = !sdf_joint_place_ends(load, joint, scope);
		dropped = dropped || load->joint_dropped.at[i];
	}
	if (dropped)
		sdf_joint_drop(load);
}
