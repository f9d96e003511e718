/* Measures what sensors cost in the steps in which none of them measures: a body with many that somebody wants, and
 * whose next readings are far away, beside the same body without sensors. */
#include "bench.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

enum { SENSORS = 1000, SENSORS_SMOKE = 10 };
#define TARGET_NS 50

/* Kinds without rays, so that the bench is there without Embree, too. */
static char *make_world(int sensors)
{
	static const char *const kinds[] = {"imu", "altimeter", "magnetometer", "air_pressure"};
	struct text out = {0};
	text_add(&out,
		"<sdf version='1.9'><world name='w'><physics type='ode'><max_step_size>0.001</max_step_size></physics>"
		"<model name='m'><link name='l'><gravity>false</gravity>");
	for (int i = 0; i < sensors; i++)
		text_add(&out, "<sensor name='s%d' type='%s'><update_rate>0.0001</update_rate></sensor>", i,
			kinds[i % 4]);
	text_add(&out, "</link></model></world></sdf>");
	return out.at;
}

static struct troupe_server *begin(int sensors)
{
	char *world = make_world(sensors);
	struct troupe_server_def def = bench_def(world, 1);
	def.sleepless = true;
	def.sense_all = true;
	struct troupe_server *server = bench_create(&def);
	free(world);
	return server;
}

int main(int argc, char **argv)
{
	struct bench_options options =
		bench_parse(argc, argv, "bench_sensors: a step in which no sensor is due; baseline: without sensors");
	int count = options.smoke ? SENSORS_SMOKE : SENSORS;
	uint64_t steps = options.smoke ? 50 : 20000, until = 0;
	struct troupe_server *servers[] = {begin(count), begin(0)};
	struct bench_samples rates[2] = {{0}, {0}}, ns = {0};
	char subject[64];
	(void)snprintf(subject, sizeof subject, "%d sensors, none due", count);
	bench_take_turns(&options, subject, servers, 2, steps, &until, rates);
	for (int i = 0; i < rates[0].count; i++)
		bench_add(&ns, (1e9 / rates[0].at[i] - 1e9 / rates[1].at[i]) / count);
	bench_print(&options, &(struct bench_row){.subject = subject,
				      .unit = "steps/s",
				      .values = &rates[0],
				      .baselines = &rates[1],
				      .hash = troupe_server_hash(servers[0])});
	bench_print(&options, &(struct bench_row){.subject = subject,
				      .unit = "ns/sensor",
				      .values = &ns,
				      .at_most = TARGET_NS,
				      .hash = troupe_server_hash(servers[0])});
	for (int i = 0; i < 2; i++)
		troupe_server_destroy(servers[i]);
	return 0;
}
