/* The library used by many threads: while a server runs, and models come and go, threads read snapshots, keep
 * scenes, and give commands by handles that may be stale. Each snapshot must be whole, each kept scene readable
 * until it is released, and each accepted command reported once. Uses only the public headers. ThreadSanitizer and
 * AddressSanitizer find the rest. */
#include "../amount.h"
#include "../named.h"
#include "check.h"

#include <troupe/command.h>
#include <troupe/report.h>
#include <troupe/server.h>

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { WATCHERS = 2, POSTERS = 2, KEPT = 8, BODIES = 6 };

#define BOX                                                                                                            \
	"<link name='l'><inertial><mass>1</mass><inertia><ixx>0.04</ixx><iyy>0.04</iyy><izz>0.04</izz></inertia>"      \
	"</inertial><collision name='c'><geometry><box><size>0.5 0.5 0.5</size></box></geometry></collision></link>"
#define ARM                                                                                                            \
	"<link name='tip'><pose>0.6 0 0 0 0 0</pose></link><joint name='j' type='revolute'><parent>l</parent>"         \
	"<child>tip</child><axis><xyz>0 0 1</xyz></axis></joint>"
#define DRIVEN "<plugin name='gz::sim::systems::VelocityControl' filename='x'/>"

struct shared {
	struct troupe_server *server;
	uint64_t until;
	_Atomic int done;
	_Atomic uint64_t snapshots, bad, epochs, accepted, refused, kept;
	uint64_t replies; /* of the server's threads; one thread writes at a time */
};

/* --- watchers ----------------------------------------------------------------------------------------------------- */

static bool scene_is_whole(const struct troupe_scene *scene)
{
	bool good = scene->mobile_count <= scene->model_count && scene->moving_links <= scene->link_count;
	for (uint32_t i = 0; i < scene->model_count; i++) {
		const struct troupe_scene_model *model = &scene->models[i];
		good &= strlen(model->name) > 0 && model->link_first + model->link_count <= scene->link_count &&
			model->joint_first + model->joint_count <= scene->joint_count;
	}
	for (uint32_t i = 0; i < scene->link_count; i++)
		good &= scene->links[i].model < scene->model_count && strlen(scene->links[i].name) > 0 &&
			scene->links[i].shape_first + scene->links[i].shape_count <= scene->shape_count;
	for (uint32_t i = 0; i < scene->joint_count; i++)
		good &= scene->joints[i].child < scene->link_count && scene->joints[i].model < scene->model_count;
	for (uint32_t i = 0; i < scene->shape_count; i++)
		good &= scene->shapes[i].link < scene->link_count && scene->shapes[i].form->size.x > 0;
	return good;
}

struct watcher {
	struct shared *shared;
	uint64_t step, epoch; /* of the last snapshot */
};

static bool snapshot_is_whole(const struct troupe_snapshot *s)
{
	const struct troupe_scene *scene = s->scene;
	bool good = scene_is_whole(scene) && s->model_count == scene->mobile_count &&
		    s->link_count == scene->moving_links && s->joint_count == scene->joint_count;
	for (uint32_t i = 0; good && i < s->model_count; i++)
		good = isfinite(s->models[i].pose.z) && isfinite(s->models[i].twist.linear.x) &&
		       !strcmp(s->models[i].name, scene->models[i].name) &&
		       troupe_snapshot_model(s, scene->models[i].handle) == &s->models[i];
	for (uint32_t i = 0; good && i < s->link_count; i++)
		good = isfinite(s->links[i].pose.z) && troupe_snapshot_link(s, scene->links[i].handle) == &s->links[i];
	for (uint32_t i = 0; good && i < s->joint_count; i++)
		good = isfinite(s->joints[i].velocity[0]) &&
		       troupe_snapshot_joint(s, scene->joints[i].handle) == &s->joints[i];
	for (uint32_t i = 0; good && i < s->contact_count; i++)
		good = s->contacts[i].shapes[0] < scene->shape_count && s->contacts[i].shapes[1] < scene->shape_count &&
		       isfinite(s->contacts[i].depth);
	return good;
}

static void see(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct watcher *watcher = ctx;
	struct shared *shared = watcher->shared;
	bool good = snapshot_is_whole(snapshot) && snapshot->step >= watcher->step &&
		    snapshot->scene->epoch >= watcher->epoch;
	atomic_fetch_add(&shared->snapshots, 1);
	atomic_fetch_add(&shared->bad, !good);
	atomic_fetch_add(&shared->epochs, snapshot->scene->epoch != watcher->epoch);
	watcher->step = snapshot->step;
	watcher->epoch = snapshot->scene->epoch;
}

static void *watch(void *arg)
{
	struct shared *shared = arg;
	struct watcher watcher = {.shared = shared};
	const struct troupe_scene *kept[KEPT] = {NULL};
	for (int i = 0; !atomic_load(&shared->done); i++) {
		troupe_server_snapshot(shared->server, see, &watcher);
		troupe_scene_release(kept[i % KEPT]); /* the first ones are NULL */
		kept[i % KEPT] = troupe_server_scene(shared->server, 0);
		atomic_fetch_add(&shared->kept, 1);
		usleep(500);
	}
	for (int i = 0; i < KEPT; i++) {
		atomic_fetch_add(&shared->bad, kept[i] && !scene_is_whole(kept[i]));
		troupe_scene_release(kept[i]);
	}
	return NULL;
}

/* --- posters ------------------------------------------------------------------------------------------------------ */

struct poster {
	struct shared *shared;
	unsigned seed;
};

/* Gives a command for a model, link or joint of a scene that may be an old one. */
static troupe_status post(struct shared *shared, const struct troupe_scene *scene, unsigned *seed, bool *ret_told)
{
	const struct troupe_pose pose = {.x = rand_r(seed) % 40, .y = 30, .z = 3, .qw = 1};
	const struct troupe_twist twist = {{rand_r(seed) % 3, 0, 0}, {0, 0, 0.5}};
	const struct troupe_wrench wrench = {{rand_r(seed) % 9, 0, 0}, {0, 0, 1}};
	const struct troupe_when when = {troupe_server_progress(shared->server).steps + (uint64_t)(rand_r(seed) % 5),
		rand_r(seed) % 2 ? TROUPE_LATE_REFUSE : TROUPE_LATE_NEXT};
	const struct troupe_scene_model *model = &scene->models[(uint32_t)rand_r(seed) % scene->mobile_count];
	const struct troupe_scene_link *link = &scene->links[model->link_first];
	uint64_t step = UINT64_MAX;
	struct troupe_error error;
	troupe_status status;
	*ret_told = true;
	switch (rand_r(seed) % 5) {
	case 0:
		status = troupe_command_pose(shared->server, &when, model->handle, &pose, &step, &error);
		break;
	case 1:
		status = troupe_command_velocity(shared->server, &when, model->handle, &twist, &step, &error);
		break;
	case 2:
		status = troupe_command_wrench(shared->server, &when, link->handle, &wrench, &step, &error);
		break;
	case 3:
		status = scene->joint_count ? troupe_command_joint_state(shared->server, &when, scene->joints[0].handle,
						      0, NAN, 1, &step, &error)
					    : TROUPE_ECOMMAND;
		break;
	default: /* only failures of this one give a reply */
		status = troupe_command_twist(shared->server, &when, model->handle, &twist, &step, &error);
		*ret_told = false;
		break;
	}
	if (!status && step < when.step)
		atomic_fetch_add(&shared->bad, 1);
	return status;
}

static void *post_all(void *arg)
{
	struct poster *poster = arg;
	struct shared *shared = poster->shared;
	const struct troupe_scene *scene = troupe_server_scene(shared->server, 0);
	while (!atomic_load(&shared->done)) {
		bool told;
		troupe_status status = post(shared, scene, &poster->seed, &told);
		atomic_fetch_add(status ? &shared->refused : &shared->accepted, status || told);
		if (status && status != TROUPE_ECOMMAND)
			atomic_fetch_add(&shared->bad, 1);
		if (rand_r(&poster->seed) % 10 == 0) {
			troupe_scene_release(scene);
			scene = troupe_server_scene(shared->server, 0);
		}
		usleep(300);
	}
	troupe_scene_release(scene);
	return NULL;
}

/* --- the server --------------------------------------------------------------------------------------------------- */

/* Replies to this program's commands by text have topics of their own. */
static void on_reply(void *ctx, const struct troupe_reply *reply)
{
	struct shared *shared = ctx;
	bool by_text =
		strstr(reply->topic, "/create") || strstr(reply->topic, "/remove") || strstr(reply->topic, "/control");
	bool twist = strstr(reply->topic, "cmd_vel") || strstr(reply->topic, "twist");
	shared->replies += !by_text && !twist;
}

/* In each step models are created, in some steps removed, and now and then a reset restores the first state. */
static void on_step(void *ctx, struct troupe_server *server, uint64_t step)
{
	struct shared *shared = ctx;
	struct troupe_error error;
	uint64_t round = step / 10;
	char text[1024];
	const char *topic = "/world/w/create";
	if (round % 4 == 3) {
		topic = "/world/w/remove";
		snprintf(text, sizeof text, "name: 'guest_%d' type: MODEL", (int)(round / 4 % 5));
	} else if (round % 50 == 49) {
		topic = "/world/w/control";
		snprintf(text, sizeof text, "reset: {all: true}");
	} else {
		snprintf(text, sizeof text,
			"name: 'guest_%d' allow_renaming: true sdf: \"<sdf version='1.9'><model name='g'>" BOX
			"%s</model></sdf>\" pose {position {x: %d y: 20 z: 2}}",
			(int)(round % 5), round % 2 ? ARM : DRIVEN, (int)(round % 30) * 2);
	}
	or_die(troupe_server_command(server, 0, topic, text, &error), &error);
	if (step >= shared->until)
		troupe_server_stop(server);
}

static const char *make_world(void)
{
	char models[8192];
	int used = 0;
	for (int i = 0; i < BODIES; i++)
		used += snprintf(models + used, sizeof models - (size_t)used,
			"<model name='m_%d'><pose>%d 0 0.25 0 0 0</pose>" BOX "%s</model>", i, 2 * i,
			i % 2 ? DRIVEN : ARM);
	return named_world("ground", models);
}

static void run_with(int secondaries, uint64_t steps)
{
	struct shared shared = {.until = steps};
	struct poster posters[POSTERS];
	pthread_t watching[WATCHERS], posting[POSTERS];
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_limits limits = {0};
	struct troupe_error error;
	def.world_path = "library";
	def.world_text = make_world();
	def.secondaries = secondaries;
	def.pace = TROUPE_PACE_RATE;
	def.rate_hz = 5000;
	def.observe = TROUPE_OBSERVE_CONTACTS | TROUPE_OBSERVE_EFFORTS;
	def.step_every = 10;
	def.on_step = on_step;
	def.on_reply = on_reply;
	def.ctx = &shared;
	or_die(troupe_server_create(&def, &shared.server, &error), &error);
	troupe_scene_release(troupe_server_scene(shared.server, 0)); /* this creates the scene */
	for (int i = 0; i < WATCHERS; i++)
		check(!pthread_create(&watching[i], NULL, watch, &shared), "a thread");
	for (int i = 0; i < POSTERS; i++) {
		posters[i] = (struct poster){&shared, (unsigned)i + 1};
		check(!pthread_create(&posting[i], NULL, post_all, &posters[i]), "a thread");
	}
	/* threads read and give commands also between two runs, and before the first one */
	or_die(troupe_server_step(shared.server, 5, &error), &error);
	or_die(troupe_server_run(shared.server, &limits, &error), &error);
	atomic_store(&shared.done, 1);
	for (int i = 0; i < WATCHERS; i++)
		pthread_join(watching[i], NULL);
	for (int i = 0; i < POSTERS; i++)
		pthread_join(posting[i], NULL);
	const struct troupe_scene *last = troupe_server_scene(shared.server, 0);
	or_die(troupe_server_step(shared.server, 100, &error), &error); /* takes the commands that wait */
	struct troupe_report *report = troupe_server_report(shared.server);
	troupe_server_destroy(shared.server);
	check(scene_is_whole(last), "a scene outlives its server");
	troupe_scene_release(last);
	check(report->worlds[0].waiting_commands <= 1, "no command of the threads waits");
	check(report->worlds[0].created > 10 && report->worlds[0].removed > 2, "models were created and removed");
	troupe_report_free(report);
	printf("%d secondaries: %" PRIu64 " snapshots, %" PRIu64 " new scenes seen; %" PRIu64
	       " commands accepted, %" PRIu64 " refused\n",
		secondaries, shared.snapshots, shared.epochs, shared.accepted, shared.refused);
	check(!shared.bad, "%" PRIu64 " snapshots, scenes or steps were not right", shared.bad);
	check(shared.snapshots > 10 && shared.epochs > 2 && shared.accepted > 10, "threads read and gave commands");
	check(shared.replies == shared.accepted, "%" PRIu64 " commands accepted, %" PRIu64 " replies", shared.accepted,
		shared.replies);
}

int main(void)
{
	uint64_t steps = amount(600, 2000, 20000);
	for (int secondaries = 0; secondaries < 3; secondaries++)
		run_with(secondaries, steps);
	run_with(TROUPE_SECONDARIES_AUTO, steps);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
