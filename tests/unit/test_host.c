/* The host of plug-ins, function by function, for the second of several models, with turned and shifted frames: what a
 * system reads of the state is compared with poses that are composed here, and with differences over a short time; what
 * it controls, with a plain list of the control of all parts, of which only those of its own model may change, within
 * bounds. What it may not ask for, and handles of nothing, give nothing. */
#include "../random.h"
#include "scene/actor.h"
#include "sdf_help.h"
#include "system/setup.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(host, .timeout = 60);

enum { HOST_STATIC, HOST_FIRST, HOST_OWN, HOST_GONE, HOST_ACTOR, HOST_MODELS };
enum { HOST_BASE, HOST_ARM, HOST_TIP, HOST_HAND, HOST_LINKS };
enum { HOST_SPIN, HOST_SLIDE };

#define HOST_INERTIAL(pose, mass)                                                                                      \
	"<inertial><pose>" pose "</pose><mass>" mass "</mass><inertia><ixx>2</ixx><iyy>2.5</iyy><izz>3</izz>"          \
	"<ixy>0.1</ixy><ixz>-0.2</ixz><iyz>0.3</iyz></inertia></inertial>"
#define HOST_COLLISION(name, pose)                                                                                     \
	"<collision name='" name "'><pose>" pose "</pose><geometry><cylinder><radius>0.5</radius><length>3</length>"   \
	"</cylinder></geometry></collision>"
#define HOST_LINK(name, pose, mass)                                                                                    \
	"<link name='" name "'><pose>" pose                                                                            \
	"</pose><enable_wind>true</enable_wind>" HOST_INERTIAL("0.1 0.2 0.3 0.4 0.5 0.6", mass)                        \
		HOST_COLLISION("c", "1 0 0 0 1 0") HOST_COLLISION("d", "0 2 0 1 0 0") "</link>"
/* base and arm are one body; hand turns on base, in a nested model; tip slides along hand. */
#define HOST_MODEL(name, pose)                                                                                         \
	"<model name='" name "'><pose>" pose                                                                           \
	"</pose>" HOST_LINK("base", "0.3 0 0.1 0.2 0 0.4", "2") HOST_LINK("arm", "1 0.5 0 0 0.3 1",                    \
		"3") "<joint name='weld' type='fixed'><parent>base</parent>"                                           \
		     "<child>arm</child></joint><model name='n'><pose>0 1 1 0.3 0.2 0.1</pose>" HOST_LINK(             \
			     "hand", "0.5 0 0 0 0 0.7", "1.5") "</model>" HOST_LINK("tip", "2 2 0.5 1 0 0",            \
			     "0.5") "<joint name='spin' "                                                              \
				    "type='revolute'><parent>base</parent><child>n::hand</child><axis><xyz>0.6 0 0.8"  \
				    "</xyz><limit><lower>-1</lower><upper>2</upper><effort>7</effort><velocity>5</"    \
				    "velocity></limit></axis>"                                                         \
				    "</joint><joint name='slide' "                                                     \
				    "type='prismatic'><parent>n::hand</parent><child>tip</child><axis><xyz>0 "         \
				    "0.8 0.6</xyz></axis></joint></model>"

static const char *const host_world =
	"<sdf version='1.11'><world name='w'><model name='s'><static>true</static><pose>1 2 3 0.1 0.2 "
	"0.3</pose>" HOST_LINK("k", "1 0 0 0 0 1", "1") HOST_LINK("l", "0 1 0 0.5 0 1", "1") "</model>" HOST_MODEL(
		"a", "-5 0 1 0 0 1") HOST_MODEL("b", "4 5 6 0.3 -0.4 2") HOST_MODEL("c",
		"9 9 9 0 0 0") "<actor name='z'><pose>0 0 50 0 0 0</pose><script><trajectory id='0' "
			       "type='t'><waypoint><time>0</time>"
			       "<pose>0 0 0 0 0 0</pose></waypoint></trajectory></script></actor></world></sdf>";

struct host {
	struct sdf *sdf;
	struct scene *scene;
	struct state *state;
	struct control control;
	struct system_acts acts;
	struct system_step step; /* of a runner that simulates HOST_OWN, before the physics */
	struct arena arena;
	struct share share;
	struct setup setup;
	struct system system; /* of HOST_OWN */
	uint64_t dice;
};

static bool host_all_there(void *ctx, uint32_t model)
{
	(void)ctx;
	return model != HOST_FIRST; /* that one is not loaded */
}

static void host_shake(struct host *h)
{
	for (uint32_t m = 0; m < h->scene->model_count; m++)
		for (int next = 0; next < 2; next++)
			for (uint32_t b = 0; b < h->scene->models[m].body_count; b++) {
				struct quat q = {1, random_between(&h->dice, -1, 1), random_between(&h->dice, -1, 1),
					random_between(&h->dice, -1, 1)};
				state_bodies(h->state, m, next)[b] = (struct body_state){random_vec3(&h->dice, 9),
					quat_unit(q), random_vec3(&h->dice, 3), random_vec3(&h->dice, 3)};
			}
}

static struct host *host_start(void)
{
	const struct scene_options options = {0};
	struct troupe_error error = {0};
	struct host *h = calloc(1, sizeof *h);
	h->dice = 4;
	h->sdf = sdf_help_good(host_world, NULL);
	cr_assert_eq(scene_create(&h->sdf->worlds.at[0], &options, &h->scene, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(h->scene->model_count, HOST_MODELS);
	h->state = state_create(h->scene, NULL);
	host_shake(h);
	scene_set_absent(h->scene, HOST_GONE, true);
	h->control.joints = mem_alloc_lines(h->scene->joint_count * sizeof *h->control.joints);
	h->control.bodies = mem_alloc_lines(h->scene->body_count * sizeof *h->control.bodies);
	h->control.models = mem_alloc_lines(h->scene->model_count * sizeof *h->control.models);
	h->control.surfaces = mem_alloc_lines(h->scene->geom_count * sizeof *h->control.surfaces);
	h->acts.is_there = host_all_there;
	h->step = (struct system_step){.step = {.number = 7, .time_s = 1.5, .dt = 0.5},
		.state = h->state,
		.control = &h->control,
		.model = HOST_OWN};
	h->setup = (struct setup){.arena = &h->arena,
		.share = &h->share,
		.owner = &h->sdf->worlds.at[0].models.at[h->scene->models[HOST_OWN].sdf]};
	h->system = (struct system){
		.self = {.host = &system_host, .model = HOST_OWN}, .scene = h->scene, .setup = &h->setup};
	return h;
}

static void host_stop(struct host *h)
{
	free(h->control.joints);
	free(h->control.bodies);
	free(h->control.models);
	free(h->control.surfaces);
	state_destroy(h->state);
	scene_destroy(h->scene);
	sdf_free(h->sdf);
	arena_fini(&h->setup.scratch);
	arena_fini(&h->arena);
	share_fini(&h->share);
	free(h);
}

/* That of the own model. */
static uint32_t host_link(const struct host *h, uint32_t link)
{
	return h->scene->models[HOST_OWN].link_first + link;
}

static uint32_t host_joint(const struct host *h, uint32_t joint)
{
	return h->scene->models[HOST_OWN].joint_first + joint;
}

static void host_near(struct vec3 got, struct vec3 wanted, double tolerance, const char *what)
{
	cr_assert(vec3_length(vec3_sub(got, wanted)) <= tolerance, "%s: %g %g %g: expected %g %g %g", what, got.x,
		got.y, got.z, wanted.x, wanted.y, wanted.z);
}

static void host_near_pose(struct troupe_pose flat, struct pose wanted, double tolerance, const char *what)
{
	struct pose got = pose_of_flat(flat);
	host_near(got.p, wanted.p, tolerance, what);
	const struct vec3 corners[] = {{1, 0, 0}, {0, 1, 0}};
	for (size_t i = 0; i < ARRAY_LEN(corners); i++)
		host_near(quat_rotate(got.q, corners[i]), quat_rotate(wanted.q, corners[i]), tolerance, what);
}

static const struct sdf_link *host_in_file(const struct host *h, uint32_t link)
{
	const struct sdf_world *world = &h->sdf->worlds.at[0];
	return &world->links.at[world->models.at[h->scene->models[HOST_OWN].sdf].link_first + link];
}

static struct pose host_link_in_file(const struct host *h, uint32_t link)
{
	const struct sdf_world *world = &h->sdf->worlds.at[0];
	return sdf_link_in_world(world, (uint32_t)(host_in_file(h, link) - world->links.at));
}

/* Where the link is when its body has moved from the file's pose to this one. */
static struct pose host_moved(const struct host *h, uint32_t link, const struct body_state *body)
{
	struct pose file = h->scene->bodies[h->scene->links[host_link(h, link)].body].reference;
	struct pose moved = pose_mul((struct pose){body->p, body->q}, pose_inverse(file));
	return pose_mul(moved, host_link_in_file(h, link));
}

/* A short time later. */
static struct body_state host_later(const struct body_state *body, double dt)
{
	struct body_state later = *body;
	double angle = vec3_length(body->w) * dt;
	struct vec3 turn = vec3_scale(body->w, sin(angle / 2) / vec3_length(body->w));
	later.p = vec3_add(body->p, vec3_scale(body->v, dt));
	later.q = quat_mul((struct quat){cos(angle / 2), turn.x, turn.y, turn.z}, body->q);
	return later;
}

static const struct body_state *host_body(const struct host *h, uint32_t link, bool next)
{
	return state_body(h->state, h->scene->links[host_link(h, link)].body, next);
}

/* --- reading -------------------------------------------------------------------------------------------------------
 */

Test(host, links_are_where_their_bodies_carry_them)
{
	struct host *h = host_start();
	h->step.has_next = true;
	for (uint32_t l = 0; l < HOST_LINKS; l++)
		for (int next = 0; next < 2; next++) {
			enum troupe_time when = next ? TROUPE_NEXT : TROUPE_NOW;
			const struct body_state *body = host_body(h, l, next);
			const struct troupe_step *step = &h->step.step;
			struct body_state before = host_later(body, -1e-6), after = host_later(body, 1e-6);
			struct vec3 way = vec3_sub(host_moved(h, l, &after).p, host_moved(h, l, &before).p);
			struct troupe_twist twist = system_host.link_twist(step, host_link(h, l), when);
			host_near_pose(system_host.link_pose(step, host_link(h, l), when), host_moved(h, l, body),
				1e-12, "link");
			host_near(twist.linear, vec3_scale(way, 1 / 2e-6), 1e-7, "velocity");
			host_near(twist.angular, body->w, 0, "angular velocity");
			host_near(system_host.centre(step, host_link(h, l), when), body->p, 0, "centre");
			host_near(system_host.centre_velocity(step, host_link(h, l), when), body->v, 0, "its velocity");
		}
	/* the frame of the model is that of its canonical link, the first one */
	const struct pose model = {
		{4, 5, 6}, h->sdf->worlds.at[0].models.at[h->scene->models[HOST_OWN].sdf].in_world.q};
	struct pose in_base = pose_mul(pose_inverse(host_link_in_file(h, HOST_BASE)), model);
	host_near_pose(system_host.model_pose(&h->step.step, HOST_OWN, TROUPE_NOW),
		pose_mul(host_moved(h, HOST_BASE, host_body(h, HOST_BASE, false)), in_base), 1e-12, "model");
	host_stop(h);
}

/* Before the physics there is no next state. */
Test(host, the_next_state_is_there_after_the_physics_only)
{
	struct host *h = host_start();
	const struct troupe_step *step = &h->step.step;
	struct troupe_pose now = system_host.link_pose(step, host_link(h, HOST_TIP), TROUPE_NOW);
	struct troupe_pose next = system_host.link_pose(step, host_link(h, HOST_TIP), TROUPE_NEXT);
	cr_assert(!memcmp(&now, &next, sizeof now));
	h->step.has_next = true;
	next = system_host.link_pose(step, host_link(h, HOST_TIP), TROUPE_NEXT);
	cr_assert(memcmp(&now, &next, sizeof now) != 0);
	host_stop(h);
}

Test(host, axes_turn_with_their_child_and_rates_are_those_of_both_bodies)
{
	struct host *h = host_start();
	const struct troupe_step *step = &h->step.step;
	const struct vec3 in_file[] = {{0.6, 0, 0.8}, {0, 0.8, 0.6}};
	const uint32_t child[] = {HOST_HAND, HOST_TIP}, parent[] = {HOST_BASE, HOST_HAND};
	for (uint32_t j = 0; j < 2; j++) {
		const struct body_state *c = host_body(h, child[j], false), *p = host_body(h, parent[j], false);
		struct vec3 in_world = quat_rotate(host_link_in_file(h, child[j]).q, in_file[j]);
		struct vec3 in_link = quat_rotate(quat_conj(host_link_in_file(h, child[j]).q), in_world);
		struct vec3 axis = quat_rotate(host_moved(h, child[j], c).q, in_link);
		struct troupe_axis got = system_host.joint_axis(step, host_joint(h, j), 0, TROUPE_NOW);
		host_near(got.direction, axis, 1e-12, j ? "axis of slide" : "axis of spin");
		/* of the slide: how fast the child moves along the axis, seen by one who turns with the parent */
		struct vec3 apart = vec3_sub(c->p, p->p),
			    seen = vec3_sub(vec3_sub(c->v, p->v), vec3_cross(p->w, apart));
		double rate = j ? vec3_dot(axis, seen) : vec3_dot(axis, vec3_sub(c->w, p->w));
		double found = system_host.joint_velocity(step, host_joint(h, j), 0, TROUPE_NOW);
		cr_assert(fabs(found - rate) < 1e-12, "joint %u: %g: expected %g", j, found, rate);
		state_joint(h->state, host_joint(h, j), false)->position[0] = 3 + j;
		state_joint(h->state, host_joint(h, j), false)->position[1] = 5 + j;
		cr_assert_eq(system_host.joint_position(step, host_joint(h, j), 0, TROUPE_NOW), 3 + j);
		cr_assert_eq(system_host.joint_position(step, host_joint(h, j), 1, TROUPE_NOW), 5 + j);
		cr_assert_eq(system_host.joint_velocity(step, host_joint(h, j), 1, TROUPE_NOW), 0, "no second axis");
		cr_assert_eq(system_host.joint_axis(step, host_joint(h, j), 1, TROUPE_NOW).lower, -HUGE_VAL);
	}
	struct troupe_axis spin = system_host.joint_axis(step, host_joint(h, HOST_SPIN), 0, TROUPE_NOW);
	cr_assert(spin.lower == -1 && spin.upper == 2 && spin.velocity_max == 5 && spin.effort_max == 7);
	host_stop(h);
}

/* A runner knows no other model's state; the primary knows all but those that are absent. Static ones do not move. */
Test(host, others_are_read_by_the_primary_only)
{
	struct host *h = host_start();
	const struct troupe_step *step = &h->step.step;
	uint32_t other = h->scene->models[HOST_FIRST].link_first + HOST_TIP,
		 still = h->scene->models[HOST_STATIC].link_first + 1;
	uint32_t gone = h->scene->models[HOST_GONE].link_first, bodies = h->scene->models[HOST_FIRST].joint_first;
	const uint32_t none[] = {other, still, gone, h->scene->link_count, TROUPE_NOTHING};
	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		host_near_pose(system_host.link_pose(step, none[i], TROUPE_NOW), POSE_IDENTITY, 0, "pose");
		host_near(system_host.link_twist(step, none[i], TROUPE_NOW).linear, (struct vec3){0, 0, 0}, 0, "twist");
		host_near(system_host.centre(step, none[i], TROUPE_NOW), (struct vec3){0, 0, 0}, 0, "centre");
		host_near(
			system_host.centre_velocity(step, none[i], TROUPE_NOW), (struct vec3){0, 0, 0}, 0, "velocity");
	}
	const uint32_t no_joints[] = {
		bodies, h->scene->models[HOST_GONE].joint_first, h->scene->joint_count, TROUPE_NOTHING};
	for (size_t i = 0; i < ARRAY_LEN(no_joints); i++) {
		cr_assert_eq(system_host.joint_velocity(step, no_joints[i], 0, TROUPE_NOW), 0);
		cr_assert_eq(system_host.joint_axis(step, no_joints[i], 0, TROUPE_NOW).upper, HUGE_VAL);
	}
	cr_assert(!system_host.model_name(step, HOST_FIRST) && !system_host.model_moves(step, HOST_FIRST) &&
		  system_host.find_model(step, "s") == TROUPE_NOTHING && system_host.models(step) == 0 &&
		  system_host.find_link_of(step, HOST_STATIC, "l") == TROUPE_NOTHING);
	cr_assert_eq(system_host.find_model(step, "b"), HOST_OWN);
	h->step.acts = &h->acts;
	host_near(system_host.centre(step, other, TROUPE_NOW),
		state_body(h->state, h->scene->links[other].body, false)->p, 0, "centre");
	host_near(system_host.link_twist(step, other, TROUPE_NOW).angular,
		state_body(h->state, h->scene->links[other].body, false)->w, 0, "twist");
	cr_assert(system_host.joint_velocity(step, bodies, 0, TROUPE_NOW) != 0);
	const struct sdf_world *world = &h->sdf->worlds.at[0];
	host_near_pose(
		system_host.link_pose(step, still, TROUPE_NOW), sdf_link_in_world(world, 1), 1e-12, "static link");
	host_near(system_host.centre(step, still, TROUPE_NOW), sdf_link_in_world(world, 1).p, 1e-12, "static link");
	host_near_pose(system_host.link_pose(step, gone, TROUPE_NOW), POSE_IDENTITY, 0, "of an absent model");
	cr_assert(system_host.models(step) == HOST_MODELS && !strcmp(system_host.model_name(step, HOST_STATIC), "s") &&
		  !system_host.model_name(step, HOST_GONE) && !system_host.model_name(step, HOST_MODELS));
	cr_assert(!system_host.model_name(step, HOST_FIRST) && system_host.find_model(step, "a") == TROUPE_NOTHING,
		"it is not loaded");
	cr_assert(system_host.find_model(step, "s") == HOST_STATIC &&
		  system_host.find_model(step, "c") == TROUPE_NOTHING);
	cr_assert(!system_host.model_moves(step, HOST_STATIC) && system_host.model_moves(step, HOST_OWN) &&
		  !system_host.model_moves(step, HOST_GONE));
	cr_assert(system_host.find_link_of(step, HOST_STATIC, "l") == still &&
		  system_host.find_link_of(step, HOST_OWN, "n::hand") == host_link(h, HOST_HAND) &&
		  system_host.find_joint_of(step, HOST_OWN, "slide") == host_joint(h, HOST_SLIDE) &&
		  system_host.find_joint_of(step, HOST_GONE, "slide") == TROUPE_NOTHING);
	host_stop(h);
}

Test(host, performers_are_counted_among_those_that_are_there)
{
	struct host *h = host_start();
	struct troupe_performer performer;
	for (uint32_t m = 0; m < HOST_MODELS; m++) {
		h->scene->models[m].performer = m != HOST_STATIC;
		h->scene->models[m].volume = (struct vec3){1, 2, m};
	}
	cr_assert(!system_host.performer(&h->step.step, 0, &performer), "not on a runner");
	h->step.acts = &h->acts;
	cr_assert(system_host.performer(&h->step.step, 0, &performer) && performer.model == HOST_OWN &&
		  performer.id == HOST_OWN + 1 && performer.size.z == HOST_OWN);
	cr_assert(system_host.performer(&h->step.step, 1, &performer) && performer.model == HOST_ACTOR);
	cr_assert(!system_host.performer(&h->step.step, 2, &performer));
	host_stop(h);
}

/* --- control -------------------------------------------------------------------------------------------------------
 */

/* What is controlled of all parts, as bytes, so that a change of any shows. */
struct host_kept {
	unsigned char *at;
	size_t bytes;
};

static struct host_kept host_keep(const struct host *h)
{
	const struct {
		const void *at;
		size_t bytes;
	} parts[] = {{h->control.joints, h->scene->joint_count * sizeof *h->control.joints},
		{h->control.bodies, h->scene->body_count * sizeof *h->control.bodies},
		{h->control.models, h->scene->model_count * sizeof *h->control.models},
		{h->control.surfaces, h->scene->geom_count * sizeof *h->control.surfaces}};
	struct host_kept kept = {calloc(1, 1 << 16), 0};
	for (size_t i = 0; i < ARRAY_LEN(parts); kept.bytes += parts[i++].bytes)
		memcpy(kept.at + kept.bytes, parts[i].at, parts[i].bytes);
	cr_assert_lt(kept.bytes, 1 << 16);
	return kept;
}

static void host_expect_kept(const struct host *h, struct host_kept *kept, const char *what)
{
	struct host_kept now = host_keep(h);
	cr_assert(!memcmp(kept->at, now.at, now.bytes), "%s has an effect", what);
	free(now.at);
	free(kept->at);
}

static const struct troupe_twist host_twist = {{1, -2, 3}, {0.5, 0.25, -1}};
static const struct troupe_wrench host_wrench = {.force = {10, -20, 30}, .torque = {1, 2, -3}};
static const struct vec3 host_up = {0, 0, 1};

static void host_ask_all(const struct host *h, uint32_t link, uint32_t joint, uint32_t model)
{
	const struct troupe_step *step = &h->step.step;
	system_host.joint_force(step, joint, 5);
	system_host.joint_drive(step, joint, 5);
	system_host.joint_release(step, joint);
	system_host.link_force(step, link, host_up, host_wrench);
	system_host.link_drive(step, link, host_twist);
	system_host.model_drive(step, model, host_twist);
	system_host.link_belt(step, link, host_up, 1, NULL);
	system_host.link_slip(step, link, host_up, 1, 1);
	system_host.actor_place(step, model, pose_flat(POSE_IDENTITY));
	cr_assert(!system_host.joint_asked(step, joint) && !system_host.joint_released(step, joint));
}

Test(host, only_the_own_model_is_controlled)
{
	struct host *h = host_start();
	const struct scene *s = h->scene;
	static const uint32_t models[] = {HOST_STATIC, HOST_FIRST, HOST_GONE, HOST_ACTOR};
	struct host_kept kept = host_keep(h);
	for (size_t i = 0; i < ARRAY_LEN(models); i++)
		host_ask_all(h,
			s->models[models[i]].link_count
				? s->models[models[i]].link_first + s->models[models[i]].link_count - 1
				: s->link_count,
			models[i] == HOST_FIRST || models[i] == HOST_GONE ? s->models[models[i]].joint_first
									  : s->joint_count,
			models[i]);
	host_ask_all(h, TROUPE_NOTHING, TROUPE_NOTHING, TROUPE_NOTHING);
	host_expect_kept(h, &kept, "control of another model");
	h->step.model = HOST_GONE; /* its own model was removed */
	kept = host_keep(h);
	host_ask_all(h, s->models[HOST_GONE].link_first, s->models[HOST_GONE].joint_first, HOST_GONE);
	host_expect_kept(h, &kept, "control of an absent model");
	host_stop(h);
}

Test(host, forces_of_joints_add_up_and_velocities_do_not)
{
	struct host *h = host_start();
	const struct troupe_step *step = &h->step.step;
	uint32_t spin = host_joint(h, HOST_SPIN), slide = host_joint(h, HOST_SLIDE);
	const struct joint_control *first = &h->control.joints[spin], *second = &h->control.joints[slide];
	system_host.joint_force(step, slide, 5);
	system_host.joint_force(step, slide, -7);
	cr_assert(second->force == -2 && !second->drive && first->force == 0 && !system_host.joint_asked(step, spin));
	cr_assert(system_host.joint_asked(step, slide));
	system_host.joint_drive(step, spin, 0);
	cr_assert(first->drive && !system_host.joint_asked(step, spin), "a velocity of 0 is rest");
	system_host.joint_drive(step, spin, 4);
	system_host.joint_drive(step, spin, 3);
	cr_assert(first->velocity == 3 && system_host.joint_asked(step, spin));
	const double wild[] = {1e99, -1e99, NAN, INFINITY}, cut[] = {1, -1, 0, 1};
	for (size_t i = 0; i < ARRAY_LEN(wild); i++) {
		h->control.joints[slide].force = 0;
		system_host.joint_force(step, slide, wild[i]);
		system_host.joint_drive(step, slide, wild[i]);
		cr_assert(second->force == cut[i] * 1e9 && second->velocity == cut[i] * 1e4, "%g", wild[i]);
	}
	system_host.joint_release(step, slide);
	system_host.joint_force(step, slide, 5);
	system_host.joint_drive(step, slide, 5);
	cr_assert(second->force == 0 && !second->drive && system_host.joint_released(step, slide) &&
		  !system_host.joint_released(step, spin) && first->velocity == 3);
	host_stop(h);
}

/* The second link of a body: the torque is that about the body's centre, and two calls add up. */
Test(host, a_force_on_a_link_acts_at_its_point)
{
	struct host *h = host_start();
	const struct vec3 point = {0.3, -1, 2};
	const struct body_state *body = host_body(h, HOST_ARM, false);
	uint32_t index = h->scene->links[host_link(h, HOST_ARM)].body;
	cr_assert_eq(index, h->scene->links[host_link(h, HOST_BASE)].body, "welded");
	const struct body_control *control = &h->control.bodies[index];
	struct vec3 arm = vec3_sub(pose_point(host_moved(h, HOST_ARM, body), point), body->p);
	struct vec3 torque = vec3_add(host_wrench.torque, vec3_cross(arm, host_wrench.force));
	for (int i = 1; i <= 2; i++) {
		system_host.link_force(&h->step.step, host_link(h, HOST_ARM), point, host_wrench);
		host_near(control->force, vec3_scale(host_wrench.force, i), 1e-12, "force");
		host_near(control->torque, vec3_scale(torque, i), 1e-10, "torque");
	}
	cr_assert(h->control.models[HOST_OWN].bodies && !h->control.models[HOST_FIRST].bodies && !control->drive);
	const struct troupe_wrench wild = {{1e99, NAN, -1e99}, {NAN, 1e99, -1e99}};
	system_host.link_force(&h->step.step, host_link(h, HOST_TIP), (struct vec3){0, 0, 0}, wild);
	control = &h->control.bodies[h->scene->links[host_link(h, HOST_TIP)].body];
	host_near(control->force, (struct vec3){1e9, 0, -1e9}, 0, "force");
	cr_assert(fabs(control->torque.y) <= 1e9 && fabs(control->torque.z) <= 1e9 && fabs(control->torque.x) <= 1e9);
	host_stop(h);
}

Test(host, links_and_models_are_driven_as_rigid_wholes)
{
	struct host *h = host_start();
	const struct troupe_step *step = &h->step.step;
	uint32_t body = h->scene->links[host_link(h, HOST_ARM)].body;
	struct vec3 link = host_moved(h, HOST_ARM, host_body(h, HOST_ARM, false)).p;
	struct vec3 arm = vec3_sub(host_body(h, HOST_ARM, false)->p, link);
	system_host.link_drive(step, host_link(h, HOST_ARM), host_twist);
	host_near(h->control.bodies[body].v, vec3_add(host_twist.linear, vec3_cross(host_twist.angular, arm)), 1e-12,
		"v");
	host_near(h->control.bodies[body].w, host_twist.angular, 0, "w");
	for (uint32_t b = 0; b < h->scene->body_count; b++)
		cr_assert_eq(h->control.bodies[b].drive, b == body);
	struct vec3 origin = pose_of_flat(system_host.model_pose(step, HOST_OWN, TROUPE_NOW)).p;
	system_host.model_drive(step, HOST_OWN, host_twist);
	for (uint32_t l = 0; l < HOST_LINKS; l++) {
		const struct body_control *control = &h->control.bodies[h->scene->links[host_link(h, l)].body];
		arm = vec3_sub(host_body(h, l, false)->p, origin);
		cr_assert(control->drive && !control->place);
		host_near(control->v, vec3_add(host_twist.linear, vec3_cross(host_twist.angular, arm)), 1e-12, "v");
	}
	for (uint32_t b = 0; b < h->scene->body_count; b++)
		cr_assert_eq(h->control.bodies[b].drive, h->scene->bodies[b].model == HOST_OWN);
	const struct troupe_twist wild = {{1e99, NAN, -1e99}, {0, 0, 0}};
	system_host.link_drive(step, host_link(h, HOST_TIP), wild);
	host_near(h->control.bodies[h->scene->links[host_link(h, HOST_TIP)].body].v, (struct vec3){2e4, 0, -2e4}, 0,
		"cut");
	host_stop(h);
}

/* All collisions of the second link, and no others; the direction has length 1; a belt that slips keeps its axis. */
Test(host, surfaces_of_a_link_run_and_slip)
{
	struct host *h = host_start();
	const struct troupe_step *step = &h->step.step;
	const struct vec3 along = {0, 3, 4}, centre = {7, 8, 9}, across = {2, 0, 0};
	uint32_t arm = host_link(h, HOST_ARM), tip = host_link(h, HOST_TIP), marked[2] = {0, 0};
	system_host.link_belt(step, arm, (struct vec3){0, 0, 0}, 1, NULL);
	cr_assert(!h->control.models[HOST_OWN].surfaces, "no direction, no belt");
	system_host.link_belt(step, arm, along, -2, &centre);
	system_host.link_slip(step, arm, across, 0.5, -1);
	system_host.link_slip(step, tip, across, 1e99, 0.25);
	for (uint32_t g = 0; g < h->scene->geom_count; g++) {
		const struct surface_control *surface = &h->control.surfaces[g];
		bool is_arm = h->scene->geoms[g].link == arm, is_tip = h->scene->geoms[g].link == tip;
		cr_assert(surface->runs == is_arm && surface->turns == is_arm && surface->slips == (is_arm || is_tip));
		marked[0] += is_arm;
		marked[1] += is_tip;
		if (is_arm) {
			cr_assert(surface->speed == -2 && surface->slip1 == 0.5 && surface->slip2 == 0);
			host_near(surface->axis, (struct vec3){0, 0.6, 0.8}, 1e-15, "axis of the belt");
			host_near(surface->centre, centre, 0, "centre");
		} else if (is_tip) {
			cr_assert(surface->slip1 == 1e6 && surface->slip2 == 0.25 && surface->speed == 0);
			host_near(surface->axis, (struct vec3){1, 0, 0}, 0, "axis of the wheel");
		}
	}
	cr_assert(marked[0] == 2 && marked[1] == 2);
	system_host.link_belt(step, arm, along, 1, NULL);
	uint32_t own = h->scene->models[HOST_OWN].geom_first;
	cr_assert(
		!h->control.surfaces[own + 2].turns && h->control.surfaces[own + 3].speed == 1, "the last one counts");
	host_stop(h);
}

/* The surfaces of a static model are controlled by the primary, those of one that moves by its runner. */
Test(host, static_surfaces_belong_to_the_primary)
{
	struct host *h = host_start();
	uint32_t still = h->scene->models[HOST_STATIC].link_first + 1, own = host_link(h, HOST_TIP);
	h->step.model = HOST_STATIC;
	system_host.link_belt(&h->step.step, still, host_up, 1, NULL);
	cr_assert(!h->control.models[HOST_STATIC].surfaces, "a runner does not simulate it");
	h->step.acts = &h->acts;
	system_host.link_belt(&h->step.step, still, host_up, 1, NULL);
	cr_assert(
		h->control.models[HOST_STATIC].surfaces && !h->control.surfaces[0].runs && h->control.surfaces[3].runs);
	h->step.model = HOST_OWN;
	system_host.link_slip(&h->step.step, own, host_up, 1, 1);
	cr_assert(!h->control.models[HOST_OWN].surfaces, "the primary does not simulate it");
	host_stop(h);
}

Test(host, actors_are_put_where_a_sound_pose_is)
{
	struct host *h = host_start();
	uint32_t body = h->scene->models[HOST_ACTOR].body_first;
	const struct body_control *control = &h->control.bodies[body];
	struct body_state *now = state_bodies(h->state, HOST_ACTOR, false);
	*now = (struct body_state){{1, 2, 3}, QUAT_IDENTITY, {0, 0, 0}, {0, 0, 0}};
	h->step.model = HOST_ACTOR;
	const struct troupe_pose bad[] = {{NAN, 0, 0, 1, 0, 0, 0}, {0, 0, INFINITY, 1, 0, 0, 0},
		{0, 0, 0, 0.5, 0, 0, 0}, {0, 0, 0, 0, 0, 2, 0}, {0, 0, 0, NAN, 0, 0, 1}};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		system_host.actor_place(&h->step.step, HOST_ACTOR, bad[i]);
		cr_assert(!control->place, "pose %zu", i);
	}
	/* half a turn about z is in 0.5 s; the quaternion has length 1.5 */
	system_host.actor_place(&h->step.step, HOST_ACTOR, (struct troupe_pose){2, 0, 3, 0, 0, 0, 1.5});
	cr_assert(control->place);
	host_near(control->target.p, (struct vec3){2, 0, 3}, 0, "target");
	cr_assert(fabs(control->target.q.z - 1) < 1e-15);
	host_near(control->v, (struct vec3){2, -4, 0}, 1e-12, "v");
	host_near(control->w, (struct vec3){0, 0, 2 * M_PI}, 1e-12, "w");
	system_host.actor_place(&h->step.step, HOST_ACTOR, (struct troupe_pose){1e12, 0, 3, 1, 0, 0, 0});
	cr_assert(control->target.p.x == ACTOR_POSITION_MAX && vec3_length(control->v) == 0,
		"it does not push on its way");
	host_stop(h);
}

/* --- what a system is told when it is made -------------------------------------------------------------------------
 */

Test(host, parts_are_named_in_the_model_and_counted_from_the_right_place)
{
	struct host *h = host_start();
	struct troupe_system *self = &h->system.self;
	uint32_t count;
	cr_assert(system_host.links(self, &count) == host_link(h, 0) && count == HOST_LINKS);
	cr_assert(system_host.joints(self, &count) == host_joint(h, 0) && count == 2);
	cr_assert_str_eq(system_host.link_name(self, host_link(h, HOST_HAND)), "n::hand");
	cr_assert_str_eq(system_host.joint_name(self, host_joint(h, HOST_SLIDE)), "slide");
	cr_assert_str_eq(system_host.world_name(self), "w");
	cr_assert(system_host.find_link(self, "n::hand") == host_link(h, HOST_HAND) &&
		  system_host.find_link(self, "hand") == TROUPE_NOTHING);
	cr_assert(system_host.find_joint(self, "slide", false) == host_joint(h, HOST_SLIDE) &&
		  system_host.find_joint(self, "weld", true) == TROUPE_NOTHING);
	cr_assert(system_host.joint_child(self, host_joint(h, HOST_SPIN)) == host_link(h, HOST_HAND) &&
		  system_host.joint_parent(self, host_joint(h, HOST_SPIN)) == host_link(h, HOST_BASE) &&
		  system_host.joint_parent(self, host_joint(h, HOST_SLIDE)) == host_link(h, HOST_HAND));
	cr_assert(system_host.joint_axes(self, host_joint(h, HOST_SLIDE)) == 1 &&
		  system_host.frame_link(self) == host_link(h, 0));
	h->setup.owner++; /* it stands in the nested model */
	cr_assert(system_host.find_link(self, "hand") == host_link(h, HOST_HAND) &&
		  system_host.find_link(self, "tip") == TROUPE_NOTHING && !strcmp(system_host.owner_name(self), "n"));
	uint32_t others[] = {
		h->scene->models[HOST_FIRST].link_first, h->scene->models[HOST_GONE].link_first, TROUPE_NOTHING};
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		cr_assert(!*system_host.link_name(self, others[i]) && !system_host.link_solids(self, others[i]) &&
			  system_host.link_inertia(self, others[i]).mass == 0 &&
			  system_host.link_own_inertia(self, others[i]).mass == 0 &&
			  !system_host.link_wind(self, others[i]));
		uint32_t joint = i < 2 ? h->scene->models[i ? HOST_GONE : HOST_FIRST].joint_first : others[i];
		cr_assert(!*system_host.joint_name(self, joint) && !system_host.joint_axes(self, joint) &&
			  system_host.joint_child(self, joint) == TROUPE_NOTHING &&
			  system_host.joint_parent(self, joint) == TROUPE_NOTHING);
	}
	host_stop(h);
}

static double host_energy(struct troupe_inertia i, struct pose frame, struct vec3 v, struct vec3 w)
{
	struct vec3 centre = pose_point(frame, i.centre), turn = quat_rotate(quat_conj(frame.q), w);
	struct vec3 moves = vec3_add(v, vec3_cross(w, centre));
	return i.mass / 2 * vec3_dot(moves, moves) +
	       (i.diagonal.x * turn.x * turn.x + i.diagonal.y * turn.y * turn.y + i.diagonal.z * turn.z * turn.z) / 2 +
	       i.off.x * turn.x * turn.y + i.off.y * turn.x * turn.z + i.off.z * turn.y * turn.z;
}

/* A rigid body has the kinetic energy of its links, whichever of them its inertia is given for. */
Test(host, the_inertia_of_a_body_is_that_of_its_links)
{
	struct host *h = host_start();
	struct troupe_system *self = &h->system.self;
	struct pose frames[2];
	for (uint32_t l = 0; l < 2; l++) /* base and arm, in the model */
		frames[l] = pose_of_flat(system_host.link_in_model(self, host_link(h, l)));
	for (int i = 0; i < 20; i++) {
		struct vec3 v = random_vec3(&h->dice, 2), w = random_vec3(&h->dice, 2);
		double parts = 0;
		for (uint32_t l = 0; l < 2; l++)
			parts += host_energy(system_host.link_own_inertia(self, host_link(h, l)), frames[l], v, w);
		for (uint32_t l = 0; l < 2; l++) {
			double whole = host_energy(system_host.link_inertia(self, host_link(h, l)), frames[l], v, w);
			cr_assert(fabs(whole - parts) < 1e-10, "%g: expected %g", whole, parts);
		}
	}
	struct troupe_inertia tip = system_host.link_own_inertia(self, host_link(h, HOST_TIP));
	cr_assert(tip.mass == 0.5 && fabs(tip.diagonal.x + tip.diagonal.y + tip.diagonal.z - 7.5) < 1e-12);
	host_near(tip.centre, (struct vec3){0.1, 0.2, 0.3}, 1e-15, "its centre");
	host_stop(h);
}

Test(host, frames_and_solids_are_those_of_the_file)
{
	struct host *h = host_start();
	struct troupe_system *self = &h->system.self;
	const struct sdf_world *world = &h->sdf->worlds.at[0];
	struct pose model = world->models.at[h->scene->models[HOST_OWN].sdf].in_world;
	for (uint32_t l = 0; l < HOST_LINKS; l++) {
		const struct sdf_link *link = host_in_file(h, l);
		host_near_pose(system_host.link_in_model(self, host_link(h, l)),
			pose_mul(pose_inverse(model), host_link_in_file(h, l)), 1e-12, link->scoped);
		cr_assert(system_host.link_solids(self, host_link(h, l)) == 2 &&
			  system_host.link_wind(self, host_link(h, l)));
		for (uint32_t i = 0; i < 2; i++) {
			struct pose in_link = *world->collisions.at[link->collision_first + i].in_link;
			struct troupe_solid solid = system_host.link_solid(self, host_link(h, l), i);
			host_near_pose(solid.in_link, in_link, 1e-12, "collision");
			host_near(solid.centre, in_link.p, 1e-12, "centre of a cylinder");
			cr_assert(solid.kind == TROUPE_SOLID_CYLINDER && solid.size.x == 0.5 && solid.size.z == 1.5 &&
				  fabs(solid.volume - M_PI * 0.25 * 3) < 1e-12);
		}
		cr_assert_eq(system_host.link_solid(self, host_link(h, l), 2).volume, 0);
	}
	/* the anchor of a joint is the origin of its child */
	host_near(system_host.joint_in_model(self, host_joint(h, HOST_SLIDE)),
		pose_of_flat(system_host.link_in_model(self, host_link(h, HOST_TIP))).p, 1e-12, "anchor");
	h->system.self.model = HOST_STATIC;
	uint32_t still = h->scene->models[HOST_STATIC].link_first + 1;
	struct pose home = world->models.at[0].in_world;
	cr_assert(system_host.is_static(self) && system_host.frame_link(self) == still - 1 &&
		  system_host.link_inertia(self, still).mass == 0 &&
		  system_host.link_own_inertia(self, still).mass == 1);
	host_near_pose(system_host.link_in_model(self, still),
		pose_mul(pose_inverse(home), sdf_link_in_world(world, 1)), 1e-12, "of a static model");
	host_near_pose(
		system_host.link_solid(self, still, 1).in_link, *world->collisions.at[3].in_link, 1e-12, "of it");
	host_stop(h);
}

/* What belongs to configure() has no effect afterwards: nothing is added, and nothing is found wrong. */
Test(host, afterwards_nothing_is_set_up)
{
	struct host *h = host_start();
	struct troupe_system *self = &h->system.self;
	const struct troupe_output output = {.name = "t", .type = "gz.msgs.Double", .gives = TROUPE_GIVES_PUBLISHED};
	uint32_t number = 77;
	for (int round = 0; round < 2; round++) {
		h->system.setup = round ? NULL : &h->setup;
		bool during = !round;
		cr_assert_eq(system_host.take(self, NULL, "t", "gz.msgs.Double", 3, TROUPE_NOTHING), during);
		cr_assert_eq(system_host.take(self, NULL, "u", NULL, 4, 9), during);
		cr_assert_eq(system_host.serve(self, NULL, "s", "gz.msgs.Double", "gz.msgs.Boolean", 5), during);
		cr_assert_eq(system_host.give(self, NULL, &output, &number), during);
		cr_assert_eq(system_host.give(self, NULL, &output, &number), during);
		cr_assert_eq(number, 1, "the second output");
		cr_assert_eq(system_host.add_words(self, "first", TROUPE_WORD_DOUBLE, 2), 0);
		cr_assert_eq(system_host.add_words(self, "second", TROUPE_WORD_INTEGER, 3), during ? 2u : 0u);
		cr_assert_eq(system_host.field(self, "gz.msgs.Double", "data") != NULL, during);
		cr_assert(h->system.topics.count == 3 && h->system.outputs.count == 2 && h->system.words == 5 &&
			  h->system.names.count == 2 && h->setup.status == TROUPE_OK);
	}
	const struct troupe_element *at = (const void *)h->sdf->worlds.at[0].links.at[0].element;
	h->system.setup = &h->setup;
	cr_assert(!system_host.take(self, at, "", "gz.msgs.Double", 3, TROUPE_NOTHING) &&
		  !system_host.take(self, at, "t", "none", 3, TROUPE_NOTHING) &&
		  !system_host.serve(self, at, "t", "gz.msgs.Double", "none", 3) && h->setup.status == TROUPE_EWORLD);
	cr_assert_eq(h->system.topics.count, 3, "what is wrong is not added");
	const struct system_topic *topics = h->system.topics.at;
	cr_assert(!strcmp(topics[0].name, "/t") && topics[0].tag == 3 && !topics[0].any && !topics[0].reply &&
		  topics[0].joint == TROUPE_NOTHING);
	cr_assert(topics[1].any && topics[1].joint == 9 && topics[1].tag == 4 &&
		  topics[1].type == type_find("gz.msgs.StringMsg"));
	cr_assert(topics[2].reply == type_find("gz.msgs.Boolean") && topics[2].type == type_find("gz.msgs.Double") &&
		  topics[2].tag == 5);
	cr_assert(!strcmp(h->system.outputs.at[1].def.name, "/t") &&
		  h->system.outputs.at[1].type == type_find("gz.msgs.Double"));
	vec_free(&h->system.topics);
	vec_free(&h->system.outputs);
	vec_free(&h->system.names);
	host_stop(h);
}

/* A prism with a triangle as its base, turned and shifted in its link: volume and centre as in a book, and triangles
 * that enclose this volume, seen from outside. */
Test(host, the_solid_of_a_mesh_has_its_volume_and_centre)
{
	struct host *h = host_start();
	struct troupe_system *self = &h->system.self;
	struct sdf *sdf = sdf_help_good(
		"<sdf version='1.11'><world name='w'><model name='first'><link name='l'/></model>"
		"<model name='m'><pose>1 2 3 1 0 2</pose><link name='k'/><link name='l'><pose>4 5 6 0 1 0</pose>"
		"<collision name='c'><geometry><sphere><radius>2</radius></sphere></geometry></collision><collision "
		"name='d'>"
		"<pose>1 0 2 0.5 0 0.25</pose><geometry><polyline><point>0 0</point><point>3 0</point><point>0 "
		"3</point>"
		"<height>2</height></polyline></geometry></collision></link></model></world></sdf>",
		NULL);
	struct scene *scene = NULL;
	struct troupe_error error = {0};
	const struct scene_options options = {0};
	cr_assert_eq(scene_create(&sdf->worlds.at[0], &options, &scene, &error), TROUPE_OK, "%s", error.text);
	h->system.scene = scene;
	h->system.self.model = 1;
	uint32_t link = scene_find_link(scene, 1, "l"), count = 0;
	struct troupe_solid ball = system_host.link_solid(self, link, 0), prism = system_host.link_solid(self, link, 1);
	cr_assert(ball.kind == TROUPE_SOLID_SPHERE && fabs(ball.volume - 32 * M_PI / 3) < 1e-12);
	cr_assert(prism.kind == TROUPE_SOLID_CONVEX || prism.kind == TROUPE_SOLID_MESH);
	struct pose in_link = *sdf->worlds.at[0].collisions.at[1].in_link;
	struct vec3 inside = pose_point(pose_inverse(in_link), prism.centre);
	cr_assert(fabs(prism.volume - 9) < 1e-9 && fabs(inside.x - 1) < 1e-9 && fabs(inside.y - 1) < 1e-9 &&
			  (fabs(inside.z) < 1e-9 || fabs(inside.z - 1) < 1e-9),
		"%g at %g %g %g", prism.volume, inside.x, inside.y, inside.z);
	struct troupe_vec3 *corners = system_host.link_triangles(self, link, 1, &count);
	double volume = 0;
	cr_assert(count >= 24 && count % 3 == 0, "%u corners", count);
	for (uint32_t i = 0; i < count; i += 3)
		volume += vec3_dot(corners[i], vec3_cross(corners[i + 1], corners[i + 2])) / 6;
	cr_assert(fabs(volume - 9) < 1e-9, "%g", volume);
	cr_assert(system_host.link_triangles(self, link, 0, &count) == NULL && count == 0);
	cr_assert(system_host.link_triangles(self, link, 2, &count) == NULL && count == 0);
	scene_destroy(scene);
	sdf_free(sdf);
	host_stop(h);
}

static char host_said[600];

static void host_hear(void *ctx, const char *text)
{
	cr_assert_eq(ctx, host_said);
	snprintf(host_said, sizeof host_said, "%s", text);
}

/* At most 199 bytes of a line, with the plug-in and its model before it; nobody may listen. */
Test(host, lines_of_the_log_say_whose_they_are)
{
	struct host *h = host_start();
	const struct troupe_kind kind = {.names = (const char *const[]){"first::name", "other", NULL}};
	struct systems all = {.scene = h->scene, .on_log = host_hear, .ctx = host_said};
	char longer[300];
	h->system.self.kind = &kind;
	h->system.all = &all;
	system_host.log_line(&h->system.self, "%d of %s", 3, "four");
	cr_assert_str_eq(host_said, "first::name of b: 3 of four");
	h->system.self.model = TROUPE_NOTHING;
	system_host.log_line(&h->system.self, "x");
	cr_assert_str_eq(host_said, "first::name of the world: x");
	memset(longer, 'y', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	system_host.log_line(&h->system.self, "%s", longer);
	cr_assert_eq(strlen(host_said), strlen("first::name of the world: ") + 199);
	all.on_log = NULL;
	host_said[0] = '\0';
	system_host.log_line(&h->system.self, "x");
	cr_assert_str_eq(host_said, "");
	host_stop(h);
}

/* Random numbers are those of a system, its sequence, the seed and the index; in [0, 1), and normal. */
Test(host, random_numbers_differ_by_all_that_they_belong_to)
{
	enum { COUNT = 4000 };
	struct host *h = host_start();
	struct systems all = {.scene = h->scene, .seed = 5};
	struct system other = h->system;
	double sum = 0, squares = 0, normal = 0, spread = 0;
	h->system.all = other.all = &all;
	for (uint64_t i = 0; i < COUNT; i++) {
		double u = system_host.random(&h->system.self, 2, i),
		       n = system_host.random_normal(&h->system.self, 2, i);
		cr_assert(u >= 0 && u < 1);
		sum += u / COUNT;
		squares += u * u / COUNT;
		normal += n / COUNT;
		spread += n * n / COUNT;
	}
	cr_assert(fabs(sum - 0.5) < 0.02 && fabs(squares - 1.0 / 3) < 0.02, "%g, %g", sum, squares);
	cr_assert(fabs(normal) < 0.06 && fabs(spread - 1) < 0.08, "%g, %g", normal, spread);
	double is = system_host.random(&h->system.self, 2, 7);
	cr_assert_eq(system_host.random(&other.self, 2, 7), is, "the same call");
	cr_assert_neq(system_host.random(&h->system.self, 3, 7), is);
	cr_assert_neq(system_host.random(&h->system.self, 2, 8), is);
	other.index = 1;
	cr_assert_neq(system_host.random(&other.self, 2, 7), is);
	other.index = 0;
	other.self.model = HOST_FIRST;
	cr_assert_neq(system_host.random(&other.self, 2, 7), is);
	all.seed = 6;
	cr_assert_neq(system_host.random(&h->system.self, 2, 7), is);
	cr_assert(system_host.pow(2, 10) > 1023.999 && system_host.pow(0, 0) == 1 && system_host.pow(0, 2) == 0 &&
		  isnan(system_host.pow(-1, 2)) && isnan(system_host.pow(0, -1)) && system_host.pow(-3, 0) == 1);
	host_stop(h);
}

/* --- acting ---------------------------------------------------------------------------------------------------------
 */

static const double host_numbers[] = {1, 2, 3};

struct host_acted { /* what was asked for since it was cleared */
	uint32_t published, requested, attached, detached, link, other;
	const char *service;
	bool may_not; /* attach */
};

static void host_publish(void *ctx, const struct system *system, uint32_t output, const ProtobufCMessage *message)
{
	struct host_acted *acted = ctx;
	cr_assert(message->descriptor == system->outputs.at[output].type);
	acted->published++;
}

static void host_request(void *ctx, const struct system *system, const char *service, const ProtobufCMessage *message)
{
	struct host_acted *acted = ctx;
	cr_assert(system->self.model == HOST_OWN && message);
	acted->requested++;
	acted->service = service;
}

static bool host_may_attach(void *ctx, const struct system *system, uint32_t other)
{
	(void)system;
	(void)other;
	return !((struct host_acted *)ctx)->may_not;
}

static void host_attach(void *ctx, const struct system *system, uint32_t link, uint32_t other)
{
	struct host_acted *acted = ctx;
	(void)system;
	acted->attached++;
	acted->link = link;
	acted->other = other;
}

static void host_detach(void *ctx, const struct system *system)
{
	(void)system;
	((struct host_acted *)ctx)->detached++;
}

static bool host_touch(void *ctx, uint32_t model, uint32_t i, struct troupe_touch *ret_touch)
{
	(void)ctx;
	*ret_touch = (struct troupe_touch){0};
	return model == HOST_OWN && i < 2;
}

static uint32_t host_find_sensor(void *ctx, uint32_t model, const char *name)
{
	(void)ctx;
	return model == HOST_OWN && !strcmp(name, "second") ? 1 : TROUPE_NOTHING;
}

static const double *host_reading(void *ctx, uint32_t model, uint32_t sensor, uint32_t *ret_count, double *ret_time_s)
{
	(void)ctx;
	if (model != HOST_OWN || sensor != 1)
		return NULL;
	*ret_count = ARRAY_LEN(host_numbers);
	*ret_time_s = 1.25;
	return host_numbers;
}

/* The host of a primary, in update(), with two outputs: a pose that is published, and a report. */
static struct host *host_start_acting(struct host_acted *acted)
{
	struct host *h = host_start();
	h->acts = (struct system_acts){.publish = host_publish,
		.request = host_request,
		.may_attach = host_may_attach,
		.attach = host_attach,
		.detach = host_detach,
		.touch = host_touch,
		.find_sensor = host_find_sensor,
		.reading = host_reading,
		.is_there = host_all_there,
		.ctx = acted};
	*acted = (struct host_acted){0};
	h->step.acts = &h->acts;
	h->step.arena = &h->arena;
	field_open(&h->arena);
	vec_push(&h->system.outputs,
		(struct system_output){.def.gives = TROUPE_GIVES_PUBLISHED, .type = type_find("gz.msgs.Pose")});
	vec_push(&h->system.outputs,
		(struct system_output){.def.gives = TROUPE_GIVES_REPORT, .type = type_find("gz.msgs.Pose")});
	return h;
}

static void host_stop_acting(struct host *h)
{
	field_open(NULL);
	free(h->system.outputs.at);
	host_stop(h);
}

Test(host, messages_are_published_where_they_fit)
{
	struct host_acted acted;
	struct host *h = host_start_acting(&acted);
	const struct troupe_step *step = &h->step.step;
	const struct troupe_system *self = &h->system.self;
	struct troupe_message *pose = system_host.message(step, "gz.msgs.Pose");
	struct troupe_message *twist = system_host.message(step, "gz.msgs.Twist");
	cr_assert(pose && twist && !system_host.message(step, "gz.msgs.Nothing"));
	system_host.publish(self, step, 0, pose);
	cr_assert_eq(acted.published, 1);
	system_host.publish(self, step, 0, twist); /* another type */
	system_host.publish(self, step, 1, pose);  /* a report */
	system_host.publish(self, step, 2, pose);  /* there is none */
	system_host.publish(self, step, 0, NULL);
	cr_assert_eq(acted.published, 1);
	system_host.request(self, step, "set_pose", pose);
	system_host.request(self, step, "remove", NULL);
	cr_assert(acted.requested == 1 && !strcmp(acted.service, "set_pose"));
	/* report() may not act, and a runner cannot */
	h->step.arena = NULL;
	cr_assert(!system_host.message(step, "gz.msgs.Pose"));
	system_host.publish(self, step, 0, pose);
	system_host.request(self, step, "set_pose", pose);
	system_host.detach(self, step);
	cr_assert(!system_host.attach(self, step, host_link(h, HOST_BASE), 0));
	h->step.arena = &h->arena;
	h->step.acts = NULL;
	system_host.publish(self, step, 0, pose);
	system_host.request(self, step, "set_pose", pose);
	system_host.detach(self, step);
	cr_assert(!system_host.attach(self, step, host_link(h, HOST_BASE), 0));
	cr_assert(acted.published == 1 && acted.requested == 1 && !acted.detached && !acted.attached);
	host_stop_acting(h);
}

Test(host, messages_come_back_from_their_bytes)
{
	struct host_acted acted;
	struct host *h = host_start_acting(&acted);
	const struct troupe_step *step = &h->step.step;
	struct troupe_message *pose = system_host.message(step, "gz.msgs.Pose"), *again;
	const struct troupe_field *y = system_host.field(&h->system.self, "gz.msgs.Pose", "position.y");
	char bytes[64] = "untouched";
	system_host.put(pose, y, 4.5);
	size_t count = system_host.pack(pose, bytes, 3);
	cr_assert(count > 3 && count < sizeof bytes && !strcmp(bytes, "untouched"), "too little room");
	cr_assert_eq(system_host.pack(pose, bytes, count), count);
	again = system_host.unpack(step, "gz.msgs.Pose", bytes, count);
	cr_assert(again && again != pose && system_host.get(again, y, 0) == 4.5);
	cr_assert(!system_host.unpack(step, "gz.msgs.Pose", bytes, count - 1), "cut off");
	cr_assert(!system_host.unpack(step, "gz.msgs.Nothing", bytes, count));
	h->step.arena = NULL;
	cr_assert(!system_host.unpack(step, "gz.msgs.Pose", bytes, count), "no message may be made");
	host_stop_acting(h);
}

Test(host, own_links_are_attached_to_what_is_there)
{
	struct host_acted acted;
	struct host *h = host_start_acting(&acted);
	const struct troupe_step *step = &h->step.step;
	const struct troupe_system *self = &h->system.self;
	uint32_t tip = host_link(h, HOST_TIP), still = h->scene->models[HOST_STATIC].link_first + 1;
	const uint32_t none[] = {h->scene->models[HOST_FIRST].link_first, h->scene->models[HOST_GONE].link_first,
		h->scene->link_count, TROUPE_NOTHING};
	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		cr_assert(!system_host.attach(self, step, tip, none[i]), "to what is not there: %zu", i);
		cr_assert(!system_host.attach(self, step, none[i], still), "of another model: %zu", i);
	}
	cr_assert(!system_host.attach(self, step, still, tip) && !acted.attached, "of another model");
	acted.may_not = true;
	cr_assert(!system_host.attach(self, step, tip, still) && !acted.attached);
	acted.may_not = false;
	cr_assert(system_host.attach(self, step, tip, still));
	cr_assert(acted.attached == 1 && acted.link == tip && acted.other == still);
	system_host.detach(self, step);
	cr_assert_eq(acted.detached, 1);
	/* attached: by this system of this model, and no other */
	cr_assert(!system_host.attached(self, step));
	const struct scene_attachment held[] = {
		{.owner = HOST_FIRST, .system = 3}, {.owner = HOST_OWN, .system = 2}, {.owner = HOST_OWN, .system = 3}};
	h->system.index = 3;
	for (size_t i = 0; i < ARRAY_LEN(held); i++) {
		vec_push(&h->scene->attachments, held[i]);
		cr_assert_eq(system_host.attached(self, step), i == 2, "%zu", i);
	}
	h->scene->attachments.count = 0;
	host_stop_acting(h);
}

Test(host, touches_and_readings_are_the_primarys)
{
	struct host_acted acted;
	struct host *h = host_start_acting(&acted);
	const struct troupe_step *step = &h->step.step;
	struct troupe_touch touch;
	uint32_t count = 7;
	double time_s = 7;
	cr_assert(system_host.touch(step, HOST_OWN, 1, &touch) && !system_host.touch(step, HOST_OWN, 2, &touch) &&
		  !system_host.touch(step, HOST_FIRST, 0, &touch));
	cr_assert(system_host.find_sensor(step, HOST_OWN, "second") == 1 &&
		  system_host.find_sensor(step, HOST_OWN, "first") == TROUPE_NOTHING &&
		  system_host.find_sensor(step, HOST_MODELS, "second") == TROUPE_NOTHING &&
		  system_host.find_sensor(step, HOST_GONE, "second") == TROUPE_NOTHING);
	cr_assert(system_host.reading(step, HOST_OWN, 1, &count, &time_s) == host_numbers && count == 3 &&
		  time_s == 1.25);
	cr_assert(!system_host.reading(step, HOST_OWN, 0, &count, &time_s) && count == 0 && time_s == 0);
	h->step.acts = NULL;
	cr_assert(!system_host.touch(step, HOST_OWN, 1, &touch));
	cr_assert_eq(system_host.find_sensor(step, HOST_OWN, "second"), TROUPE_NOTHING);
	count = 7;
	cr_assert(!system_host.reading(step, HOST_OWN, 1, &count, &time_s) && count == 0);
	host_stop_acting(h);
}

/* All corners of the box of the second cylinder of each link, by hand, are in the box of the model; and the box is no
 * larger than the reach of them all. */
Test(host, the_box_of_a_model_holds_its_shapes)
{
	struct host *h = host_start();
	const struct troupe_step *step = &h->step.step;
	struct troupe_box box = system_host.model_box(step, HOST_OWN, TROUPE_NOW);
	double reach = 0;
	for (uint32_t l = 0; l < HOST_LINKS; l++) {
		struct pose link = host_moved(h, l, host_body(h, l, false));
		struct vec3 along = quat_rotate(
			link.q, quat_rotate((struct quat){cos(0.5), sin(0.5), 0, 0}, (struct vec3){0, 0, 1.5}));
		struct vec3 centre = pose_point(link, (struct vec3){0, 2, 0});
		for (int end = -1; end <= 1; end += 2) {
			struct vec3 at = vec3_add(centre, vec3_scale(along, end));
			cr_assert(at.x >= box.low.x && at.y >= box.low.y && at.z >= box.low.z, "link %u", l);
			cr_assert(at.x <= box.high.x && at.y <= box.high.y && at.z <= box.high.z, "link %u", l);
			reach = fmax(reach, vec3_length(at));
		}
	}
	cr_assert(vec3_length(vec3_sub(box.high, box.low)) < 2 * reach + 9);
	struct troupe_box none = system_host.model_box(step, HOST_FIRST, TROUPE_NOW);
	cr_assert(!memcmp(&none, &(struct troupe_box){{0, 0, 0}, {0, 0, 0}}, sizeof none),
		"a runner knows no other model");
	host_stop(h);
}
