/* Worlds of a few lines, run without threads, and what becomes of their models. For the programs of this folder that
 * check physics; each prints the analytic value beside the measured one. */
#ifndef CONFORM_HARNESS_H
#define CONFORM_HARNESS_H

#include "base/text.h"

#include <troupe/server.h>

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define G 9.8

static struct troupe_server *server;

/* Steps of 1 ms; gravity as in <gravity>. The body is a format. */
__attribute__((format(printf, 2, 3))) static void start(const char *gravity, const char *format, ...)
{
	struct text text = {0};
	static char body[200000];
	va_list args;
	va_start(args, format);
	cr_assert_lt(vsnprintf(body, sizeof body, format, args), (int)sizeof body);
	va_end(args);
	text_add(&text,
		"<sdf version='1.11'><world name='w'><gravity>%s</gravity><physics name='p' "
		"type='ode'><max_step_size>0.001</max_step_size><real_time_factor>0</real_time_factor></physics>%s</"
		"world>"
		"</sdf>",
		gravity, body);
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_error error;
	def.world_path = SOURCE_DIR "/worlds/test.sdf";
	def.world_text = text.at;
	def.secondaries = 0;
	def.pace = TROUPE_PACE_FACTOR;
	cr_assert_eq(troupe_server_create(&def, &server, &error), TROUPE_OK, "%s", error.text);
	text_fini(&text);
}

static void stop(void)
{
	troupe_server_destroy(server);
}

static void run_until(double time_s)
{
	struct troupe_limits limits = {.until_s = time_s};
	struct troupe_error error;
	cr_assert_eq(troupe_server_run(server, &limits, &error), TROUPE_OK, "%s", error.text);
}

struct query {
	const char *name;
	struct troupe_pose pose;
	bool found;
};

static void find(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct query *query = ctx;
	for (uint32_t i = 0; i < snapshot->model_count; i++)
		if (!strcmp(snapshot->models[i].name, query->name)) {
			query->pose = snapshot->models[i].pose;
			query->found = true;
		}
}

static struct troupe_pose pose_of(const char *name)
{
	struct query query = {.name = name};
	troupe_server_snapshot(server, find, &query);
	cr_assert(query.found, "no model '%s'", name);
	return query.pose;
}

static void expect(const char *what, double measured, double analytic, double tolerance)
{
	printf("%-52s analytic %12.6f  measured %12.6f  off by %.2e\n", what, analytic, measured, measured - analytic);
	cr_expect(fabs(measured - analytic) <= tolerance, "%s: %g, expected %g within %g", what, measured, analytic,
		tolerance);
}

#endif
