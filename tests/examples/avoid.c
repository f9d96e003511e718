/* Carts that see: each 50 ms a barrier client takes the last scan of each cart's lidar, and commands the cart so that
 * it touches nothing. Its answers are given on the thread that takes the steps (struct troupe_barrier_ops), so it needs
 * no thread of its own. The program watches the contacts of each step, and fails if a cart has touched anything but the
 * ground. The same hash comes with any number of secondaries.
 *
 *     cc avoid.c -o avoid $(pkg-config --cflags --libs troupe) -lm
 *     ./avoid lidar 60 2                               world, simulated seconds, secondaries */
#include <troupe/barrier.h>
#include <troupe/server.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CARTS_MAX = 64, RAYS_MAX = 1024 };

static const double sees_m = 3;      /* what is farther away does not count */
static const double beside_m = 0.55; /* half of the width that must be free; a cart that turns needs 0.45 */
static const double stops_m = 0.7, goes_m = 1.2;

struct cart {
	char model[64], scan[256], cmd_vel[256];
	uint32_t rays; /* of its last scan */
	double min_rad, step_rad, ranges[RAYS_MAX];
	int turning; /* 1: to the left, -1: to the right, 0: the cart drives */
	bool placed;
	double x, y, driven_m;
};

struct yard {
	struct troupe_client *client;
	struct cart carts[CARTS_MAX];
	uint32_t count;
	uint64_t scans, touched; /* touched: contacts, a step each */
};

static void must(troupe_status status, const struct troupe_error *error)
{
	if (!status)
		return;
	fprintf(stderr, "avoid: %s\n", error->text);
	exit(1);
}

/* --- messages: lists of fields, each with a number and a kind of value -------------------------------------------- */

static uint64_t get_varint(const unsigned char **at, const unsigned char *end)
{
	uint64_t value = 0;
	for (int shift = 0; *at < end && shift < 64; shift += 7) {
		unsigned char byte = *(*at)++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			break;
	}
	return value;
}

/* gz.msgs.LaserScan: angle_min is field 4, angle_step 6, doubles; ranges is field 14, doubles one behind the other. */
static void read_scan(struct cart *cart, const struct troupe_message *message)
{
	const unsigned char *at = message->bytes, *end = at + message->count;
	while (at < end) {
		uint64_t key = get_varint(&at, end), count = 0;
		if ((key & 7) == 0)
			(void)get_varint(&at, end);
		else
			count = (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : get_varint(&at, end);
		if (count > (uint64_t)(end - at))
			return;
		if (key == (4 << 3 | 1))
			memcpy(&cart->min_rad, at, 8); /* least significant byte first, as this processor has it */
		else if (key == (6 << 3 | 1))
			memcpy(&cart->step_rad, at, 8);
		else if (key == (14 << 3 | 2) && count <= sizeof cart->ranges) {
			memcpy(cart->ranges, at, count);
			cart->rays = (uint32_t)(count / 8);
		}
		at += count;
	}
}

/* gz.msgs.Twist: linear is field 2, angular 3; of each, x y z are 2 3 4, doubles. */
static size_t put_twist(unsigned char bytes[32], double forward, double turn)
{
	static const unsigned char linear[] = {2 << 3 | 2, 9, 2 << 3 | 1}, angular[] = {3 << 3 | 2, 9, 4 << 3 | 1};
	memcpy(bytes, linear, 3);
	memcpy(bytes + 3, &forward, 8);
	memcpy(bytes + 11, angular, 3);
	memcpy(bytes + 14, &turn, 8);
	return 22;
}

/* --- control ------------------------------------------------------------------------------------------------------ */

/* The cart drives where the strip ahead is free, and bears to the side that is more open. Before an obstacle it turns
 * on the spot, always in one direction, until the strip is free again. */
static void steer(struct cart *cart, double *ret_forward, double *ret_turn)
{
	double ahead = sees_m, left = 0, right = 0;
	for (uint32_t i = 0; i < cart->rays; i++) {
		double angle = cart->min_rad + i * cart->step_rad;
		double range = fmax(0, fmin(sees_m, cart->ranges[i])); /* infinite: nothing in range, or too near */
		if (range < sees_m && fabs(range * sin(angle)) < beside_m)
			ahead = fmin(ahead, range * cos(angle));
		*(angle > 0 ? &left : &right) += range;
	}
	if (ahead < stops_m && !cart->turning)
		cart->turning = left > right ? 1 : -1;
	else if (ahead > goes_m)
		cart->turning = 0;
	*ret_forward = cart->turning ? 0 : fmin(0.6, ahead - 0.5);
	*ret_turn = cart->turning ? cart->turning : (left - right) / (left + right);
}

static void begin(void *ctx, const struct troupe_barrier *barrier)
{
	(void)ctx, (void)barrier;
}

static troupe_answer answer(
	void *ctx, const struct troupe_barrier *barrier, uint64_t wait_ns, struct troupe_error *error)
{
	struct yard *yard = ctx;
	struct troupe_message message;
	(void)barrier, (void)wait_ns;
	while (troupe_client_take(yard->client, 0, &message))
		for (uint32_t i = 0; i < yard->count; i++)
			if (!strcmp(message.topic, yard->carts[i].scan)) {
				read_scan(&yard->carts[i], &message);
				yard->scans++;
			}
	for (uint32_t i = 0; i < yard->count; i++) {
		struct cart *cart = &yard->carts[i];
		unsigned char bytes[32];
		double forward, turn;
		if (!cart->rays)
			continue; /* it has seen nothing yet */
		steer(cart, &forward, &turn);
		size_t count = put_twist(bytes, forward, turn);
		if (troupe_client_publish(yard->client, NULL, cart->cmd_vel, NULL, bytes, count, NULL, error))
			return TROUPE_ANSWER_FAILED;
	}
	return TROUPE_ANSWER_DONE;
}

static void out(void *ctx, const struct troupe_error *why)
{
	(void)ctx, (void)why; /* the run ends with the reason */
}

/* --- watching ----------------------------------------------------------------------------------------------------- */

static const char *model_of(const struct troupe_scene *scene, uint32_t shape)
{
	return shape == TROUPE_NONE ? "an actor" : scene->models[scene->links[scene->shapes[shape].link].model].name;
}

static void watch(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct yard *yard = ctx;
	for (uint32_t i = 0; i < snapshot->contact_count; i++) {
		const char *a = model_of(snapshot->scene, snapshot->contacts[i].shapes[0]);
		const char *b = model_of(snapshot->scene, snapshot->contacts[i].shapes[1]);
		if (!strcmp(a, "ground") || !strcmp(b, "ground"))
			continue;
		if (!yard->touched++)
			printf("%.3f s: %s touches %s\n", snapshot->time_s, a, b);
	}
}

static void on_step(void *ctx, struct troupe_server *server, uint64_t step)
{
	struct yard *yard = ctx;
	troupe_server_look(server, watch, yard);
	if (step % 100)
		return;
	for (uint32_t i = 0; i < yard->count; i++) {
		struct cart *cart = &yard->carts[i];
		struct troupe_model_state state;
		if (!troupe_get_model(server, troupe_find_model(server, 0, cart->model), &state))
			continue;
		if (cart->placed)
			cart->driven_m += hypot(state.pose.x - cart->x, state.pose.y - cart->y);
		cart->placed = true;
		cart->x = state.pose.x;
		cart->y = state.pose.y;
	}
}

/* The models that publish scans are the carts. */
static void find_carts(struct yard *yard, struct troupe_server *server)
{
	const struct troupe_topics *topics = troupe_topics_list(server);
	struct troupe_error error;
	for (uint32_t i = 0; i < topics->count && yard->count < CARTS_MAX; i++) {
		struct cart *cart = &yard->carts[yard->count];
		char model[64];
		if (topics->at[i].kind != TROUPE_TOPIC_PUBLISHED || strcmp(topics->at[i].type, "gz.msgs.LaserScan") ||
			sscanf(topics->at[i].name, "/world/%*[^/]/model/%63[^/]/", model) != 1)
			continue;
		snprintf(cart->scan, sizeof cart->scan, "%s", topics->at[i].name);
		snprintf(cart->cmd_vel, sizeof cart->cmd_vel, "/model/%s/cmd_vel", model);
		snprintf(cart->model, sizeof cart->model, "%s", model);
		must(troupe_client_subscribe(yard->client, cart->scan, 0, &error), &error);
		yard->count++;
	}
	troupe_topics_release(topics);
}

int main(int argc, char **argv)
{
	static struct yard yard;
	static const struct troupe_barrier_ops ops = {begin, answer, out};
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_client_def client_def = {.depth = 0};
	struct troupe_join join = {.name = "avoid", .period_ns = 50000000, .failure = TROUPE_FAILURE_ENDS, .ops = &ops};
	struct troupe_limits limits = {.until_s = argc > 2 ? atof(argv[2]) : 60};
	struct troupe_server *server;
	struct troupe_error error;
	def.world_path = argc > 1 ? argv[1] : "lidar"; /* a file, or the name of a world that comes with troupe */
	def.secondaries = argc > 3 ? atoi(argv[3]) : TROUPE_SECONDARIES_AUTO;
	def.observe = TROUPE_OBSERVE_CONTACTS;
	def.pace = TROUPE_PACE_FACTOR; /* with rtf 0: as fast as possible */
	def.step_every = 1;
	def.on_step = on_step;
	def.ctx = join.ctx = &yard;
	must(troupe_server_create(&def, &server, &error), &error);
	must(troupe_client_create(server, &client_def, &yard.client, &error), &error);
	find_carts(&yard, server);
	must(troupe_client_join(yard.client, &join, &error), &error);
	must(troupe_server_run(server, &limits, &error), &error);
	for (uint32_t i = 0; i < yard.count; i++)
		printf("%s drove %.1f m\n", yard.carts[i].model, yard.carts[i].driven_m);
	printf("%" PRIu64 " scans, %" PRIu64 " contacts\n", yard.scans, yard.touched);
	printf("hash %016" PRIx64 "\n", troupe_server_hash(server));
	troupe_client_destroy(yard.client);
	troupe_server_destroy(server);
	return yard.touched || !yard.count;
}
