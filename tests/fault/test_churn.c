/* Levels load and unload for a hundred thousand steps. Memory must not grow, and a level's model that was pushed
 * must come back where it was left. */
#include "../amount.h"
#include "world.h"

#include <troupe/server.h>

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Growth: the solver's working memory grows to that of the largest island. */
enum { TILES = 12, STEPS = 100000, GROWTH_MAX_BYTES = 192 * 1024 };

static int passed, failed;
static uint64_t loads;

static void check(int good, const char *what)
{
	passed += good;
	failed += !good;
	if (!good)
		printf("FAILED: %s\n", what);
}

static void on_event(void *ctx, const struct troupe_event *event)
{
	(void)ctx;
	loads += event->kind == TROUPE_EVENT_LOAD;
}

static void run(struct troupe_server *server, uint64_t until)
{
	struct troupe_limits limits = {.iterations = until};
	struct troupe_error error;
	if (troupe_server_run(server, &limits, &error)) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
}

static void command(struct troupe_server *server, uint64_t step, const char *topic, const char *text)
{
	struct troupe_error error;
	if (troupe_server_command(server, step, topic, text, &error)) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
}

static struct troupe_server *make(const char *world, int secondaries)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error;
	def.world_path = "churn";
	def.world_text = world;
	def.secondaries = secondaries;
	def.pace = TROUPE_PACE_FACTOR;
	def.on_event = on_event;
	if (troupe_server_create(&def, &server, &error)) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
	return server;
}

static struct troupe_server *make_tiles(int sliders, int secondaries)
{
	char *world = tiles_world(TILES, sliders);
	struct troupe_server *server = make(world, secondaries);
	free(world);
	return server;
}

/* Each slider goes to and fro over all tiles, at its own speed. */
static void churn(int steps)
{
	struct troupe_server *server = make_tiles(3, 2);
	static const int speeds[] = {40, 25, 33};
	for (int s = 0; s < 3; s++) {
		char topic[64], there[64], back[64];
		snprintf(topic, sizeof topic, "/model/slider_%d/cmd_vel", s);
		snprintf(there, sizeof there, "linear: {x: %d}", speeds[s]);
		snprintf(back, sizeof back, "linear: {x: -%d}", speeds[s]);
		int leg = 1000 * (TILES - 1) * 10 / speeds[s];
		for (int at = 0, way = 0; at < steps; at += leg, way ^= 1)
			command(server, (uint64_t)at, topic, way ? back : there);
	}
	run(server, (uint64_t)steps / 2); /* the quickest sliders, too, have visited every tile */
	size_t before = mallinfo2().uordblks;
	uint64_t loads_before = loads;
	run(server, (uint64_t)steps);
	size_t after = mallinfo2().uordblks;
	printf("%llu levels loaded in %d steps; memory in use %zu bytes before, %zu after\n", (unsigned long long)loads,
		steps, before, after);
	check(loads > loads_before + (uint64_t)steps / 2000, "levels load and unload all the time");
	check(after <= before + GROWTH_MAX_BYTES, "memory does not grow");
	troupe_server_destroy(server);
}

struct query {
	const char *name;
	struct troupe_model_state state;
};

static void find(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct query *query = ctx;
	for (uint32_t i = 0; i < snapshot->model_count; i++)
		if (!strcmp(snapshot->models[i].name, query->name))
			query->state = snapshot->models[i];
}

static struct troupe_model_state look(struct troupe_server *server, const char *name)
{
	struct query query = {.name = name};
	troupe_server_snapshot(server, find, &query);
	return query.state;
}

/* The slider pushes the box of tile 0 along, leaves, and comes back. */
static void push_and_return(void)
{
	struct troupe_server *server = make_tiles(1, 2);
	const char *topic = "/model/slider_0/cmd_vel";
	run(server, 1); /* levels are loaded in the first step */
	struct troupe_model_state first = look(server, "box_0");
	check(first.loaded, "the box of the level that the performer is in exists");
	check(!look(server, "box_5").loaded, "a box far away does not exist");
	command(server, 0, topic, "linear: {y: 4}"); /* from y = -4 to the box at 8, which it pushes */
	command(server, 2950, topic, "linear: {y: -4}");
	command(server, 4000, topic, "linear: {x: 10}"); /* away from the box */
	command(server, 9000, topic, "linear: {x: 0}");
	command(server, 10000, topic, "linear: {x: -10}");
	command(server, 15000, topic, "linear: {x: 0}");
	run(server, 4000);
	run(server, 8000);
	struct troupe_model_state left = look(server, "box_0");
	check(!left.loaded, "the level is unloaded when the performer is gone");
	check(fabs(left.pose.y - first.pose.y) > 0.05, "the box has moved");
	run(server, 10000);
	struct troupe_model_state kept = look(server, "box_0");
	check(!memcmp(&left.pose, &kept.pose, sizeof kept.pose), "the box keeps its pose while it is not loaded");
	run(server, 15500);
	struct troupe_model_state back = look(server, "box_0");
	check(back.loaded, "the level is loaded again");
	check(hypot(back.pose.x - left.pose.x, back.pose.y - left.pose.y) < 0.01, "the box is where it was left");
	printf("box: y %.3f in the file, %.3f pushed, %.3f when loaded again\n", first.pose.y, left.pose.y,
		back.pose.y);
	troupe_server_destroy(server);
}

/* Models without weight, each of one box; `crate` belongs to level home, and drifts out of it into level next. */
static char *drift_world(void)
{
	struct text out = {0};
	static const struct {
		const char *name;
		double x;
	} models[] = {{"keeper_home", -3}, {"keeper_next", 14}, {"crate", 4}};
	text_add(&out, "<sdf version='1.9'><world name='w'><gravity>0 0 0</gravity>");
	for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
		text_add(&out, "<model name='%s'><pose>%g 0 0 0 0 0</pose>", models[i].name, models[i].x);
		add_link(&out, "1 1 1", 2);
		text_add(&out, "<plugin name='gz::sim::systems::VelocityControl' filename='x'/></model>");
	}
	text_add(&out, "<plugin name='gz::sim' filename='x'>");
	for (int i = 0; i < 2; i++)
		text_add(&out,
			"<performer name='p%d'><ref>%s</ref><geometry><box><size>1 1 "
			"1</size></box></geometry></performer>",
			i, models[i].name);
	text_add(&out, "<level name='home'><geometry><box><size>10 10 "
		       "10</size></box></geometry><ref>crate</ref></level><level name='next'><pose>11 0 0 0 0 "
		       "0</pose><geometry><box><size>10 10 10</size></box></geometry></level></plugin></world></sdf>");
	return out.at;
}

/* A level's model stays while it overlaps the box of a loaded level, goes when that level is unloaded, and comes back
 * only with its own level. */
static void drift_out(void)
{
	char *world = drift_world();
	struct troupe_server *server = make(world, 2);
	free(world);
	command(server, 0, "/model/crate/cmd_vel", "linear: {x: 2}"); /* to 8 m */
	command(server, 2000, "/model/crate/cmd_vel", "linear: {x: 0}");
	command(server, 2500, "/model/keeper_home/cmd_vel", "linear: {y: 20}");
	command(server, 3000, "/model/keeper_home/cmd_vel", "linear: {y: 0}");
	command(server, 3500, "/model/keeper_next/cmd_vel", "linear: {y: 20}");
	command(server, 4000, "/model/keeper_next/cmd_vel", "linear: {y: -20}");
	command(server, 4500, "/model/keeper_next/cmd_vel", "linear: {y: 0}");
	command(server, 5000, "/model/keeper_home/cmd_vel", "linear: {y: -20}");
	command(server, 5500, "/model/keeper_home/cmd_vel", "linear: {y: 0}");
	run(server, 2400);
	check(fabs(look(server, "crate").pose.x - 8) < 0.1, "the crate has drifted into the next level");
	run(server, 3400);
	check(look(server, "crate").loaded, "the crate outlives its level while it is in a loaded level");
	run(server, 3990);
	check(!look(server, "crate").loaded, "the crate goes when that level is unloaded");
	run(server, 4990);
	check(!look(server, "crate").loaded, "that level does not bring the crate back");
	run(server, 5990);
	check(look(server, "crate").loaded, "the crate's own level brings it back");
	check(fabs(look(server, "crate").pose.x - 8) < 0.1, "where it was left");
	troupe_server_destroy(server);
}

int main(void)
{
	churn((int)amount(STEPS / 8, STEPS / 8, STEPS));
	push_and_return();
	drift_out();
	printf("%d passed, %d failed\n", passed, failed);
	return failed > 0;
}
