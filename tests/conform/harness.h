/* Worlds of a few lines, run without threads, for the programs of this folder that check physics. Each program
 * prints the analytic value beside the measured value. */
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
static char warning[512]; /* the last warning of the server that was started last */

/* Settings of the next servers, which only some programs need; set before start(), best by the suite's .init. */
static struct {
	const char *solver; /* elements for the end of <physics> */
	const char *step;   /* s; NULL: 0.001 */
	bool sleepless, by_ode;
	void (*on_event)(void *ctx, const struct troupe_event *event);
	void (*on_reply)(void *ctx, const struct troupe_reply *reply);
} want;

static void keep_warning(void *ctx, const char *text)
{
	(void)ctx;
	snprintf(warning, sizeof warning, "%s", text);
}

/* The .init of suites that measure slow motion, too. */
static inline void be_sleepless(void)
{
	want.sleepless = true;
}

/* The .fini of each suite. */
static void stop(void)
{
	troupe_server_destroy(server);
	server = NULL;
}

/* Destroys the server that was started before. Steps of 1 ms, if want.step gives none; gravity as in <gravity>. The
 * body begins on line 2 of the text. */
static troupe_status create(const char *gravity, const char *body, struct troupe_error *error)
{
	struct text text = {0};
	stop();
	text_add(&text,
		"<sdf version='1.11'><world name='w'><gravity>%s</gravity><physics name='p' "
		"type='ode'><max_step_size>%s</max_step_size><real_time_factor>0</real_time_factor>%s</physics>\n"
		"%s</world></sdf>",
		gravity, want.step ? want.step : "0.001", want.solver ? want.solver : "", body);
	struct troupe_server_def def = troupe_server_def_default();
	def.world_path = SOURCE_DIR "/worlds/test.sdf";
	def.world_text = text.at;
	static const char *const folders[] = {"/tmp", NULL}; /* of the files that tests write */
	def.resource_paths = folders;
	def.secondaries = 0;
	def.pace = TROUPE_PACE_FACTOR;
	def.on_warning = keep_warning;
	def.on_event = want.on_event;
	def.window = want.on_event ? 1 : 0; /* what is told of a window is told of its beginning */
	def.on_reply = want.on_reply;
	def.sleepless = want.sleepless;
	def.by_ode = want.by_ode;
	warning[0] = '\0';
	troupe_status status = troupe_server_create(&def, &server, error);
	text_fini(&text);
	return status;
}

/* format: of the body. */
__attribute__((format(printf, 2, 3))) static void start(const char *gravity, const char *format, ...)
{
	static char body[200000];
	struct troupe_error error;
	va_list args;
	va_start(args, format);
	cr_assert_lt(vsnprintf(body, sizeof body, format, args), (int)sizeof body);
	va_end(args);
	cr_assert_eq(create(gravity, body, &error), TROUPE_OK, "%s", error.text);
}

/* A world that must be refused, with this reason and with the place. */
static inline void refuse(const char *what, const char *body, const char *expected)
{
	struct troupe_error error;
	cr_assert_neq(create("0 0 -9.8", body, &error), TROUPE_OK, "%s", what);
	printf("%-20s %s\n", what, error.text);
	cr_assert(strstr(error.text, "/test.sdf:2") && strstr(error.text, expected), "%s: %s", what, error.text);
}

static inline void run_until(double time_s)
{
	struct troupe_limits limits = {.until_s = time_s};
	struct troupe_error error;
	cr_assert_eq(troupe_server_run(server, &limits, &error), TROUPE_OK, "%s", error.text);
}

/* Gives a command for the next step. */
static inline void command(const char *topic, const char *text)
{
	struct troupe_error error;
	cr_assert_eq(troupe_server_command(server, 0, topic, text, &error), TROUPE_OK, "%s", error.text);
}

struct query {
	const char *name;
	struct troupe_pose pose;
	bool found;
};

static inline void find(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct query *query = ctx;
	for (uint32_t i = 0; i < snapshot->model_count; i++)
		if (!strcmp(snapshot->models[i].name, query->name)) {
			query->pose = snapshot->models[i].pose;
			query->found = true;
		}
}

static inline struct troupe_pose pose_of(const char *name)
{
	struct query query = {.name = name};
	troupe_server_snapshot(server, find, &query);
	cr_assert(query.found, "no model '%s'", name);
	return query.pose;
}

static void expect(const char *what, double measured, double analytic, double tolerance)
{
	printf("%-52s analytic %12.6f  measured %12.6f  off by %.2e\n", what, analytic, measured, measured - analytic);
	cr_assert(fabs(measured - analytic) <= tolerance, "%s: %g, expected %g within %g", what, measured, analytic,
		tolerance);
}

#endif
