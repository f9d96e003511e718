/* One line per entity, to compare what two loaders, or two versions of one loader, read from a file. Joints of the
 * world and sensors of joints have no line, because the format has none for them. */
#include "sdf/sdf.h"

#include "base/shown.h"

#include <stdlib.h>
#include <string.h>

#define HALF_DIGIT 0.5e-6 /* a number below this prints as zero */

/* -0.0000001 must not print as -0.000000. The format cuts numbers after 63 characters (users write 1e308). */
static void flat_add_number(struct text *out, double value)
{
	enum { CUT = 63 };
	size_t start = out->count;
	text_add(out, " %.6f", fabs(value) < HALF_DIGIT ? 0.0 : value);
	if (out->count > start + 1 + CUT) {
		out->count = start + 1 + CUT;
		out->at[out->count] = '\0';
	}
}

/* A name may hold any character, also one that ends a line. */
static void flat_add_name(struct text *out, const char *before, const char *name)
{
	text_add(out, "%s ", before);
	shown_add(out, name);
}

/* The name of a part of a link. */
static void flat_add_part(struct text *out, const char *kind, const struct sdf_link *link, const char *name)
{
	flat_add_name(out, kind, link->scoped);
	text_add(out, "::");
	shown_add(out, name);
}

static void flat_add_vec3(struct text *out, struct vec3 v)
{
	flat_add_number(out, v.x);
	flat_add_number(out, v.y);
	flat_add_number(out, v.z);
}

/* Chooses the sign of q: the first coordinate that does not print as zero is positive. */
static struct quat flat_canonical(struct quat q)
{
	double parts[4] = {q.w, q.x, q.y, q.z};
	for (int i = 0; i < 4; i++)
		if (fabs(parts[i]) >= HALF_DIGIT)
			return parts[i] > 0 ? q : (struct quat){-q.w, -q.x, -q.y, -q.z};
	return q;
}

static void flat_add_pose(struct text *out, struct pose pose)
{
	struct quat q = flat_canonical(pose.q);
	text_add(out, " pose");
	flat_add_vec3(out, pose.p);
	flat_add_number(out, q.w);
	flat_add_number(out, q.x);
	flat_add_number(out, q.y);
	flat_add_number(out, q.z);
}

static void flat_add_shape(struct text *out, const struct sdf_shape *shape)
{
	/* shapes that the format does not know count as empty */
	bool known = shape->kind != SDF_CONE && shape->kind != SDF_POLYLINE && shape->kind != SDF_IMAGE;
	text_add(out, " %s", known ? sdf_shape_kind_text(shape->kind) : "empty");
	switch (shape->kind) {
	case SDF_BOX:
	case SDF_ELLIPSOID:
	case SDF_MESH:
		flat_add_vec3(out, shape->size);
		break;
	case SDF_SPHERE:
		flat_add_number(out, shape->radius);
		break;
	case SDF_CYLINDER:
	case SDF_CAPSULE:
		flat_add_number(out, shape->radius);
		flat_add_number(out, shape->length);
		break;
	case SDF_PLANE:
		flat_add_vec3(out, shape->normal_raw);
		break;
	default:
		break;
	}
	text_add(out, "\n");
}

/* The inertia that the file gives, also for a link whose inertia is computed or replaced. */
static struct sdf_inertial flat_written(const struct sdf_link *link)
{
	if (!link->inertial->automatic && !link->inertial->replaced)
		return *link->inertial;
	struct sdf_inertial in = {.mass = 1, .in_link = POSE_IDENTITY, .ixx = 1, .iyy = 1, .izz = 1};
	const struct sdf_element *element = sdf_child(link->element, "inertial", NULL);
	const struct sdf_element *matrix = sdf_child(element, "inertia", NULL);
	sdf_child_pose(element, &in.in_link, NULL);
	sdf_child_double(element, "mass", -INFINITY, INFINITY, &in.mass, NULL);
	sdf_child_double(matrix, "ixx", -INFINITY, INFINITY, &in.ixx, NULL);
	sdf_child_double(matrix, "iyy", -INFINITY, INFINITY, &in.iyy, NULL);
	sdf_child_double(matrix, "izz", -INFINITY, INFINITY, &in.izz, NULL);
	sdf_child_double(matrix, "ixy", -INFINITY, INFINITY, &in.ixy, NULL);
	sdf_child_double(matrix, "ixz", -INFINITY, INFINITY, &in.ixz, NULL);
	sdf_child_double(matrix, "iyz", -INFINITY, INFINITY, &in.iyz, NULL);
	return in;
}

static void flat_add_links(const struct sdf_world *world, struct text *out)
{
	for (uint32_t i = 0; i < world->links.count; i++) {
		const struct sdf_link *link = &world->links.at[i];
		struct sdf_inertial in = flat_written(link);
		flat_add_name(out, "link", link->scoped);
		flat_add_pose(out, sdf_link_in_world(world, i));
		text_add(out, " mass");
		flat_add_number(out, in.mass);
		text_add(out, " com");
		flat_add_vec3(out, in.in_link.p);
		text_add(out, " inertia");
		flat_add_vec3(out, (struct vec3){in.ixx, in.iyy, in.izz});
		flat_add_vec3(out, (struct vec3){in.ixy, in.ixz, in.iyz});
		text_add(out, "\n");
	}
}

static void flat_add_parts(const struct sdf_world *world, struct text *out)
{
	for (uint32_t i = 0; i < world->collisions.count; i++) {
		const struct sdf_collision *collision = &world->collisions.at[i];
		flat_add_part(out, "collision", &world->links.at[collision->link], collision->name);
		flat_add_pose(out, sdf_collision_in_world(world, i));
		flat_add_shape(out, collision->shape);
	}
	for (uint32_t i = 0; i < world->visuals.count; i++) {
		const struct sdf_visual *visual = &world->visuals.at[i];
		flat_add_part(out, "visual", &world->links.at[visual->link], visual->name);
		flat_add_pose(out, sdf_visual_in_world(world, i));
		flat_add_shape(out, &visual->shape);
	}
	for (uint32_t i = 0; i < world->sensors.count; i++) {
		const struct sdf_sensor *sensor = &world->sensors.at[i];
		if (sensor->link == SDF_NONE || sensor->part)
			continue;
		bool divided = sensor_kind_find(sdf_attribute(sensor->element, "type")) == SDF_MULTICAMERA;
		flat_add_part(out, "sensor", &world->links.at[sensor->link],
			divided ? sdf_attribute(sensor->element, "name") : sensor->name);
		flat_add_pose(out, sensor->in_world);
		text_add(out, " %s rate", divided ? sensor_kind_of(SDF_MULTICAMERA)->names[0] : sensor->type);
		flat_add_number(out, sensor->update_rate);
		text_add(out, "\n");
	}
}

static void flat_add_joints(const struct sdf_world *world, struct text *out)
{
	for (uint32_t i = 0; i < world->joints.count; i++) {
		const struct sdf_joint *joint = &world->joints.at[i];
		if (joint->model == SDF_NONE)
			continue;
		flat_add_name(out, "joint", joint->scoped);
		text_add(out, " %s", sdf_joint_kind_text(joint->kind));
		flat_add_name(out, " parent", joint->parent_name);
		flat_add_name(out, " child", joint->child_name);
		flat_add_pose(out, sdf_joint_in_world(world, joint));
		for (uint32_t a = 0; a < joint->axis_count; a++) {
			const struct sdf_axis *axis = &joint->axis[a];
			text_add(out, " axis%u", (unsigned)a);
			flat_add_vec3(out, axis->xyz_world);
			flat_add_number(out, axis->lower_raw);
			flat_add_number(out, axis->upper_raw);
			text_add(out, " damping");
			flat_add_number(out, axis->damping);
		}
		text_add(out, "\n");
	}
}

static void flat_add_models(const struct sdf_world *world, struct text *out)
{
	for (uint32_t i = 0; i < world->models.count; i++) {
		const struct sdf_model *model = &world->models.at[i];
		flat_add_name(out, "model", model->scoped);
		text_add(out, " static=%d", model->is_static);
		flat_add_pose(out, model->in_world);
		text_add(out, "\n");
	}
	for (uint32_t i = 0; i < world->lights.count; i++)
		if (world->lights.at[i].link == SDF_NONE) {
			flat_add_name(out, "light", world->lights.at[i].name);
			text_add(out, "\n");
		}
	for (uint32_t i = 0; i < world->actors.count; i++) {
		flat_add_name(out, "actor", world->actors.at[i].name);
		text_add(out, "\n");
	}
}

static void flat_add_world(const struct sdf_world *world, bool bare, struct text *out)
{
	if (!bare) {
		flat_add_name(out, "world", world->name);
		text_add(out, " gravity");
		flat_add_vec3(out, world->gravity);
		text_add(out, " step");
		flat_add_number(out, world->physics.max_step_size);
		text_add(out, " rtf");
		flat_add_number(out, world->physics.real_time_factor);
		text_add(out, "\n");
	}
	flat_add_models(world, out);
	flat_add_links(world, out);
	flat_add_parts(world, out);
	flat_add_joints(world, out);
}

static int flat_by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void sdf_print_flat(const struct sdf *sdf, struct text *out)
{
	struct text lines = {0};
	VEC(char *) starts = {0};
	for (uint32_t i = 0; i < sdf->worlds.count; i++)
		flat_add_world(&sdf->worlds.at[i], sdf->bare_model, &lines);
	for (char *at = lines.at; at && *at;) {
		char *end = strchr(at, '\n');
		vec_push(&starts, at);
		*end = '\0';
		at = end + 1;
	}
	if (starts.count)
		qsort(starts.at, starts.count, sizeof *starts.at, flat_by_text);
	for (uint32_t i = 0; i < starts.count; i++) {
		text_add_bytes(out, starts.at[i], strlen(starts.at[i]));
		text_add_bytes(out, "\n", 1);
	}
	vec_free(&starts);
	text_fini(&lines);
}
