/* The library as an observing program sees it: handles, steps, scenes, snapshots, reports. The expectations are what
 * the headers in include/troupe say. test_library_commands.c has the programs that control. */
#include "../named.h"
#include "library.h"

#include <troupe/client.h>

#include <unistd.h>

TestSuite(library_handles, .fini = lib_end, .timeout = 60);
TestSuite(library_steps, .fini = lib_end, .timeout = 120);
TestSuite(library_scene, .fini = lib_end, .timeout = 60);
TestSuite(library_snapshot, .fini = lib_end, .timeout = 120);
TestSuite(library_report, .fini = lib_end, .timeout = 60);

static void assert_near(double found, double expected, double within, const char *what)
{
	cr_assert(fabs(found - expected) <= within, "%s: %.17g, expected %.17g to %g", what, found, expected, within);
}

/* Whether two handles are the same. */
#define same_handle(a, b) (sizeof(a) == sizeof(b) && !memcmp(&(a), &(b), sizeof(a)))

static void see(struct troupe_server *server, void (*fn)(void *, const struct troupe_snapshot *), void *ctx)
{
	troupe_server_snapshot(server, fn, ctx);
}

/* --- handles ------------------------------------------------------------------------------------------------------ */

Test(library_handles, are_found_by_name)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	troupe_model arm = lib_model(server, "arm");
	troupe_link palm = troupe_find_link(server, arm, "hand::palm");
	troupe_link palm_in_full = troupe_find_link(server, arm, "arm::hand::palm");
	troupe_joint knuckle = troupe_find_joint(server, arm, "hand::knuckle");
	troupe_joint knuckle_in_full = troupe_find_joint(server, arm, "arm::hand::knuckle");
	troupe_joint elbow = troupe_find_joint(server, arm, "arm::elbow");
	troupe_joint elbow_again = lib_joint(server, "arm", "elbow");
	cr_assert(lib_given(&palm) && same_handle(palm, palm_in_full));
	cr_assert(lib_given(&knuckle) && same_handle(knuckle, knuckle_in_full));
	cr_assert(lib_given(&elbow) && same_handle(elbow, elbow_again));
	assert_near(lib_link_at(server, palm).pose.x, 0.6, 1e-12, "the palm's x");
}

Test(library_handles, are_zero_when_there_is_no_such_name)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	troupe_model arm = lib_model(server, "arm"), none = {0, 0, 0};
	const troupe_model models[] = {troupe_find_model(server, 0, "arn"), troupe_find_model(server, 0, ""),
		troupe_find_model(server, 1, "arm"), troupe_find_model(server, UINT32_MAX, "arm"),
		troupe_find_model(server, 0, "arm::hand"), troupe_find_model(server, 0, "arm::base")};
	const troupe_link links[] = {troupe_find_link(server, arm, "elbow"), troupe_find_link(server, arm, "palm"),
		troupe_find_link(server, arm, ""), troupe_find_link(server, arm, "cart::base"),
		troupe_find_link(server, none, "base"), troupe_find_link(server, arm, "arm::")};
	const troupe_joint joints[] = {troupe_find_joint(server, arm, "base"), troupe_find_joint(server, arm, "tether"),
		troupe_find_joint(server, none, "elbow"), troupe_find_world_joint(server, 0, "elbow"),
		troupe_find_world_joint(server, 1, "tether")};
	for (size_t i = 0; i < sizeof models / sizeof *models; i++)
		cr_assert_not(lib_given(&models[i]), "model %zu", i);
	for (size_t i = 0; i < sizeof links / sizeof *links; i++)
		cr_assert_not(lib_given(&links[i]), "link %zu", i);
	for (size_t i = 0; i < sizeof joints / sizeof *joints; i++)
		cr_assert_not(lib_given(&joints[i]), "joint %zu", i);
}

Test(library_handles, of_the_worlds_own_joints)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	troupe_joint tether = troupe_find_world_joint(server, 0, "tether");
	cr_assert(lib_given(&tether));
	assert_near(lib_joint_at(server, tether).position[0], 0, 0, "the joint's position before the first step");
	lib_step(server, 300);
	/* a point of 1 kg on a rod of 1 m, let go at the height of its pivot, falls at first as if it were free */
	double angle = lib_joint_at(server, tether).position[0];
	double z = lib_link_at(server, lib_link(server, "swing", "l")).pose.z;
	cr_assert(fabs(angle) > 0.2, "%g", angle);
	assert_near(3 - sin(fabs(angle)), z, 1e-3, "the box hangs on the joint");
}

/* A snapshot must not be writable, and indices must lead to existing entries. */
static void assert_stale(struct troupe_server *server, troupe_model model, troupe_link link, troupe_joint joint)
{
	struct troupe_model_state model_state, model_before;
	struct troupe_link_state link_state, link_before;
	struct troupe_joint_state joint_state, joint_before;
	struct troupe_odometry odometry, odometry_before;
	memset(&model_before, 0x5a, sizeof model_before);
	memset(&link_before, 0x5a, sizeof link_before);
	memset(&joint_before, 0x5a, sizeof joint_before);
	memset(&odometry_before, 0x5a, sizeof odometry_before);
	memcpy(&model_state, &model_before, sizeof model_state);
	memcpy(&link_state, &link_before, sizeof link_state);
	memcpy(&joint_state, &joint_before, sizeof joint_state);
	memcpy(&odometry, &odometry_before, sizeof odometry);
	cr_assert_not(troupe_get_model(server, model, &model_state));
	cr_assert_not(troupe_get_link(server, link, &link_state));
	cr_assert_not(troupe_get_joint(server, joint, &joint_state));
	cr_assert_not(troupe_get_odometry(server, model, &odometry));
	cr_assert(!memcmp(&model_state, &model_before, sizeof model_state));
	cr_assert(!memcmp(&link_state, &link_before, sizeof link_state));
	cr_assert(!memcmp(&joint_state, &joint_before, sizeof joint_state));
	cr_assert(!memcmp(&odometry, &odometry_before, sizeof odometry));
	troupe_link no_link = troupe_find_link(server, model, "base");
	troupe_joint no_joint = troupe_find_joint(server, model, "elbow");
	cr_assert_not(lib_given(&no_link));
	cr_assert_not(lib_given(&no_joint));
}

static void see_stale(void *ctx, const struct troupe_snapshot *snapshot)
{
	const troupe_model *arm = ctx;
	cr_assert_null(troupe_snapshot_model(snapshot, *arm));
}

static const char new_arm[] = "sdf: \"<sdf version='1.11'>" LIB_ARM("arm", "0 0 0 0 0 0") "</sdf>\"";

Test(library_handles, are_stale_after_a_removal_and_good_again_after_a_reset)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	troupe_model arm = lib_model(server, "arm");
	troupe_link base = lib_link(server, "arm", "base");
	troupe_joint elbow = lib_joint(server, "arm", "elbow");
	lib_text(server, 2, "/world/w/remove", "name: 'arm' type: MODEL");
	lib_step(server, 2);
	(void)lib_at(server, arm);
	lib_step(server, 1);
	assert_stale(server, arm, base, elbow);
	see(server, see_stale, &arm);

	lib_text(server, 4, "/world/w/create", new_arm);
	lib_step(server, 3);
	troupe_model other = lib_model(server, "arm");
	troupe_link other_base = lib_link(server, "arm", "base");
	troupe_joint other_elbow = lib_joint(server, "arm", "elbow");
	cr_assert_not(same_handle(arm, other));
	assert_stale(server, arm, base, elbow);
	see(server, see_stale, &arm);
	assert_near(lib_at(server, other).pose.y, 0, 1e-3, "the position at which the new model was put");

	lib_text(server, lib_steps(server), "/world/w/control", "reset: {all: true}");
	lib_step(server, 2);
	assert_near(lib_at(server, arm).pose.y, 5, 1e-3, "the model's position in the file");
	assert_near(lib_link_at(server, base).pose.z, 0.25, 1e-3, "its base");
	(void)lib_joint_at(server, elbow);
	assert_stale(server, other, other_base, other_elbow);
}

Test(library_handles, of_a_removed_model_stay_stale_when_another_takes_its_place)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	troupe_model models[20];
	for (int i = 0; i < 20; i++) {
		lib_text(server, 0, "/world/w/create",
			"sdf: \"<sdf version='1.11'>" LIB_MODEL("guest", "20 0 0.25 0 0 0", LIB_BOX) "</sdf>\"");
		lib_step(server, 1);
		models[i] = lib_model(server, "guest");
		for (int j = 0; j < i; j++) {
			struct troupe_model_state state;
			cr_assert_not(same_handle(models[i], models[j]));
			cr_assert_not(troupe_get_model(server, models[j], &state));
		}
		lib_text(server, 0, "/world/w/remove", "name: 'guest' type: MODEL");
		lib_step(server, 1);
	}
}

static const char two_worlds[] = LIB_SDF(LIB_WORLD("one", LIB_MODEL("box", "1 0 0.25 0 0 0", LIB_BOX)) LIB_WORLD(
	"two", LIB_MODEL("other", "0 9 0.25 0 0 0", LIB_BOX) LIB_MODEL("box", "2 0 0.25 0 0 0", LIB_BOX)));

struct of_two {
	troupe_model box[2];
	troupe_link link[2];
	int seen;
};

static void see_two(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct of_two *two = ctx;
	int own = two->seen++;
	cr_assert_str_eq(snapshot->world, own ? "two" : "one");
	cr_assert_not_null(troupe_snapshot_model(snapshot, two->box[own]));
	assert_near(troupe_snapshot_model(snapshot, two->box[own])->pose.x, own + 1, 1e-9, "its own");
	cr_assert_null(troupe_snapshot_model(snapshot, two->box[!own]));
	cr_assert_null(troupe_snapshot_link(snapshot, two->link[!own]));
}

Test(library_handles, know_their_world)
{
	struct troupe_server *server = lib_server(two_worlds, 0);
	struct of_two two = {.seen = 0};
	for (uint32_t w = 0; w < 2; w++) {
		two.box[w] = troupe_find_model(server, w, "box");
		two.link[w] = troupe_find_link(server, two.box[w], "l");
		cr_assert(lib_given(&two.box[w]) && lib_given(&two.link[w]));
		assert_near(lib_at(server, two.box[w]).pose.x, w + 1, 1e-9, "a position by the model's handle");
		assert_near(lib_link_at(server, two.link[w]).pose.x, w + 1, 1e-9, "a position by the link's handle");
	}
	lib_step(server, 3);
	see(server, see_two, &two);
	cr_assert_eq(two.seen, 2);
	const struct troupe_pose there = {.x = 7, .z = 0.25, .qw = 1};
	must(troupe_command_pose(server, NULL, two.box[1], &there, NULL, &lib_error));
	lib_step(server, 1);
	assert_near(lib_at(server, two.box[0]).pose.x, 1, 1e-3, "the model of the other world stays");
	assert_near(lib_at(server, two.box[1]).pose.x, 7, 1e-3, "the model that was meant moves");
}

/* Invalid handles that differ a little from a valid one. */
static void make_wild(uint32_t at, uint32_t born, uint32_t world, uint32_t ret_wild[7][3])
{
	const uint32_t wild[7][3] = {{0, 0, 0}, {UINT32_MAX, UINT32_MAX, UINT32_MAX}, {at, born + 100, world},
		{at, 0, world}, {at, born, world + 1}, {1000000, born, world}, {UINT32_MAX, born, world}};
	memcpy(ret_wild, wild, sizeof wild);
}

Test(library_handles, that_nobody_gave_are_stale)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	troupe_model arm = lib_model(server, "arm");
	troupe_link base = lib_link(server, "arm", "base");
	troupe_joint elbow = lib_joint(server, "arm", "elbow");
	uint32_t models[7][3], links[7][3], joints[7][3];
	make_wild(arm.at, arm.born, arm.world, models);
	make_wild(base.at, base.born, base.world, links);
	make_wild(elbow.at, elbow.born, elbow.world, joints);
	for (size_t i = 0; i < 7; i++) {
		troupe_model model = {models[i][0], models[i][1], models[i][2]};
		const troupe_link link = {links[i][0], links[i][1], links[i][2]};
		const troupe_joint joint = {joints[i][0], joints[i][1], joints[i][2]};
		assert_stale(server, model, link, joint);
		see(server, see_stale, &model);
	}
}

/* A static model has no state in a snapshot, but it has a pose. */
Test(library_handles, of_static_models_can_be_read)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	troupe_model ground = lib_model(server, "ground");
	troupe_link link = lib_link(server, "ground", "l");
	lib_text(server, 0, "/world/w/set_pose", "name: 'ground' position {x: 1 y: 2 z: -3}");
	lib_step(server, 2);
	struct troupe_model_state state = lib_at(server, ground);
	struct troupe_link_state link_state = lib_link_at(server, link);
	cr_assert(state.pose.x == 1 && state.pose.y == 2 && state.pose.z == -3 && state.pose.qw == 1);
	cr_assert(link_state.pose.x == 1 && link_state.pose.z == -3 && link_state.twist.linear.x == 0);
	see(server, see_stale, &ground);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

static void drive(struct troupe_server *server)
{
	lib_text(server, 0, "/model/cart/cmd_vel", "linear: {x: 0.5} angular: {z: 0.3}");
	lib_text(server, 0, "/model/pusher/cmd_vel", "linear: {x: 1}");
	lib_text(server, 30, "/model/arm/joint/elbow/cmd_vel", "data: 0.7");
	lib_text(server, 100, "/world/w/control", "pause: true");
	lib_text(server, 140, "/world/w/control", "multi_step: 10");
	lib_text(server, 170, "/world/w/control", "pause: false");
}

static uint64_t hash_of_run(int secondaries)
{
	struct troupe_server *server = lib_server(lib_all, secondaries);
	drive(server);
	lib_run(server, 300);
	uint64_t hash = troupe_server_hash(server);
	cr_assert_eq(lib_steps(server), 300);
	lib_destroy(server);
	return hash;
}

/* Takes steps in portions of all sizes, some by troupe_server_run(). */
static uint64_t hash_of_steps(struct troupe_server *server)
{
	static const uint64_t sizes[] = {1, 1, 0, 2, 17, 1, 64, 5};
	drive(server);
	for (uint64_t at = 0, i = 0; at < 300; i++) {
		uint64_t size = sizes[i % (sizeof sizes / sizeof *sizes)];
		size = size < 300 - at ? size : 300 - at;
		at += size;
		if (size == 17)
			lib_run(server, at);
		else
			lib_step(server, size);
		cr_assert_eq(lib_steps(server), at);
	}
	uint64_t hash = troupe_server_hash(server);
	lib_destroy(server);
	return hash;
}

Test(library_steps, are_those_of_a_run)
{
	uint64_t hash = hash_of_run(0);
	for (int secondaries = 0; secondaries < 3; secondaries++) {
		cr_assert_eq(hash_of_run(secondaries), hash, "%d", secondaries);
		cr_assert_eq(hash_of_steps(lib_server(lib_all, secondaries)), hash, "%d", secondaries);
	}
	cr_assert_eq(hash_of_steps(lib_server(lib_all, TROUPE_SECONDARIES_AUTO)), hash);
}

/* "About one step of four" has a forced move; half of these, and some more, are to where the models are already. */
Test(library_steps, with_chaos_move_components_in_a_quarter_of_them)
{
	struct troupe_server_def def = lib_def(lib_all, 2);
	def.chaos = true;
	def.window = 1; /* a window has the moves of its steps at once */
	struct troupe_server *server = lib_create(&def);
	lib_step(server, 2000);
	uint64_t moves = troupe_server_progress(server).moves;
	cr_assert(moves > 215 && moves < 315, "%llu moves", (unsigned long long)moves);
	lib_destroy(server);
}

static void *run_secondary(void *arg)
{
	struct troupe_error error;
	troupe_status status = troupe_secondary_run(arg, &error);
	cr_assert_eq(status, TROUPE_OK, "%s", error.text);
	return NULL;
}

Test(library_steps, are_the_same_when_secondaries_are_elsewhere)
{
	uint64_t hash = hash_of_run(0);
	int theirs[2];
	struct troupe_secondary *secondaries[2];
	pthread_t threads[2];
	for (int i = 0; i < 2; i++) {
		int ends[2];
		must(troupe_network_pair(ends, &lib_error));
		theirs[i] = ends[1];
		const struct troupe_network network = {.sockets = &ends[0]};
		const struct troupe_secondary_def def = {.network = &network};
		must(troupe_secondary_create(&def, &secondaries[i], &lib_error));
		cr_assert_eq(pthread_create(&threads[i], NULL, run_secondary, secondaries[i]), 0);
	}
	const struct troupe_network network = {.secondaries = 2, .sockets = theirs};
	struct troupe_server_def def = lib_def(lib_all, 2);
	def.network = &network;
	cr_assert_eq(hash_of_steps(lib_create(&def)), hash);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		troupe_secondary_destroy(secondaries[i]);
	}
}

Test(library_steps, count_while_it_is_paused_and_time_stands_still)
{
	struct troupe_server_def def = lib_def(lib_all, 0);
	def.paused = true;
	struct troupe_server *server = lib_create(&def);
	troupe_model cart = lib_model(server, "cart");
	struct troupe_model_state before = lib_at(server, cart);
	uint64_t hash = troupe_server_hash(server);
	lib_step(server, 25);
	struct troupe_model_state after = lib_at(server, cart);
	cr_assert_eq(lib_steps(server), 25);
	cr_assert_eq(troupe_server_progress(server).time_s, 0);
	cr_assert_eq(troupe_server_hash(server), hash);
	cr_assert(!memcmp(&before.pose, &after.pose, sizeof before.pose));
	lib_text(server, 0, "/world/w/control", "multi_step: 10");
	lib_step(server, 25);
	cr_assert_eq(lib_steps(server), 50);
	assert_near(troupe_server_progress(server).time_s, 10 * LIB_DT_S, 1e-12, "simulated time");
	lib_destroy(server);
}

Test(library_steps, end_at_once_when_a_stop_was_asked_for)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	lib_step(server, 5);
	troupe_server_stop(server);
	lib_step(server, 1000000000);
	cr_assert_eq(lib_steps(server), 5);
	lib_step(server, 5);
	cr_assert_eq(lib_steps(server), 10);
	lib_step(server, 0);
	cr_assert_eq(lib_steps(server), 10);
}

static void stop_later(void *ctx, struct troupe_server *server, uint64_t step)
{
	(void)ctx;
	if (step == 40)
		troupe_server_stop(server);
}

Test(library_steps, more_than_can_be_counted_go_on_until_a_stop)
{
	struct troupe_server_def def = lib_def(lib_all, 0);
	def.on_step = stop_later;
	def.step_every = 10;
	struct troupe_server *server = lib_create(&def);
	lib_step(server, 7);
	lib_step(server, UINT64_MAX);
	cr_assert(lib_steps(server) >= 40 && lib_steps(server) <= 41, "%llu", (unsigned long long)lib_steps(server));
	lib_destroy(server);
}

Test(library_steps, end_with_the_models_name_when_it_diverges)
{
	struct troupe_server *server = lib_server(named_world("falls", NULL), 0);
	troupe_model stone = lib_model(server, "stone");
	refused(TROUPE_EDIVERGED, troupe_server_step(server, 10000, &lib_error));
	cr_assert(strstr(lib_error.text, "stone"), "%s", lib_error.text);
	/* the last good state stays, and can be read and saved */
	uint64_t steps = lib_steps(server), hash = troupe_server_hash(server);
	struct troupe_pose pose = lib_at(server, stone).pose;
	void *bytes;
	size_t count;
	cr_assert(steps > 10 && isfinite(pose.z) && pose.z < 0);
	must(troupe_server_pack(server, &bytes, &count, &lib_error));
	struct troupe_server_def def = troupe_server_def_default();
	def.resume_bytes = bytes;
	def.resume_count = count;
	struct troupe_server *other = lib_create(&def);
	cr_assert_eq(lib_steps(other), steps);
	cr_assert_eq(troupe_server_hash(other), hash);
	free(bytes);
	lib_destroy(other);
	lib_destroy(server);
}

/* As server.h says. */
Test(library_steps, has_the_defaults_that_are_written)
{
	const struct troupe_server_def def = troupe_server_def_default();
	cr_assert(def.costs_every == 100 && def.record_every == 1000);
	cr_assert_eq(def.secondaries, TROUPE_SECONDARIES_AUTO);
}

/* --- the scene ---------------------------------------------------------------------------------------------------- */

static const struct troupe_scene_model *model_in(const struct troupe_scene *scene, const char *name)
{
	for (uint32_t i = 0; i < scene->model_count; i++)
		if (!strcmp(scene->models[i].name, name))
			return &scene->models[i];
	return NULL;
}

static const struct troupe_scene_link *link_in(
	const struct troupe_scene *scene, const struct troupe_scene_model *model, const char *name)
{
	for (uint32_t i = 0; i < model->link_count; i++)
		if (!strcmp(scene->links[model->link_first + i].name, name))
			return &scene->links[model->link_first + i];
	cr_assert(false, "no link '%s' in '%s'", name, model->name);
	return NULL;
}

static const struct troupe_scene_joint *joint_in(const struct troupe_scene *scene, const char *model, const char *name)
{
	for (uint32_t i = 0; i < scene->joint_count; i++)
		if (!strcmp(scene->joints[i].name, name) && !strcmp(scene->models[scene->joints[i].model].name, model))
			return &scene->joints[i];
	cr_assert(false, "no joint '%s' in '%s'", name, model);
	return NULL;
}

static const struct troupe_form *shape_in(
	const struct troupe_scene *scene, const char *model, const char *link, const char *name)
{
	const struct troupe_scene_model *of = model_in(scene, model);
	cr_assert_not_null(of, "%s", model);
	const struct troupe_scene_link *on = link_in(scene, of, link);
	for (uint32_t i = 0; i < on->shape_count; i++)
		if (!strcmp(scene->shapes[on->shape_first + i].form->name, name))
			return scene->shapes[on->shape_first + i].form;
	cr_assert(false, "no shape '%s' on '%s' of '%s'", name, link, model);
	return NULL;
}

/* True of every scene: indices refer to entries that exist, and everything has a name and is in its order. */
static void assert_whole(const struct troupe_scene *scene)
{
	uint32_t links = 0, joints = 0, shapes = 0;
	cr_assert_leq(scene->mobile_count, scene->model_count);
	cr_assert_leq(scene->moving_links, scene->link_count);
	for (uint32_t i = 0; i < scene->model_count; i++) {
		const struct troupe_scene_model *model = &scene->models[i];
		cr_assert(lib_given(&model->handle) && *model->name);
		cr_assert_eq(model->is_static && !model->performer, i >= scene->mobile_count, "%s", model->name);
		cr_assert_eq(model->link_first, links, "%s", model->name);
		links += model->link_count;
		joints += model->joint_count;
		for (uint32_t l = model->link_first; l < links; l++) {
			cr_assert_eq(scene->links[l].model, i, "%s", scene->links[l].name);
			cr_assert_eq(scene->links[l].mass == 0, model->is_static, "%s", scene->links[l].name);
		}
		if (i + 1 == scene->mobile_count)
			cr_assert_eq(links, scene->moving_links);
		for (uint32_t j = 0; j < model->joint_count; j++)
			cr_assert_eq(scene->joints[model->joint_first + j].model, i);
	}
	cr_assert_eq(links, scene->link_count);
	cr_assert_leq(joints, scene->joint_count); /* the world's own joints come after those of the models */
	for (uint32_t l = 0; l < scene->link_count; l++) {
		const struct troupe_scene_link *link = &scene->links[l];
		bool visual = false;
		cr_assert(lib_given(&link->handle) && *link->name);
		cr_assert(!link->shape_count || link->shape_first == shapes);
		for (uint32_t s = 0; s < link->shape_count; s++) {
			const struct troupe_form *shape = scene->shapes[link->shape_first + s].form;
			cr_assert_eq(scene->shapes[link->shape_first + s].link, l);
			cr_assert(shape->name && !(visual && shape->collision), "collisions come first");
			visual |= !shape->collision;
		}
		shapes += link->shape_count;
	}
	cr_assert_eq(shapes, scene->shape_count);
	for (uint32_t j = 0; j < scene->joint_count; j++) {
		const struct troupe_scene_joint *joint = &scene->joints[j];
		cr_assert(lib_given(&joint->handle) && *joint->name);
		cr_assert(joint->parent == TROUPE_NONE || joint->parent < scene->link_count);
		cr_assert(joint->child == TROUPE_NONE || joint->child < scene->link_count);
		cr_assert_leq(joint->axis_count, 2);
	}
}

static const struct troupe_scene *scene_of(struct troupe_server *server)
{
	const struct troupe_scene *scene = troupe_server_scene(server, 0);
	cr_assert_not_null(scene);
	assert_whole(scene);
	return scene;
}

Test(library_scene, has_what_the_file_has)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	const struct troupe_scene *scene = scene_of(server);
	cr_assert_str_eq(scene->world, "w");
	cr_assert_eq(scene->model_count, 7);
	cr_assert_eq(scene->mobile_count, 6);
	cr_assert_str_eq(scene->models[0].name, "cart");
	cr_assert_str_eq(scene->models[1].name, "arm");
	cr_assert_str_eq(scene->models[6].name, "ground");
	cr_assert_eq(scene->models[1].link_count, 6);
	troupe_model arm = lib_model(server, "arm");
	troupe_link palm = lib_link(server, "arm", "hand::palm");
	troupe_joint knuckle = lib_joint(server, "arm", "hand::knuckle");
	cr_assert(same_handle(scene->models[1].handle, arm));
	cr_assert(same_handle(link_in(scene, &scene->models[1], "hand::palm")->handle, palm));
	cr_assert(same_handle(joint_in(scene, "arm", "hand::knuckle")->handle, knuckle));
	assert_near(link_in(scene, &scene->models[1], "base")->mass, 100, 0, "the base's mass");
	assert_near(link_in(scene, &scene->models[1], "hand::palm")->mass, 0.5, 0, "the palm's");
	troupe_scene_release(scene);
}

Test(library_scene, joints_have_parents_children_axes_and_limits)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	const struct troupe_scene *scene = scene_of(server);
	const struct troupe_scene_joint *grip = joint_in(scene, "arm", "grip"), *rail = joint_in(scene, "arm", "rail");
	const struct troupe_scene_joint *wheel = joint_in(scene, "cart", "left_joint");
	const struct troupe_scene_joint *tether = joint_in(scene, "swing", "tether");
	cr_assert_str_eq(scene->links[grip->parent].name, "fore");
	cr_assert_str_eq(scene->links[grip->child].name, "hand::palm");
	cr_assert_eq(grip->kind, TROUPE_JOINT_REVOLUTE);
	cr_assert_eq(rail->kind, TROUPE_JOINT_PRISMATIC);
	cr_assert_eq(grip->axis_count, 1);
	assert_near(grip->axis[0].direction.z, 1, 1e-12, "its axis");
	assert_near(grip->axis[0].lower, -2, 0, "lower");
	assert_near(grip->axis[0].upper, 3, 0, "upper");
	assert_near(grip->axis[0].velocity, 40, 0, "velocity");
	assert_near(grip->axis[0].effort, 50, 0, "effort");
	assert_near(wheel->axis[0].direction.y, 1, 1e-12, "the wheel's axis");
	cr_assert_eq(wheel->axis[0].lower, -INFINITY);
	cr_assert_eq(wheel->axis[0].upper, INFINITY);
	cr_assert_eq(wheel->axis[0].velocity, INFINITY);
	cr_assert_eq(wheel->axis[0].effort, INFINITY);
	cr_assert_eq(tether->parent, TROUPE_NONE);
	cr_assert_str_eq(scene->links[tether->child].name, "l");
	assert_near(fabs(tether->axis[0].direction.x), 1, 1e-12, "the tether's axis");
	troupe_scene_release(scene);
}

Test(library_scene, shapes_have_sizes_poses_and_colours)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	const struct troupe_scene *scene = scene_of(server);
	const struct troupe_form *box = shape_in(scene, "cart", "base", "c");
	const struct troupe_form *caster = shape_in(scene, "cart", "base", "caster");
	const struct troupe_form *visual = shape_in(scene, "cart", "base", "v");
	const struct troupe_form *plane = shape_in(scene, "ground", "l", "c");
	static const float given[4] = {0.25f, 0.5f, 0.75f, 0.5f}, plain[4] = {0.7f, 0.7f, 0.7f, 1};
	cr_assert(box->collision && caster->collision && !visual->collision);
	cr_assert_eq(box->kind, TROUPE_SHAPE_BOX);
	cr_assert(box->size.x == 0.6 && box->size.y == 0.4 && box->size.z == 0.2);
	cr_assert_eq(caster->kind, TROUPE_SHAPE_SPHERE);
	cr_assert(caster->size.x == 0.08 && caster->in_link.x == -0.2 && caster->in_link.z == -0.12);
	assert_near(caster->in_link.qw, 1, 1e-12, "not turned");
	cr_assert_eq(visual->kind, TROUPE_SHAPE_CYLINDER);
	cr_assert(visual->size.x == 0.1 && visual->size.z == 0.3);
	cr_assert(!memcmp(visual->colour, given, sizeof given));
	cr_assert(!memcmp(box->colour, plain, sizeof plain));
	cr_assert_eq(plane->kind, TROUPE_SHAPE_PLANE);
	cr_assert(plane->size.x == 9 && plane->size.y == 8 && plane->normal.z == 1);
	cr_assert(!box->uri && !box->path && !box->points);
	troupe_scene_release(scene);
}

static const char other_shapes[] = LIB_SDF(LIB_WORLD("w",
	"<model name='m'><static>true</static><pose>0 0 5 0 0 0</pose><link name='l'><collision "
	"name='capsule'><geometry><capsule><radius>0.2</radius><length>0.6</length></capsule></geometry></"
	"collision><collision "
	"name='cone'><geometry><cone><radius>0.3</radius><length>0.7</length></cone></geometry></collision><collision "
	"name='ellipsoid'><geometry><ellipsoid><radii>0.1 0.2 0.3</radii></ellipsoid></geometry></collision><collision "
	"name='line'><pose>1 2 3 0 0 0</pose><geometry><polyline><point>0 0</point><point>1 0</point><point>0 "
	"1</point><height>2</height></polyline></geometry></collision><collision "
	"name='mesh'><geometry><mesh><uri>sound.obj</uri><scale>2 2 2</scale></mesh></geometry></collision><visual "
	"name='seen'><geometry><mesh><uri>sound.obj</uri></mesh></geometry></visual></link></model>"));

/* The bounds of a shape's points. */
static void bounds_of(const struct troupe_form *shape, double low[3], double high[3])
{
	for (uint32_t a = 0; a < 3; a++) {
		low[a] = INFINITY;
		high[a] = -INFINITY;
		for (uint32_t i = 0; i < shape->point_count; i++) {
			low[a] = fmin(low[a], shape->points[3 * i + a]);
			high[a] = fmax(high[a], shape->points[3 * i + a]);
		}
	}
	for (uint32_t i = 0; i < 3 * shape->triangle_count; i++)
		cr_assert_lt(shape->triangles[i], shape->point_count);
}

/* The bounds of the vertices in the file. */
static void bounds_of_obj(const char *path, double low[3], double high[3])
{
	FILE *file = fopen(path, "r");
	char line[200];
	double v[3];
	cr_assert_not_null(file, "%s", path);
	for (int a = 0; a < 3; a++) {
		low[a] = INFINITY;
		high[a] = -INFINITY;
	}
	while (fgets(line, sizeof line, file))
		if (sscanf(line, "v %lf %lf %lf", &v[0], &v[1], &v[2]) == 3)
			for (int a = 0; a < 3; a++) {
				low[a] = fmin(low[a], v[a]);
				high[a] = fmax(high[a], v[a]);
			}
	(void)fclose(file);
}

Test(library_scene, shapes_of_every_kind_and_the_points_of_meshes)
{
	static const char *const paths[] = {SOURCE_DIR "/tests/data/mesh", NULL};
	struct troupe_server_def def = lib_def(other_shapes, 0);
	def.resource_paths = paths;
	struct troupe_server *server = lib_create(&def);
	const struct troupe_scene *scene = scene_of(server);
	const struct troupe_form *capsule = shape_in(scene, "m", "l", "capsule");
	const struct troupe_form *cone = shape_in(scene, "m", "l", "cone");
	const struct troupe_form *ellipsoid = shape_in(scene, "m", "l", "ellipsoid");
	const struct troupe_form *line = shape_in(scene, "m", "l", "line");
	const struct troupe_form *mesh = shape_in(scene, "m", "l", "mesh");
	const struct troupe_form *seen = shape_in(scene, "m", "l", "seen");
	double low[3], high[3], file_low[3], file_high[3];
	cr_assert(capsule->kind == TROUPE_SHAPE_CAPSULE && capsule->size.x == 0.2 && capsule->size.z == 0.6);
	cr_assert(cone->kind == TROUPE_SHAPE_CONE && cone->size.x == 0.3 && cone->size.z == 0.7);
	cr_assert(ellipsoid->kind == TROUPE_SHAPE_ELLIPSOID && ellipsoid->size.x == 0.1 && ellipsoid->size.y == 0.2 &&
		  ellipsoid->size.z == 0.3);
	cr_assert_eq(line->kind, TROUPE_SHAPE_POLYLINE);
	cr_assert(line->in_link.x == 1 && line->in_link.y == 2 && line->in_link.z == 3);
	cr_assert_geq(line->point_count, 6);
	bounds_of(line, low, high);
	cr_assert(low[0] == 0 && low[1] == 0 && high[0] == 1 && high[1] == 1 && high[2] - low[2] == 2);
	cr_assert_eq(mesh->kind, TROUPE_SHAPE_MESH);
	cr_assert(mesh->size.x == 2 && mesh->size.y == 2 && mesh->size.z == 2);
	cr_assert_str_eq(mesh->uri, "sound.obj");
	cr_assert_str_eq(mesh->path, SOURCE_DIR "/tests/data/mesh/sound.obj");
	cr_assert_str_eq(seen->uri, "sound.obj");
	cr_assert_str_eq(seen->path, SOURCE_DIR "/tests/data/mesh/sound.obj");
	cr_assert_null(seen->points);
	if (mesh->points) { /* there are no points in a build without meshes */
		bounds_of(mesh, low, high);
		bounds_of_obj(mesh->path, file_low, file_high);
		for (int a = 0; a < 3; a++) {
			assert_near(low[a], 2 * file_low[a], 1e-6, "the file's least coordinate, scaled");
			assert_near(high[a], 2 * file_high[a], 1e-6, "the greatest");
		}
	}
	troupe_scene_release(scene);
	lib_destroy(server);
}

static const struct troupe_scene *changed(struct troupe_server *server, const struct troupe_scene *before,
	const char *topic, const char *text, bool changes)
{
	lib_text(server, 0, topic, text);
	lib_step(server, 2);
	const struct troupe_scene *scene = scene_of(server);
	cr_assert_eq(scene->epoch > before->epoch, changes, "%s %s: %llu, then %llu", topic, text,
		(unsigned long long)before->epoch, (unsigned long long)scene->epoch);
	cr_assert_geq(scene->epoch, before->epoch);
	if (!changes)
		cr_assert_eq(scene, before, "a scene without changes is made again");
	troupe_scene_release(before);
	return scene;
}

static const char guest[] = "sdf: \"<sdf version='1.11'>" LIB_MODEL("guest", "20 0 0.25 0 0 0", LIB_BOX) "</sdf>\"";

Test(library_scene, has_an_epoch_that_grows_when_models_change)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	const struct troupe_scene *scene = scene_of(server);
	scene = changed(server, scene, "/model/cart/cmd_vel", "linear: {x: 1}", false);
	scene = changed(server, scene, "/world/w/create", guest, true);
	const struct troupe_scene_model *made = model_in(scene, "guest");
	cr_assert_not_null(made);
	cr_assert_str_eq(scene->models[6].name, "guest"); /* in the lowest place that is free */
	cr_assert_eq(scene->mobile_count, 7);
	cr_assert_not(made->performer);
	scene = changed(server, scene, "/world/w/set_pose", "name: 'guest' position {x: 30 z: 0.25}", false);
	scene = changed(server, scene, "/world/w/level/set_performer", "data: 'guest' size {x: 1 y: 1 z: 1}", true);
	cr_assert(model_in(scene, "guest")->performer);
	scene = changed(server, scene, "/world/w/remove", "name: 'crate' type: MODEL", true);
	cr_assert_null(model_in(scene, "crate"));
	cr_assert_eq(scene->mobile_count, 6);
	scene = changed(server, scene, "/world/w/remove", "name: 'crate' type: MODEL", false);
	scene = changed(server, scene, "/world/w/control", "reset: {all: true}", true);
	cr_assert_not_null(model_in(scene, "crate"));
	cr_assert_null(model_in(scene, "guest"));
	troupe_scene_release(scene);
}

Test(library_scene, may_outlive_the_server)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	const struct troupe_scene *old = scene_of(server), *again = scene_of(server);
	lib_text(server, 0, "/world/w/create", guest);
	lib_step(server, 2);
	const struct troupe_scene *new = scene_of(server);
	lib_destroy(server);
	assert_whole(old);
	assert_whole(new);
	cr_assert_eq(new->model_count, old->model_count + 1);
	troupe_scene_release(again);
	assert_whole(old);
	troupe_scene_release(old);
	troupe_scene_release(new);
}

struct asking {
	struct troupe_server *server;
	bool first, second;
};

/* No snapshot was requested before the run: the end of the first step after the request gives it. */
static void ask_late(void *ctx, struct troupe_server *server, uint64_t step)
{
	struct asking *asking = ctx;
	const struct troupe_scene *scene = troupe_server_scene(server, 0);
	if (step == 10)
		asking->first = scene != NULL;
	if (step == 20)
		asking->second = scene != NULL;
	troupe_scene_release(scene);
}

Test(library_scene, is_there_after_a_step_when_the_first_question_comes_in_a_run)
{
	for (int secondaries = 0; secondaries < 3; secondaries++) {
		struct asking asking = {.first = false};
		struct troupe_server_def def = lib_def(lib_all, secondaries);
		def.step_every = 10;
		def.on_step = ask_late;
		def.ctx = &asking;
		struct troupe_server *server = lib_create(&def);
		lib_run(server, 30);
		cr_assert(!asking.first && asking.second);
		lib_destroy(server);
		/* and at once when it was requested before */
		server = lib_create(&def);
		troupe_scene_release(troupe_server_scene(server, 0));
		lib_run(server, 30);
		cr_assert(asking.first);
		lib_destroy(server);
	}
	troupe_scene_release(NULL);
}

Test(library_scene, of_no_world_is_none)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	cr_assert_null(troupe_server_scene(server, 1));
	cr_assert_null(troupe_server_scene(server, UINT32_MAX));
	cr_assert_null(troupe_server_world_name(server, 1));
	cr_assert_eq(troupe_server_world_count(server), 1);
}

/* --- snapshots ---------------------------------------------------------------------------------------------------- */

struct seen {
	const struct troupe_server *server; /* the snapshot must show its present state; NULL: not compared */
	uint64_t step, epoch;
	double time_s;
	bool paused;
	int calls;
};

static void assert_same_twist(const struct troupe_twist *a, const struct troupe_twist *b)
{
	cr_assert(!memcmp(a, b, sizeof *a));
}

/* The state is the same by index, by handle, and without a snapshot. */
static void see_all(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct seen *seen = ctx;
	const struct troupe_scene *scene = snapshot->scene;
	assert_whole(scene);
	cr_assert_eq(snapshot->model_count, scene->mobile_count);
	cr_assert_eq(snapshot->link_count, scene->moving_links);
	cr_assert_eq(snapshot->joint_count, scene->joint_count);
	cr_assert_eq(snapshot->sensor_count, scene->sensor_count);
	cr_assert_str_eq(snapshot->world, scene->world);
	for (uint32_t i = 0; i < snapshot->model_count; i++) {
		struct troupe_model_state state = snapshot->models[i];
		struct troupe_odometry odometry = snapshot->odometry[i];
		cr_assert_eq(state.name, scene->models[i].name);
		cr_assert_eq(troupe_snapshot_model(snapshot, scene->models[i].handle), &snapshot->models[i]);
		if (!seen->server)
			continue;
		state = lib_at(seen->server, scene->models[i].handle);
		cr_assert(!memcmp(&state.pose, &snapshot->models[i].pose, sizeof state.pose), "%s", state.name);
		assert_same_twist(&state.twist, &snapshot->models[i].twist);
		cr_assert_str_eq(state.name, snapshot->models[i].name);
		cr_assert(state.asleep == snapshot->models[i].asleep && state.loaded == snapshot->models[i].loaded &&
			  state.secondary == snapshot->models[i].secondary);
		cr_assert_eq(troupe_get_odometry(seen->server, scene->models[i].handle, &odometry),
			snapshot->odometry[i].given);
		cr_assert(odometry.x == snapshot->odometry[i].x && odometry.yaw == snapshot->odometry[i].yaw);
	}
	for (uint32_t i = 0; i < snapshot->link_count; i++) {
		cr_assert_eq(troupe_snapshot_link(snapshot, scene->links[i].handle), &snapshot->links[i]);
		if (!seen->server)
			continue;
		struct troupe_link_state state = lib_link_at(seen->server, scene->links[i].handle);
		cr_assert(!memcmp(&state, &snapshot->links[i], sizeof state), "%s", scene->links[i].name);
	}
	for (uint32_t i = snapshot->link_count; i < scene->link_count; i++)
		cr_assert_null(troupe_snapshot_link(snapshot, scene->links[i].handle), "static: no state");
	for (uint32_t i = 0; i < snapshot->joint_count; i++) {
		cr_assert_eq(troupe_snapshot_joint(snapshot, scene->joints[i].handle), &snapshot->joints[i]);
		if (!seen->server)
			continue;
		struct troupe_joint_state state = lib_joint_at(seen->server, scene->joints[i].handle);
		cr_assert(!memcmp(&state, &snapshot->joints[i], sizeof state), "%s", scene->joints[i].name);
	}
	for (uint32_t i = 0; i < snapshot->sensor_count; i++) {
		struct troupe_reading reading;
		cr_assert_eq(troupe_snapshot_sensor(snapshot, scene->sensors[i].handle), &snapshot->readings[i]);
		if (!seen->server)
			continue;
		bool given = troupe_get_sensor(seen->server, scene->sensors[i].handle, &reading);
		cr_assert_eq(given, snapshot->readings[i].given);
		cr_assert(!given || !memcmp(&reading.numbers, &snapshot->readings[i].numbers, sizeof reading.numbers));
	}
	seen->step = snapshot->step;
	seen->time_s = snapshot->time_s;
	seen->paused = snapshot->paused;
	seen->epoch = scene->epoch;
	seen->calls++;
}

Test(library_snapshot, is_the_present_state_between_runs)
{
	for (int secondaries = 0; secondaries < 3; secondaries++) {
		struct troupe_server *server = lib_server(lib_all, secondaries);
		struct seen seen = {.server = server};
		see(server, see_all, &seen);
		cr_assert_eq(seen.step, 0);
		cr_assert_eq(seen.time_s, 0);
		drive(server);
		for (int i = 0; i < 12; i++) {
			lib_step(server, 25);
			see(server, see_all, &seen);
			cr_assert_eq(seen.step, lib_steps(server));
			cr_assert_eq(seen.time_s, troupe_server_progress(server).time_s);
			cr_assert_eq(
				seen.paused, seen.step > 100 && seen.step < 170, "%llu", (unsigned long long)seen.step);
		}
		lib_text(server, 0, "/world/w/create", guest);
		lib_text(server, 0, "/world/w/remove", "name: 'cart' type: MODEL");
		lib_step(server, 2);
		see(server, see_all, &seen);
		cr_assert_eq(seen.calls, 14);
		lib_destroy(server);
	}
}

/* The velocities in state k + 1 led from the positions of state k to those of state k + 1. */
static void assert_velocity(const char *what, const struct troupe_pose *from, const struct troupe_pose *to,
	const struct troupe_twist *twist, double within)
{
	const struct troupe_vec3 found = {
		(to->x - from->x) / LIB_DT_S, (to->y - from->y) / LIB_DT_S, (to->z - from->z) / LIB_DT_S};
	double w = to->qw * from->qw + to->qx * from->qx + to->qy * from->qy + to->qz * from->qz;
	/* to * from^-1: a small turn about the world's axes */
	struct troupe_vec3 turn = {to->qx * from->qw - to->qw * from->qx + to->qz * from->qy - to->qy * from->qz,
		to->qy * from->qw - to->qw * from->qy + to->qx * from->qz - to->qz * from->qx,
		to->qz * from->qw - to->qw * from->qz + to->qy * from->qx - to->qx * from->qy};
	double rate = (w < 0 ? -2 : 2) / LIB_DT_S;
	char text[80];
	(void)snprintf(text, sizeof text, "%s, linear", what);
	assert_near(found.x, twist->linear.x, within, text);
	assert_near(found.y, twist->linear.y, within, text);
	assert_near(found.z, twist->linear.z, within, text);
	(void)snprintf(text, sizeof text, "%s, angular", what);
	assert_near(turn.x * rate, twist->angular.x, within, text);
	assert_near(turn.y * rate, twist->angular.y, within, text);
	assert_near(turn.z * rate, twist->angular.z, within, text);
}

Test(library_snapshot, twists_are_what_moved_models_and_links)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	static const struct {
		const char *model, *link;
	} links[] = {{"cart", "base"}, {"cart", "left"}, {"arm", "hand::finger"}, {"falling", "l"}, {"swing", "l"}};
	enum { LINKS = sizeof links / sizeof *links };
	struct troupe_pose before[2][LINKS];
	troupe_link handles[LINKS];
	troupe_model models[LINKS];
	for (int i = 0; i < LINKS; i++) {
		handles[i] = lib_link(server, links[i].model, links[i].link);
		models[i] = lib_model(server, links[i].model);
	}
	lib_text(server, 0, "/model/cart/cmd_vel", "linear: {x: 0.5} angular: {z: 0.4}");
	lib_text(server, 0, "/model/arm/joint/elbow/cmd_vel", "data: 0.7");
	for (int at = 0; at < 4; at++) {
		lib_step(server, 150);
		for (int i = 0; i < LINKS; i++) {
			before[0][i] = lib_link_at(server, handles[i]).pose;
			before[1][i] = lib_at(server, models[i]).pose;
		}
		lib_step(server, 1);
		for (int i = 0; i < LINKS; i++) {
			struct troupe_link_state link = lib_link_at(server, handles[i]);
			struct troupe_model_state model = lib_at(server, models[i]);
			/* a frame beside its body's centre moves on an arc: the error is of second order in the time
			 * step */
			assert_velocity(links[i].link, &before[0][i], &link.pose, &link.twist, 2e-3);
			assert_velocity(links[i].model, &before[1][i], &model.pose, &model.twist, 2e-3);
		}
	}
	cr_assert(lib_at(server, models[0]).twist.linear.x > 0.1);
	cr_assert(lib_link_at(server, lib_link(server, "arm", "upper")).twist.angular.z > 0.5);
}

/* A body of 1 kg turns at a known rate: the frame of a link 1 m beside it moves as a part of a rigid body. */
Test(library_snapshot, the_twist_of_a_frame_beside_its_body_is_the_rigid_ones)
{
	static const char world[] =
		LIB_SDF("<world name='w'><gravity>0 0 0</gravity>" LIB_HEAD
			"<model name='m'><pose>0 0 5 0 0 0</pose><link name='l'><inertial><pose>1 0 0 0 0 "
			"0</pose><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></"
			"link>" LIB_DRIVEN "</model></world>");
	struct troupe_server *server = lib_server(world, 0);
	troupe_model model = lib_model(server, "m");
	lib_text(server, 0, "/model/m/cmd_vel", "angular: {z: 2}");
	lib_step(server, 50);
	struct troupe_model_state state = lib_at(server, model);
	assert_near(state.twist.angular.z, 2, 1e-6, "rate");
	/* VelocityControl commands the velocity of the model's frame */
	struct troupe_link_state link = lib_link_at(server, lib_link(server, "m", "l"));
	assert_same_twist(&state.twist, &link.twist);
	struct troupe_pose before = state.pose;
	lib_step(server, 1);
	state = lib_at(server, model);
	assert_velocity("m", &before, &state.pose, &state.twist, 1e-2);
}

Test(library_snapshot, odometry_is_that_of_dead_reckoning)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	troupe_model cart = lib_model(server, "cart");
	struct troupe_odometry odometry;
	lib_step(server, 500); /* settles */
	cr_assert(troupe_get_odometry(server, cart, &odometry));
	cr_assert(odometry.given);
	struct troupe_odometry begin = odometry;
	struct troupe_pose from = lib_at(server, cart).pose;
	const struct troupe_twist twist = {{0.5, 0, 0}, {0, 0, 0.2}};
	must(troupe_command_twist(server, NULL, cart, &twist, NULL, &lib_error));
	lib_step(server, 2000);
	cr_assert(troupe_get_odometry(server, cart, &odometry));
	struct troupe_model_state state = lib_at(server, cart);
	assert_near(odometry.linear, 0.5, 0.02, "measured speed");
	assert_near(odometry.angular, 0.2, 0.02, "measured rate");
	/* the odometry is that of the middle of the axle, 0.1 m before the model's origin */
	double yaw = 2 * atan2(state.pose.qz, state.pose.qw);
	assert_near(odometry.x - begin.x, state.pose.x - from.x + 0.1 * (cos(yaw) - 1), 0.05, "x");
	assert_near(odometry.y - begin.y, state.pose.y - from.y + 0.1 * sin(yaw), 0.05, "y");
	assert_near(odometry.yaw, yaw, 0.05, "yaw");
	assert_near(odometry.drift_m,
		hypot(odometry.x - (state.pose.x + 0.1 * cos(yaw) - 0.1), odometry.y - (state.pose.y + 0.1 * sin(yaw))),
		5e-3, "drift");
	assert_near(odometry.tilt_rad, 0, 0.02, "tilt");
	cr_assert(troupe_get_odometry(server, lib_model(server, "crate"), &odometry) == false);
	lib_destroy(server);
}

Test(library_snapshot, joints_count_turns_and_know_their_speed)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	troupe_joint wheel = lib_joint(server, "cart", "left_joint");
	lib_text(server, 0, "/model/cart/cmd_vel", "linear: {x: 1.5}");
	lib_step(server, 2000);
	struct troupe_joint_state before = lib_joint_at(server, wheel);
	lib_step(server, 1);
	struct troupe_joint_state after = lib_joint_at(server, wheel);
	cr_assert(after.position[0] > 10, "%g: more than a turn", after.position[0]);
	assert_near(after.velocity[0], (after.position[0] - before.position[0]) / LIB_DT_S, 1e-3, "velocity");
	assert_near(after.velocity[0], 10, 0.2, "1.5 m/s on wheels of 0.15 m");
	cr_assert(after.effort[0] == 0 && after.position[1] == 0 && after.velocity[1] == 0);
}

/* Inside on_step a program reads the present state at once, while snapshots come later. */
static void look_in_step(void *ctx, struct troupe_server *server, uint64_t step)
{
	struct seen *seen = ctx;
	int calls = seen->calls;
	seen->server = server;
	troupe_server_look(server, see_all, seen);
	cr_assert_eq(seen->calls, calls + 1);
	cr_assert_eq(seen->step, step);
}

Test(library_snapshot, is_the_present_state_when_looked_at_between_steps)
{
	for (int secondaries = 0; secondaries < 3; secondaries++) {
		struct seen seen = {.calls = 0};
		struct troupe_server_def def = lib_def(lib_all, secondaries);
		def.step_every = 7;
		def.on_step = look_in_step;
		def.ctx = &seen;
		struct troupe_server *server = lib_create(&def);
		drive(server);
		lib_text(server, 50, "/world/w/create", guest);
		lib_text(server, 70, "/world/w/remove", "name: 'cart' type: MODEL");
		lib_run(server, 140);
		cr_assert_eq(seen.calls, 140 / 7);
		look_in_step(&seen, server, 140);
		lib_destroy(server);
	}
}

Test(library_snapshot, time_goes_on_by_the_length_of_a_step)
{
	struct troupe_server *server = lib_server(two_worlds, 1);
	assert_near(troupe_server_step_s(server, 0), LIB_DT_S, 1e-15, "the file's");
	cr_assert_eq(troupe_server_step_s(server, 2), 0);
	lib_step(server, 5);
	lib_text(server, 0, "/world/one/set_physics", "max_step_size: 0.004");
	lib_step(server, 1);
	double before = troupe_server_progress(server).time_s;
	lib_step(server, 10);
	assert_near(troupe_server_progress(server).time_s - before, 0.04, 1e-12, "ten steps of the new length");
	assert_near(troupe_server_step_s(server, 0), 0.004, 1e-15, "the new time step");
	assert_near(troupe_server_step_s(server, 1), LIB_DT_S, 1e-15, "the time step of the other world");
}

static struct troupe_server *observing(uint32_t observe, int secondaries)
{
	struct troupe_server_def def = lib_def(lib_all, secondaries);
	def.observe = observe;
	return lib_create(&def);
}

struct touching {
	uint32_t crate_on_ground, pusher_on_crate, all;
	struct troupe_vec3 crate;
};

static bool is_of(const struct troupe_scene *scene, uint32_t shape, const char *model)
{
	cr_assert_lt(shape, scene->shape_count);
	cr_assert(scene->shapes[shape].form->collision);
	return !strcmp(scene->models[scene->links[scene->shapes[shape].link].model].name, model);
}

/* The direction of the normal: 1 from this model's shape to the other model's, -1 the other way; 0: the contact is of
 * another pair. */
static int from_to(
	const struct troupe_scene *scene, const struct troupe_contact *contact, const char *from, const char *to)
{
	if (is_of(scene, contact->shapes[0], to) && is_of(scene, contact->shapes[1], from))
		return 1;
	return is_of(scene, contact->shapes[1], to) && is_of(scene, contact->shapes[0], from) ? -1 : 0;
}

/* All contacts of two shapes follow one another. */
static void assert_in_pairs(const struct troupe_snapshot *snapshot)
{
	for (uint32_t i = 1; i < snapshot->contact_count; i++)
		for (uint32_t j = 0; j + 1 < i; j++) {
			const uint32_t *a = snapshot->contacts[j].shapes, *b = snapshot->contacts[i].shapes;
			const uint32_t *between = snapshot->contacts[i - 1].shapes;
			cr_assert(a[0] != b[0] || a[1] != b[1] || (a[0] == between[0] && a[1] == between[1]));
			cr_assert(a[0] != b[1] || a[1] != b[0], "two shapes in both orders");
		}
}

static void see_contacts(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct touching *touching = ctx;
	*touching = (struct touching){.all = snapshot->contact_count, .crate = touching->crate};
	assert_in_pairs(snapshot);
	for (uint32_t i = 0; i < snapshot->contact_count; i++) {
		const struct troupe_contact *c = &snapshot->contacts[i];
		assert_near(hypot(hypot(c->normal.x, c->normal.y), c->normal.z), 1, 1e-9, "normal");
		cr_assert(c->depth >= 0 && c->depth < 0.01, "%g", c->depth);
		int up = from_to(snapshot->scene, c, "ground", "crate");
		int ahead = from_to(snapshot->scene, c, "pusher", "crate");
		touching->crate_on_ground += up != 0;
		touching->pusher_on_crate += ahead != 0;
		if (up) {
			assert_near(c->normal.z, up, 1e-9, "the normal points out of the ground");
			assert_near(c->position.z, 0, 2e-3, "the contact is on the ground");
			assert_near(fabs(c->position.x - touching->crate.x), 0.25, 5e-3,
				"the contact is at a corner of the crate");
			assert_near(fabs(c->position.y - touching->crate.y), 0.25, 5e-3,
				"the contact is at a corner of the crate");
		}
		if (ahead)
			assert_near(c->normal.x, ahead, 1e-2, "the normal points from the pusher into the crate");
	}
}

static void look_at_contacts(struct troupe_server *server, struct touching *ret_touching)
{
	troupe_model crate = troupe_find_model(server, 0, "crate");
	struct troupe_model_state state = {.pose.qw = 1};
	(void)troupe_get_model(server, crate, &state);
	ret_touching->crate = (struct troupe_vec3){state.pose.x, state.pose.y, state.pose.z};
	see(server, see_contacts, ret_touching);
}

static const char sensing[] = LIB_SDF(LIB_WORLD("w",
	LIB_MODEL("cold", "9 9 9 0 0 0", "<link name='l'/>") LIB_MODEL("drop", "0 0 50 0 0 0",
		LIB_BOX
		"<link name='arm'><pose>0 0 1 0 0 0</pose><sensor name='height' "
		"type='altimeter'><update_rate>100</update_rate></sensor><sensor name='eye' "
		"type='sonar'/></link><joint name='j' type='fixed'><parent>l</parent><child>arm</child><sensor "
		"name='force' type='force_torque'/></joint>") "<model name='post'><static>true</static><pose>1 2 "
							      "3 0 0 0</pose><link name='l'><sensor name='air' "
							      "type='air_pressure'><update_rate>50</update_rate></"
							      "sensor></link></model>"));

static void assert_fell(const struct troupe_reading *reading, uint64_t step)
{
	cr_assert(reading->given);
	cr_assert_eq(reading->step, step);
	assert_near(reading->time_s, (double)step * LIB_DT_S, 1e-9, "time");
	assert_near(reading->numbers[1], -9.8 * reading->time_s, 1e-9, "climb");
	cr_assert(isnan(reading->numbers[2]), "an altimeter has two numbers");
}

Test(library_snapshot, readings_are_the_last_samples_of_held_sensors)
{
	for (int secondaries = 0; secondaries < 3; secondaries++) {
		struct seen seen = {.calls = 0};
		struct troupe_reading reading;
		struct troupe_server *server = lib_server(sensing, secondaries);
		seen.server = server;
		troupe_sensor height = troupe_find_sensor(server, lib_model(server, "drop"), "arm::height");
		troupe_sensor again = troupe_find_sensor(server, lib_model(server, "drop"), "drop::arm::height");
		troupe_sensor air = troupe_find_sensor(server, lib_model(server, "post"), "l::air"), none = {0};
		troupe_sensor eye = troupe_find_sensor(server, lib_model(server, "drop"), "arm::eye");
		cr_assert(lib_given(&height) && same_handle(height, again) && lib_given(&air) && lib_given(&eye));
		again = troupe_find_sensor(server, lib_model(server, "drop"), "height");
		cr_assert(!lib_given(&again) && !troupe_hold_sensor(server, none, true));
		cr_assert(!troupe_hold_sensor(server, eye, true), "sonars are not simulated");
		lib_step(server, 20);
		cr_assert(!troupe_get_sensor(server, height, &reading), "not held: not measured");
		cr_assert(troupe_hold_sensor(server, height, true) && troupe_hold_sensor(server, air, true));
		lib_step(server, 35);
		cr_assert(troupe_get_sensor(server, height, &reading));
		assert_fell(&reading, 50);
		cr_assert(troupe_get_sensor(server, air, &reading));
		cr_assert_eq(reading.step, 40, "%g", (double)reading.step);
		assert_near(reading.numbers[0], 101289, 1, "the pressure at 3 m");
		troupe_server_look(server, see_all, &seen);
		/* what clients subscribe to has no effect on what is held */
		struct troupe_client *client;
		must(troupe_client_create(server, &(struct troupe_client_def){.depth = 4}, &client, &lib_error));
		must(troupe_client_subscribe(client, "/clock", 0, &lib_error));
		lib_step(server, 10);
		troupe_client_destroy(client);
		lib_step(server, 10);
		cr_assert(troupe_get_sensor(server, height, &reading));
		assert_fell(&reading, 70);
		cr_assert(troupe_hold_sensor(server, height, false));
		lib_step(server, 10);
		cr_assert(!troupe_get_sensor(server, height, &reading));
		lib_text(server, 0, "/world/w/remove", "name: 'post' type: MODEL");
		lib_step(server, 2);
		cr_assert(!troupe_get_sensor(server, air, &reading) && !troupe_hold_sensor(server, air, true), "stale");
		troupe_server_look(server, see_all, &seen);
		lib_destroy(server);
	}
}

static void see_sensors(void *ctx, const struct troupe_snapshot *snapshot)
{
	const struct troupe_scene *scene = snapshot->scene;
	(void)ctx;
	cr_assert_eq(scene->sensor_count, 4);
	const struct troupe_scene_sensor *of = scene->sensors;
	cr_assert_str_eq(of[0].name, "arm::height");
	cr_assert_str_eq(of[0].type, "altimeter");
	cr_assert_str_eq(scene->models[of[0].model].name, "drop");
	cr_assert_str_eq(scene->links[of[0].link].name, "arm");
	cr_assert(of[0].number_count == 2 && of[0].joint == TROUPE_NONE && of[0].rate_hz == 100);
	cr_assert(!strcmp(of[0].numbers[0], "z") && !strcmp(of[0].numbers[1], "vz"));
	cr_assert(!strcmp(of[1].type, "sonar") && of[1].number_count == 0);
	cr_assert(!strcmp(of[2].name, "j::force") && of[2].link == TROUPE_NONE && of[2].number_count == 6);
	cr_assert_str_eq(scene->joints[of[2].joint].name, "j");
	cr_assert_str_eq(scene->models[of[3].model].name, "post");
	for (uint32_t i = 0; i < 4; i++)
		cr_assert_not(snapshot->readings[i].given);
}

Test(library_scene, has_the_sensors_of_all_models)
{
	struct troupe_server *server = lib_server(sensing, 1);
	uint64_t epoch = troupe_server_scene_epoch(server, 0);
	cr_assert(epoch && !troupe_server_scene_epoch(server, 1));
	troupe_server_look(server, see_sensors, NULL);
	lib_text(server, 0, "/world/w/remove", "name: 'cold' type: MODEL");
	lib_step(server, 1);
	cr_assert_gt(troupe_server_scene_epoch(server, 0), epoch);
	troupe_server_look(server, see_sensors, NULL);
}

Test(library_snapshot, contacts_are_those_of_what_touches)
{
	for (int secondaries = 0; secondaries < 3; secondaries++) {
		struct troupe_server *server = observing(TROUPE_OBSERVE_CONTACTS, secondaries);
		struct touching touching;
		lib_step(server, 300);
		look_at_contacts(server, &touching);
		cr_assert_eq(touching.crate_on_ground, 4);
		cr_assert_eq(touching.pusher_on_crate, 0);
		lib_step(server, 1000); /* the crate falls asleep, and still stands there */
		cr_assert(lib_at(server, lib_model(server, "crate")).asleep);
		look_at_contacts(server, &touching);
		cr_assert_eq(touching.crate_on_ground, 4);
		lib_text(server, 0, "/model/pusher/cmd_vel", "linear: {x: 1}");
		lib_step(server, 1300);
		look_at_contacts(server, &touching);
		cr_assert_gt(touching.pusher_on_crate, 0);
		lib_text(server, 0, "/world/w/remove", "name: 'crate' type: MODEL");
		lib_step(server, 1);
		look_at_contacts(server, &touching);
		cr_assert(touching.all && !touching.crate_on_ground && !touching.pusher_on_crate);
		lib_destroy(server);
	}
}

struct kept_contacts {
	struct troupe_contact at[256];
	uint32_t count;
};

static void keep_contacts(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct kept_contacts *kept = ctx;
	cr_assert_leq(snapshot->contact_count, 256);
	kept->count = snapshot->contact_count;
	memcpy(kept->at, snapshot->contacts, kept->count * sizeof *kept->at);
}

Test(library_snapshot, contacts_are_the_same_for_any_number_of_secondaries)
{
	struct kept_contacts kept[3];
	for (int secondaries = 0; secondaries < 3; secondaries++) {
		struct troupe_server *server = observing(TROUPE_OBSERVE_CONTACTS, secondaries);
		drive(server);
		lib_step(server, 2000);
		see(server, keep_contacts, &kept[secondaries]);
		lib_destroy(server);
		cr_assert(kept[secondaries].count && kept[secondaries].count == kept[0].count);
		cr_assert(!memcmp(kept[secondaries].at, kept[0].at, kept[0].count * sizeof *kept[0].at));
	}
}

static void see_nothing_observed(void *ctx, const struct troupe_snapshot *snapshot)
{
	(void)ctx;
	cr_assert_eq(snapshot->contact_count, 0);
	for (uint32_t i = 0; i < snapshot->joint_count; i++)
		cr_assert(snapshot->joints[i].effort[0] == 0 && snapshot->joints[i].effort[1] == 0);
}

Test(library_snapshot, observing_changes_no_bit_and_costs_nothing_unasked)
{
	uint64_t hash = hash_of_run(0);
	for (uint32_t observe = 0; observe < 4; observe++) {
		struct troupe_server *server = observing(observe, (int)observe % 3);
		drive(server);
		lib_step(server, 300);
		cr_assert_eq(troupe_server_hash(server), hash, "%u", observe);
		if (!observe)
			see(server, see_nothing_observed, NULL);
		lib_destroy(server);
	}
}

Test(library_snapshot, efforts_are_what_accelerates)
{
	struct troupe_server *server = observing(TROUPE_OBSERVE_EFFORTS, 1);
	troupe_joint rail = lib_joint(server, "arm", "rail"), elbow = lib_joint(server, "arm", "elbow");
	lib_step(server, 100);
	double before = lib_joint_at(server, rail).velocity[0];
	assert_near(lib_joint_at(server, elbow).effort[0], 0, 1e-6, "the effort of a joint without a command");
	must(troupe_command_joint(
		server, NULL, rail, 20, NULL, &lib_error)); /* the joint carries 1 kg along the vertical */
	lib_step(server, 1);
	struct troupe_joint_state state = lib_joint_at(server, rail);
	assert_near(state.effort[0], 20, 1e-6, "effort");
	assert_near((state.velocity[0] - before) / LIB_DT_S, 20 - 9.8, 0.2, "acceleration");
}

/* --- the report --------------------------------------------------------------------------------------------------- */

/* The value of the first member of this name. */
static double member(const char *json, const char *name)
{
	char key[64];
	(void)snprintf(key, sizeof key, "\"%s\": ", name);
	const char *at = strstr(json, key);
	cr_assert_not_null(at, "%s in %s", name, json);
	return strtod(at + strlen(key), NULL);
}

struct compared {
	const struct troupe_report_world *world;
	int calls;
};

static void compare_with_report(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct compared *compared = ctx;
	const struct troupe_report_world *world = &compared->world[compared->calls++];
	cr_assert_str_eq(world->name, snapshot->world);
	cr_assert_eq(world->steps, snapshot->step);
	cr_assert_eq(world->simulated_s, snapshot->time_s);
	cr_assert_eq(world->scene->epoch, snapshot->scene->epoch);
	cr_assert_eq(world->scene->mobile_count, snapshot->model_count);
	for (uint32_t i = 0; i < snapshot->model_count; i++) {
		cr_assert_str_eq(world->models[i].name, snapshot->models[i].name);
		cr_assert(!memcmp(&world->models[i].pose, &snapshot->models[i].pose, sizeof world->models[i].pose));
		cr_assert(!memcmp(&world->models[i].twist, &snapshot->models[i].twist, sizeof world->models[i].twist));
		cr_assert_eq(world->odometry[i].given, snapshot->odometry[i].given);
	}
	for (uint32_t i = 0; i < snapshot->joint_count; i++)
		cr_assert(!memcmp(
			&world->joints[i].position, &snapshot->joints[i].position, sizeof world->joints[i].position));
}

Test(library_report, is_the_snapshot_and_the_hash)
{
	for (int secondaries = 0; secondaries < 3; secondaries++) {
		struct troupe_server *server = lib_server(lib_all, secondaries);
		drive(server);
		lib_text(server, 50, "/world/w/create", guest);
		lib_text(server, 60, "/world/w/remove", "name: 'crate' type: MODEL");
		lib_text(server, 70, "/world/w/remove", "name: 'nobody' type: MODEL");
		lib_text(server, 1000, "/world/w/remove", "name: 'guest' type: MODEL");
		lib_step(server, 300);
		struct troupe_report *report = troupe_server_report(server);
		cr_assert_not_null(report);
		cr_assert_eq(report->steps, 300);
		cr_assert_eq(report->world_count, 1);
		cr_assert_eq(report->hash, troupe_server_hash(server));
		const struct troupe_report_world *world = &report->worlds[0];
		cr_assert_eq(world->hash, report->hash);
		cr_assert_eq(world->created, 1);
		cr_assert_eq(world->removed, 1);
		cr_assert_eq(world->refused_commands, 1);
		cr_assert_eq(world->waiting_commands, 1);
		cr_assert(world->wall_s > 0 && report->peak_memory_bytes > 0);
		assert_near(world->steps_per_s, (double)(300 - world->paused_steps) / (world->wall_s - world->paused_s),
			1e-6 * world->steps_per_s, "steps a second");
		assert_near(world->rtf, (world->simulated_s - world->begun_s) / (world->wall_s - world->paused_s),
			1e-6 * world->rtf, "real-time factor");
		cr_assert_eq(troupe_server_secondaries(server, 0), (uint32_t)secondaries);
		/* the single runner is in the list, with number 0 */
		cr_assert_eq(world->secondary_count, secondaries ? (uint32_t)secondaries : 1);
		uint32_t performers = 0;
		for (uint32_t i = 0; i < world->secondary_count; i++) {
			cr_assert_eq(world->secondaries[i].number, secondaries ? i + 1 : 0);
			performers += world->secondaries[i].performer_count;
		}
		cr_assert_eq(performers, world->scene->mobile_count);
		struct compared compared = {.world = report->worlds};
		see(server, compare_with_report, &compared);
		cr_assert_eq(compared.calls, 1);
		lib_destroy(server);
		cr_assert_str_eq(world->models[0].name, "cart"); /* the report outlives the server */
		troupe_report_free(report);
	}
	troupe_report_free(NULL);
}

Test(library_report, of_two_worlds_has_both)
{
	struct troupe_server *server = lib_server(two_worlds, 1);
	lib_step(server, 20);
	struct troupe_report *report = troupe_server_report(server);
	cr_assert_eq(report->world_count, 2);
	cr_assert_eq(report->hash, troupe_server_hash(server));
	struct compared compared = {.world = report->worlds};
	see(server, compare_with_report, &compared);
	cr_assert_eq(compared.calls, 2);
	troupe_report_free(report);
}

Test(library_report, is_what_the_json_says)
{
	struct troupe_server *server = lib_server(lib_all, 1);
	drive(server);
	lib_text(server, 60, "/world/w/remove", "name: 'crate' type: MODEL");
	lib_step(server, 300);
	struct troupe_report *report = troupe_server_report(server);
	char *json = troupe_report_json(report), hash[40];
	const struct troupe_report_world *world = &report->worlds[0];
	cr_assert_eq(json[strlen(json) - 1], '\n');
	cr_assert_eq((uint64_t)member(json, "iterations"), world->steps);
	assert_near(member(json, "sim_time"), world->simulated_s, 1e-9, "sim_time");
	assert_near(member(json, "wall_time"), world->wall_s, 1e-6 * (1 + world->wall_s), "wall_time");
	assert_near(member(json, "steps_per_second"), world->steps_per_s, 1e-3 * world->steps_per_s, "steps/s");
	cr_assert_eq((uint64_t)member(json, "removed"), world->removed);
	cr_assert_eq((uint64_t)member(json, "moves"), world->moves);
	(void)snprintf(hash, sizeof hash, "\"%016llx\"", (unsigned long long)world->hash);
	cr_assert_not_null(strstr(json, hash), "%s in %s", hash, json);
	for (uint32_t i = 0; i < world->scene->mobile_count; i++) {
		char name[64];
		(void)snprintf(name, sizeof name, "\"%s\"", world->models[i].name);
		cr_assert_not_null(strstr(json, name), "%s", name);
	}
	free(json);
	troupe_report_free(report);
}

/* --- hashes of several worlds ------------------------------------------------------------------------------------- */

enum { HASHES_MAX = 1000 };

struct hashes {
	uint64_t at[HASHES_MAX];
	uint64_t first, count;
};

static void note_hash(void *ctx, uint64_t step, uint64_t hash)
{
	struct hashes *hashes = ctx;
	hashes->first = hashes->count ? hashes->first : step;
	cr_assert(step == hashes->first + hashes->count && hashes->count < HASHES_MAX, "step %u", (unsigned)step);
	hashes->at[hashes->count++] = hash;
}

static struct hashes hashes_of_two_paces(uint32_t window)
{
	static const char world[] =
		LIB_SDF("<world name='slow'><physics name='p' "
			"type='ode'><max_step_size>0.002</max_step_size><real_time_factor>0"
			"</real_time_factor></physics>" LIB_MODEL("a", "0 0 3 0.3 0.2 0", LIB_BOX) LIB_GROUND
			"</world>" LIB_WORLD("fast", LIB_MODEL("b", "0 0 3 0.1 0.2 0", LIB_BOX)));
	struct hashes hashes = {.count = 0};
	struct troupe_server_def def = lib_def(world, 0);
	struct troupe_error error;
	def.hash_every = 1;
	def.on_hash = note_hash;
	def.ctx = &hashes;
	def.window = window;
	struct troupe_server *server = lib_create(&def);
	for (int i = 1; i <= 3; i++) {
		must(troupe_server_run(server, &(struct troupe_limits){.until_s = 0.2 * i}, &error));
		cr_assert_eq(hashes.at[hashes.count - 1], troupe_server_hash(server));
	}
	lib_destroy(server);
	return hashes;
}

/* --- the table of costs ------------------------------------------------------------------------------------------- */

#define COSTS_BODY                                                                                                     \
	"<link name='l'><collision name='c'><geometry><box><size>0.5 0.5 "                                             \
	"0.5</size></box></geometry></collision></link>"
#define COSTS_PLACE(n, x)                                                                                              \
	"<model name='crate_" n "'><pose>" x " 0.9 0.3 0 0 0</pose>" COSTS_BODY "</model><model name='robot_" n        \
	"'><pose>" x " 0 0.3 0 0 0</pose>" COSTS_BODY LIB_DRIVEN "</model>"
#define COSTS_LEVEL(n, x)                                                                                              \
	"<performer name='" n "'><ref>robot_" n "</ref><geometry><box><size>1 1 1</size></box></geometry></performer>" \
	"<level name='level_" n "'><pose>" x " 0 0 0 0 0</pose><geometry><box><size>4 4 4</size></box></geometry>"     \
	"<ref>crate_" n "</ref></level>"

struct costs_row {
	unsigned long long step;
	unsigned world, component, secondary, pin;
	char kind[16], name[32];
};

/* The row of this name in the sample of the step. */
static struct costs_row costs_find(const char *path, unsigned long long step, const char *name)
{
	struct costs_row row;
	char line[200];
	FILE *file = fopen(path, "r");
	bool found = false;
	cr_assert(file && fgets(line, sizeof line, file));
	cr_assert_str_eq(line, "world,step,component,secondary,pin,kind,ns,name\n");
	while (!found && fgets(line, sizeof line, file)) {
		cr_assert_eq(sscanf(line, "%u,%llu,%u,%u,%u,%15[a-z],%*u,%31[a-z_0-9]", &row.world, &row.step,
				     &row.component, &row.secondary, &row.pin, row.kind, row.name),
			7, "%s", line);
		found = row.step == step && !strcmp(row.name, name);
	}
	(void)fclose(file);
	cr_assert(found, "no '%s' of step %llu", name, step);
	return row;
}

/* A robot, the level that it is in, and what belongs to the level are one component; robots far apart are not. */
Test(library_report, costs_of_each_component)
{
	static const char *const places[] = {"a", "b", "c"};
	struct troupe_server_def def = lib_def(
		LIB_SDF("<world name='w'>" LIB_HEAD LIB_GROUND COSTS_PLACE("a", "0") COSTS_PLACE("b", "40")
				COSTS_PLACE("c", "80") "<plugin name='gz::sim' filename='x'>" COSTS_LEVEL("a", "0")
					COSTS_LEVEL("b", "40") COSTS_LEVEL("c", "80") "</plugin></world>"),
		2);
	char path[] = "/tmp/test_costs.XXXXXX";
	const int made = mkstemp(path);
	cr_assert(made >= 0 && !close(made));
	def.costs_path = path;
	def.costs_every = 7;
	struct troupe_server *server = lib_create(&def);
	lib_run(server, 30);
	lib_destroy(server);
	unsigned components[3];
	for (size_t i = 0; i < 3; i++) {
		static const char *const of[] = {"robot", "crate", "level"}, *const kinds[] = {
										     "performer", "cargo", "level"};
		for (size_t k = 0; k < 3; k++) {
			char name[32];
			(void)snprintf(name, sizeof name, "%s_%s", of[k], places[i]);
			const struct costs_row first = costs_find(path, 7, name), last = costs_find(path, 28, name);
			cr_assert_str_eq(last.kind, kinds[k]);
			cr_assert(last.world == 0 && last.secondary >= 1 && last.secondary <= 2 && !last.pin);
			cr_assert_eq(first.component, last.component);
			components[i] = k ? components[i] : last.component;
			cr_assert_eq(
				last.component, components[i], "%s: %u, not %u", name, last.component, components[i]);
		}
	}
	cr_assert(components[0] != components[1] && components[1] != components[2] && components[0] != components[2]);
	cr_assert(!remove(path));
}

/* When the slow world has ended the fast one goes on, and from then on their steps have different numbers. */
Test(library, hashes_within_windows_are_those_of_single_steps_for_worlds_of_two_paces)
{
	struct hashes single = hashes_of_two_paces(1), found = hashes_of_two_paces(0);
	cr_assert(single.count == found.count && single.first == found.first && single.count > 500, "%u of %u",
		(unsigned)found.count, (unsigned)single.count);
	for (uint64_t i = 0; i < single.count; i++)
		cr_assert_eq(single.at[i], found.at[i], "hash %u", (unsigned)i);
}
