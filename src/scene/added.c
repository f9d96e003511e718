/* Divides the added mass of a body between ODE's mass and inertia, and rows (added.h).
 *
 * A row at the point r along the unit vector e expresses m (e, r x e) (e, r x e)^T. With the rows along the principal
 * directions of the translational part, the couplings say which r x e each row needs. Only a part of it along e is not
 * to be had: that of a body which a turn pushes like a propeller.
 *
 * The isotropic part is that of the least principal value, so that no row has a negative mass. It can be a part of the
 * mass only for a link whose centre of mass is that of the body; a link that is welded to others has rows at its own
 * centre of mass, which then also express what the distance between the two adds. */
#include "scene/added.h"

#include "scene/compile.h"

#include <stdlib.h>
#include <string.h>

#define SCENE_ADDED_NEAR_M 1e-9 /* the centres of mass are the same */
#define SMALL 1e-12             /* of the mass: a row that is lighter is left out */
#define LEFT_OVER 1e-9          /* of the diagonal: less counts as none */

enum { ROWS_OF_PART = 3 };

struct division {
	struct scene_added *added;
	struct scene_added_row *rows;
	bool couples;           /* rows express couplings of translation and rotation, too */
	double isotropic;       /* kg */
	struct mat6 rotational; /* its lower right part counts */
};

/* The part of the translational matrix that is the same in all directions. A row with a coupling needs more mass of its
 * own, so then the body keeps half of what it may have. */
static double scene_added_base_of(
	const struct division *to, struct vec3 values, struct vec3 at, double mass, bool coupled)
{
	double least = fmin(fmin(values.x, values.y), values.z), had = mass + to->isotropic;
	if (vec3_length(at) > SCENE_ADDED_NEAR_M || !(had + least > SMALL * mass))
		return 0;
	return coupled ? least - (had + least) / 2 : least;
}

/* The velocity of the row in a turn of the link at 1 rad/s about each axis of the link, across the row. The velocity
 * along the row, of a body that a turn pushes like a propeller, cannot be expressed. */
static struct vec3 scene_added_coupling_of(const struct mat6 *of_link, struct vec3 along, double mass)
{
	double turn[3];
	for (int k = 0; k < 3; k++)
		turn[k] = (of_link->m[0][3 + k] * along.x + of_link->m[1][3 + k] * along.y +
				  of_link->m[2][3 + k] * along.z) /
			  mass;
	struct vec3 whole = vec3_from(turn);
	return vec3_sub(whole, vec3_scale(along, vec3_dot(whole, along)));
}

static bool scene_added_is_coupled(const struct mat6 *of_link)
{
	bool coupled = false;
	for (int i = 0; i < 9; i++)
		coupled = coupled || of_link->m[i / 3][3 + i % 3] != 0;
	return coupled;
}

/* The rotational part that the rows bring, in the axes of the link, is taken off *rotational. */
static void scene_added_add_rows(
	struct division *to, const struct mat6 *of_link, struct pose frame, double mass, struct mat6 *rotational)
{
	struct mat3 linear, axes;
	struct vec3 values;
	bool coupled = to->couples && scene_added_is_coupled(of_link);
	for (int i = 0; i < 9; i++)
		linear.m[i / 3][i % 3] = of_link->m[i / 3][i % 3];
	mat3_principal(linear, &values, &axes);
	const double value[3] = {values.x, values.y, values.z};
	double base = scene_added_base_of(to, values, frame.p, mass, coupled);
	to->isotropic += base;
	for (int i = 0; i < 3; i++) {
		double own = value[i] - base;
		struct vec3 along = {axes.m[0][i], axes.m[1][i], axes.m[2][i]}, at = {0, 0, 0};
		if (!(own > SMALL * mass))
			continue;
		if (coupled) {
			struct vec3 turn = scene_added_coupling_of(of_link, along, own);
			at = vec3_cross(along, turn);
			mat6_add_square(rotational, (struct vec6){{0, 0, 0}, turn}, -own);
		}
		to->rows[to->added->row_count++] =
			(struct scene_added_row){pose_point(frame, at), quat_rotate(frame.q, along), own};
	}
}

static void scene_added_add_part(struct division *to, const struct scene_added_part *part, double mass)
{
	struct mat6 rotational = {0};
	for (int i = 3; i < 6; i++)
		for (int k = 3; k < 6; k++)
			rotational.m[i][k] = part->matrix.m[i][k];
	scene_added_add_rows(to, &part->matrix, part->in_body, mass, &rotational);
	rotational = mat6_moved(&rotational, (struct pose){{0, 0, 0}, part->in_body.q});
	mat6_add(&to->rotational, &rotational, 1);
}

static void scene_added_set_inertia(struct scene_added *added, const struct mat6 *m)
{
	added->ixx = m->m[3][3], added->iyy = m->m[4][4], added->izz = m->m[5][5];
	added->ixy = m->m[3][4], added->ixz = m->m[3][5], added->iyz = m->m[4][5];
}

static bool scene_added_is_whole(const struct scene_added *added)
{
	bool whole = true;
	for (int i = 0; i < 36; i++) {
		double scale = added->whole.m[i / 6][i / 6] * added->whole.m[i % 6][i % 6];
		double left = added->whole.m[i / 6][i % 6] - added->carried.m[i / 6][i % 6];
		whole = whole && left * left <= LEFT_OVER * LEFT_OVER * scale;
	}
	return whole;
}

/* False: the inertia that is left for ODE's body is none. */
static bool scene_added_divide(
	struct division *to, const struct mat6 *own, const struct scene_added_part *parts, uint32_t count)
{
	struct scene_added *added = to->added;
	struct mat6 unwanted;
	added->row_count = 0;
	added->carried = *own;
	for (uint32_t i = 0; i < count; i++)
		scene_added_add_part(to, &parts[i], own->m[0][0]);
	for (int i = 0; i < 3; i++)
		added->carried.m[i][i] += to->isotropic;
	added->mass = added->carried.m[0][0];
	mat6_add(&added->carried, &to->rotational, 1);
	if (!mat6_invert(&added->carried, &unwanted)) {
		if (to->couples)
			return false;
		mat6_add(&added->carried, &to->rotational, -1);
	}
	scene_added_set_inertia(added, &added->carried);
	for (uint32_t i = 0; i < added->row_count; i++) {
		const struct scene_added_row *row = &to->rows[i];
		mat6_add_square(&added->carried, (struct vec6){row->along, vec3_cross(row->at, row->along)}, row->mass);
	}
	added->divided = scene_added_is_whole(added);
	return true;
}

bool scene_add_added(struct arena *arena, struct scene_body *body, const struct scene_added_part *parts, uint32_t count)
{
	struct scene_added *added = arena_new(arena, struct scene_added);
	struct scene_added_row *rows = arena_array(arena, struct scene_added_row, (size_t)count * ROWS_OF_PART);
	struct division division = {.added = added, .rows = rows, .couples = true};
	const struct mat6 own = {
		{{body->mass}, {0, body->mass}, {0, 0, body->mass}, {0, 0, 0, body->ixx, body->ixy, body->ixz},
			{0, 0, 0, body->ixy, body->iyy, body->iyz}, {0, 0, 0, body->ixz, body->iyz, body->izz}}};
	added->whole = own;
	for (uint32_t i = 0; i < count; i++) {
		struct mat6 moved = mat6_moved(&parts[i].matrix, parts[i].in_body);
		mat6_add(&added->whole, &moved, 1);
	}
	if (!mat6_invert(&added->whole, &added->inverse))
		return true; /* each link was checked: only rounding can bring this about */
	added->rows = rows;
	if (!scene_added_divide(&division, &own, parts, count)) {
		division = (struct division){.added = added, .rows = rows};
		(void)scene_added_divide(&division, &own, parts, count);
	}
	struct scene_added_part *kept = arena_array(arena, struct scene_added_part, count);
	memcpy(kept, parts, count * sizeof *kept);
	added->parts = kept;
	added->part_count = count;
	body->added = added;
	return added->divided;
}

bool scene_link_add_mass(struct scene *scene, uint32_t link, const struct mat6 *matrix, bool *ret_whole)
{
	const struct scene_link *l = &scene->links[link];
	struct scene_body *body = l->body == SCENE_NONE ? NULL : &scene->bodies[l->body];
	if (!body || body->kinematic)
		return false;
	struct scene_owned *owned = scene->models[l->model].owned;
	const struct scene_added *before = body->added;
	uint32_t count = before ? before->part_count : 0;
	struct scene_added_part *parts = mem_alloc((count + 1) * sizeof *parts);
	if (count)
		memcpy(parts, before->parts, count * sizeof *parts);
	parts[count] = (struct scene_added_part){*matrix, l->in_body};
	body->added = NULL;
	*ret_whole = scene_add_added(owned ? &owned->arena : &scene->own->arena, body, parts, count + 1);
	bool done = body->added != NULL;
	if (!done)
		body->added = before;
	free(parts);
	return done;
}
