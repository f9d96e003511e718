/* Hundreds of thousands of models are created and removed: memory must not grow, and names, topics and places must
 * become free again. Every model stands on a sleeping model, drives, and listens to a topic. */
#include "../amount.h"
#include "../named.h"
#include "check.h"

#include "base/base.h"

#include <troupe/server.h>

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum { MODELS = 100000, BATCH = 500, ALIVE = 20, GROWTH_MAX_BYTES = 128 << 10 };

static uint64_t replies, refused;

static void on_reply(void *ctx, const struct troupe_reply *reply)
{
	(void)ctx;
	replies++;
	if (reply->status && !refused++)
		printf("refused: step %" PRIu64 ": %s: %s\n", reply->step, reply->topic, reply->text);
}

static void command(struct troupe_server *server, uint64_t step, const char *topic, const char *text)
{
	struct troupe_error error;
	or_die(troupe_server_command(server, step, topic, text, &error), &error);
}

#define LINK "<link name='l'><collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision></link>"

/* Creates a model of one of three kinds, whose places have different sizes. */
static void create(struct troupe_server *server, uint64_t step, int i)
{
	static const char *const kinds[] = {
		"<model name='m'>" LINK "<plugin name='gz::sim::systems::VelocityControl' filename='x'/></model>",
		"<model name='m'><static>true</static>" LINK "</model>",
		"<model name='m'>" LINK "<link name='k'/><link name='n'/><joint name='j' type='revolute'>"
		"<parent>l</parent><child>k</child><axis><xyz>0 0 1</xyz></axis></joint>"
		"<joint name='i' type='ball'><parent>l</parent><child>n</child></joint></model>",
	};
	char text[1024], topic[64];
	snprintf(text, sizeof text,
		"name: 'm_%d' sdf: \"<sdf version='1.9'>%s</sdf>\" pose {position {x: %d y: %d z: 0.5}}", i,
		kinds[i % 3], i % ALIVE * 3, i % 3 * 2);
	command(server, step, "/world/w/create", text);
	if (i % 3)
		return;
	snprintf(topic, sizeof topic, "/model/m_%d/cmd_vel", i);
	command(server, step + 1, topic, "linear: {x: 0.5}");
}

static void remove_model(struct troupe_server *server, uint64_t step, int i)
{
	char text[64];
	snprintf(text, sizeof text, "name: 'm_%d' type: MODEL", i);
	command(server, step, "/world/w/remove", text);
}

/* In every step one model is created and one is removed. */
static void spawn(struct troupe_server *server, int from, int to)
{
	struct troupe_limits limits = {0};
	struct troupe_error error;
	for (int i = from; i < to; i += BATCH) {
		for (int k = i; k < i + BATCH; k++) {
			create(server, (uint64_t)k, k);
			if (k >= ALIVE)
				remove_model(server, (uint64_t)k, k - ALIVE);
		}
		limits.iterations = (uint64_t)i + BATCH;
		or_die(troupe_server_run(server, &limits, &error), &error);
	}
}

static void count(void *ctx, const struct troupe_snapshot *snapshot)
{
	*(uint32_t *)ctx = snapshot->model_count;
}

int main(void)
{
	int models = (int)amount(MODELS / 20, MODELS / 4, MODELS);
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error;
	uint32_t shown = 0;
	def.world_path = "spawn.sdf";
	def.world_text = named_world("ground", NULL);
	def.secondaries = 1;
	def.pace = TROUPE_PACE_FACTOR;
	def.on_reply = on_reply;
	or_die(troupe_server_create(&def, &server, &error), &error);
	spawn(server, 0, models / 2); /* small arrays have grown to their sizes by then */
	size_t before = mallinfo2().uordblks;
	spawn(server, models / 2, models);
	size_t after = mallinfo2().uordblks;
	troupe_server_snapshot(server, count, &shown);
	printf("%d models created, %d removed; memory in use %zu bytes before, %zu after\n", models, models - ALIVE,
		before, after);
	check(refused == 0, "every command was obeyed");
	check(replies == (uint64_t)(2 * models - ALIVE), "every creation and removal was answered");
	check(after <= before + GROWTH_MAX_BYTES, "memory does not grow");
	check(shown > ALIVE / 2 && shown < ALIVE, "the models that are left, and can move, are in the scene");
	troupe_server_destroy(server);
	return check_totals();
}
