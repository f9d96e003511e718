/* Save and branch: a cart drives for a second, the state is kept in memory, and from there several commands are tried,
 * each in a server of its own. The one that leads nearest to a goal is kept, and goes on.
 *
 *     cc branch.c -o branch $(pkg-config --cflags --libs troupe) -lm
 *     ./branch $(pkg-config --variable=worldsdir troupe) */
#include <troupe/command.h>
#include <troupe/server.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char floor_with_cart[] =
	"<sdf version='1.9'><world name='floor'>"
	"<physics name='p' type='ode'><max_step_size>0.001</max_step_size></physics>"
	"<model name='ground'><static>true</static><link name='l'>"
	"<collision name='c'><geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link></model>"
	"<include><uri>models/cart</uri><name>cart</name></include></world></sdf>";

static const double goal[2] = {1.5, 1};

static void must(troupe_status status, const struct troupe_error *error)
{
	if (!status)
		return;
	fprintf(stderr, "branch: %s\n", error->text);
	exit(1);
}

/* The cart drives with this speed and turn for some steps; returns its distance from the goal then. */
static double drive(struct troupe_server *server, troupe_model cart, double speed, double turn, uint64_t steps)
{
	const struct troupe_twist twist = {.linear.x = speed, .angular.z = turn};
	struct troupe_model_state state;
	struct troupe_error error;
	must(troupe_command_twist(server, NULL, cart, &twist, NULL, &error), &error);
	must(troupe_server_step(server, steps, &error), &error);
	if (!troupe_get_model(server, cart, &state))
		exit(1);
	return hypot(goal[0] - state.pose.x, goal[1] - state.pose.y);
}

static struct troupe_server *create(struct troupe_server_def *def)
{
	struct troupe_server *server;
	struct troupe_error error;
	def->pace = TROUPE_PACE_FACTOR; /* with rtf 0: as fast as possible */
	must(troupe_server_create(def, &server, &error), &error);
	return server;
}

int main(int argc, char **argv)
{
	const char *const folders[] = {argc > 1 ? argv[1] : ".", NULL}; /* with models/cart in them */
	struct troupe_server_def def = troupe_server_def_default(), from_state = troupe_server_def_default();
	struct troupe_server *best = NULL;
	struct troupe_error error;
	double best_distance = INFINITY;
	void *state;
	size_t count;

	def.world_path = "floor.sdf"; /* a name for messages: the text is below */
	def.world_text = floor_with_cart;
	def.resource_paths = folders;
	struct troupe_server *server = create(&def);
	troupe_model cart = troupe_find_model(server, 0, "cart");
	printf("at the start: %.3f m from the goal\n", drive(server, cart, 0.5, 0, 1000));
	must(troupe_server_pack(server, &state, &count, &error), &error);
	troupe_server_destroy(server);

	from_state.resume_bytes = state;
	from_state.resume_count = count;
	for (int i = -4; i <= 4; i++) {
		struct troupe_server *trial = create(&from_state);
		/* handles of the first server are valid here, too */
		double distance = drive(trial, cart, 0.6, 0.25 * i, 2000);
		printf("turning at %+.2f rad/s: %.3f m\n", 0.25 * i, distance);
		if (distance < best_distance) {
			struct troupe_server *worse = best;
			best = trial;
			best_distance = distance;
			trial = worse;
		}
		troupe_server_destroy(trial); /* NULL is fine */
	}
	free(state);
	printf("best: %.3f m, at state %016llx\n", best_distance, (unsigned long long)troupe_server_hash(best));
	printf("standing still: %.3f m\n", drive(best, cart, 0, 0, 1000));
	troupe_server_destroy(best);
	return 0;
}
