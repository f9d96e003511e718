/* A watcher: a thread shows, during the run, which models move and which shapes touch. It reads snapshots, for which
 * the simulation does not wait.
 *
 *     cc watch.c -o watch $(pkg-config --cflags --libs troupe) -pthread
 *     ./watch hill 3 */
#include <troupe/server.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct watcher {
	struct troupe_server *server;
	_Atomic int done;
	uint64_t epoch; /* of the scene that was shown last */
};

/* "crate::link::collision" */
static void print_shape(const struct troupe_scene *scene, uint32_t shape)
{
	if (shape == TROUPE_NONE) {
		printf("an actor");
		return;
	}
	const struct troupe_form *s = scene->shapes[shape].form;
	const struct troupe_scene_link *link = &scene->links[scene->shapes[shape].link];
	printf("%s::%s::%s", scene->models[link->model].name, link->name, s->name);
}

static void print_contact(const struct troupe_scene *scene, const struct troupe_contact *contact)
{
	printf("        ");
	print_shape(scene, contact->shapes[0]);
	printf(" touches ");
	print_shape(scene, contact->shapes[1]);
	printf(" at %.2f %.2f %.2f\n", contact->position.x, contact->position.y, contact->position.z);
}

/* The snapshot and its scene are there only during the call. */
static void show(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct watcher *watcher = ctx;
	const struct troupe_scene *scene = snapshot->scene;
	if (watcher->epoch != scene->epoch)
		printf("world %s: %u models, %u of them can move\n", snapshot->world, scene->model_count,
			scene->mobile_count);
	watcher->epoch = scene->epoch;
	printf("%.3f s, %u contacts\n", snapshot->time_s, snapshot->contact_count);
	for (uint32_t i = 0; i < snapshot->model_count; i++) {
		const struct troupe_model_state *model = &snapshot->models[i];
		double speed = hypot(hypot(model->twist.linear.x, model->twist.linear.y), model->twist.linear.z);
		if (speed > 0.01 && !model->asleep)
			printf("    %s at %.2f %.2f %.2f: %.2f m/s\n", model->name, model->pose.x, model->pose.y,
				model->pose.z, speed);
	}
	for (uint32_t i = 0; i < snapshot->contact_count && i < 5; i++)
		print_contact(scene, &snapshot->contacts[i]);
}

static void *watch(void *arg)
{
	struct watcher *watcher = arg;
	while (!atomic_load(&watcher->done)) {
		troupe_server_snapshot(watcher->server, show, watcher);
		usleep(100000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_limits limits = {.until_s = argc > 2 ? atof(argv[2]) : 3};
	struct watcher watcher = {.done = 0};
	struct troupe_error error;
	pthread_t thread;
	def.world_path = argc > 1 ? argv[1] : "hill"; /* a file, or the name of a world that comes with troupe */
	def.observe = TROUPE_OBSERVE_CONTACTS;
	def.pace = TROUPE_PACE_FACTOR;
	def.rtf = 10; /* ten times real time, if the machine can */
	if (troupe_server_create(&def, &watcher.server, &error)) {
		fprintf(stderr, "watch: %s\n", error.text);
		return 1;
	}
	if (pthread_create(&thread, NULL, watch, &watcher))
		return 1;
	troupe_status status = troupe_server_run(watcher.server, &limits, &error);
	atomic_store(&watcher.done, 1);
	pthread_join(thread, NULL);
	if (status)
		fprintf(stderr, "watch: %s\n", error.text);
	else
		troupe_server_snapshot(watcher.server, show, &watcher); /* the state at the end */
	troupe_server_destroy(watcher.server);
	return status != TROUPE_OK;
}
