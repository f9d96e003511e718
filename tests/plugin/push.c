/* A plug-in for tests: it pushes its model to and fro, and counts its steps in words. Each macro makes it break one
 * rule of troupe/plugin.h; test_plugins.sh builds one library for each. */
#include <troupe/plugin.h>

#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifndef ABI
#define ABI TROUPE_PLUGIN_ABI
#endif
#ifndef KIND_FLAGS
#define KIND_FLAGS TROUPE_IN_MODEL
#endif
#ifndef KIND_SIZE
#define KIND_SIZE sizeof(struct troupe_kind)
#endif

struct words {
	double push;
	uint64_t steps;
};

struct config {
	uint32_t link;
	double force;
	double *seen;
	uint64_t *last; /* the step before, and 1 */
	uint32_t spoken;
	const struct troupe_field *data, *name, *position, *x;
};

#if defined STUCK || defined STUCK_UPDATE
/* The file says that it has come so far. */
static void stay_at_7(const struct troupe_step *step)
{
	if (step->number >= 7)
		fclose(fopen("stuck.here", "w"));
	while (step->number >= 7)
		(void)usleep(1000);
}
#endif

static bool configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	struct config *config = self->config = self->host->alloc(self, sizeof *config);
	uint32_t count;
	config->seen = self->host->alloc(self, sizeof *config->seen);
	config->last = self->host->alloc(self, sizeof *config->last);
	config->force = self->host->number(self, plugin, "force", 1);
	config->link = self->host->links(self, &count);
#ifdef CRASH_SOON
	config->force = *(volatile double *)(uintptr_t)(count & 8);
#endif
#ifdef STUCK_SOON
	for (;;)
		(void)usleep(1000);
#endif
#ifdef ROUNDS
	(void)fesetround(FE_UPWARD);
#endif
#ifdef GIVES
	struct troupe_output output = {"/given", "gz.msgs.Double", (enum troupe_gives)GIVES, RATE, NULL, NULL, 0, NULL};
	if (!self->host->give(self, plugin, &output, NULL))
		return false;
#endif
#if defined REPORTS || defined SPEAKS
	struct troupe_output spoken = {.name = self->host->print(self, "/model/%s/push", self->host->owner_name(self)),
		.type = "gz.msgs.Double"};
#ifdef SPEAKS
	spoken.gives = TROUPE_GIVES_PUBLISHED;
#endif
	config->data = self->host->field(self, "gz.msgs.Double", "data");
	if (!self->host->give(self, plugin, &spoken, &config->spoken))
		return false;
#endif
#ifdef ASKS
	config->name = self->host->field(self, "gz.msgs.Pose", "name");
	config->position = self->host->field(self, "gz.msgs.Pose", "position");
	config->x = self->host->field(self, "gz.msgs.Vector3d", "x");
#endif
#ifdef HEARS
	if (!self->host->take(self, plugin, "/hear", "gz.msgs.Double", 0, TROUPE_NOTHING))
		return false;
#endif
#ifdef TAKES
	if (!self->host->take(self, plugin, "/taken", "gz.msgs.Double", 0, TROUPE_NOTHING) ||
		!self->host->take(self, plugin, TAKES, "gz.msgs.Twist", 1, TROUPE_NOTHING))
		return false;
#endif
#ifdef FORGES
	self->model = TROUPE_NOTHING;
	self->kind = NULL;
	return true;
#endif
	return self->host->must_move(self);
}

#ifdef STATIC
static double counter;
#endif

#ifdef DEEP_LATE
static double (*volatile deeper)(uint64_t depth);
static double dig(uint64_t depth)
{
	volatile double room[1000] = {(double)depth};
	deeper = dig;
	return depth ? deeper(depth + 1) + room[depth % 1000] : 0;
}
#endif

static double strength(const struct troupe_system *self, const struct troupe_step *step)
{
	const struct config *config = self->config;
	double force = config->force * self->host->sin((double)step->number * 0.01);
#ifdef STATIC
	force += counter++ * 1e-6;
#endif
#ifdef PER_STEP
	/* what it has seen of this step since the library was loaded: the same in both calls of a step, but another
	 * number when a world goes on in another server */
	const struct config *own = self->config;
	*own->seen += *own->last != step->number + 1;
	*own->last = step->number + 1;
	force += *own->seen * 1e-6;
#endif
#ifdef CLOCK
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	force += (double)now.tv_nsec * 1e-12;
#endif
#ifdef RANDOM
	force += rand() * 1e-12;
#endif
#ifdef ROUNDS
	(void)fesetround(FE_UPWARD);
#endif
#ifdef NOT_A_NUMBER
	if (step->number >= 7)
		force = NAN;
#endif
#ifdef CRASH_LATE
	if (step->number >= 7)
		force = *(volatile double *)(uintptr_t)(step->number & 8);
#endif
#ifdef LEAVE_LATE
	if (step->number >= 7)
		exit(0);
#endif
#ifdef LEAVE_AT_ONCE
	if (step->number >= 7)
		_exit(0);
#endif
#ifdef LEAVE_THREAD
	if (step->number >= 7)
		pthread_exit(NULL);
#endif
#ifdef LEAVE_QUICKLY
	if (step->number >= 7)
		quick_exit(0);
#endif
#ifdef STUCK
	stay_at_7(step);
#endif
#ifdef FORKS
	if (step->number == 7)
		(void)fork();
#endif
#ifdef ABORT_LATE
	if (step->number >= 7)
		abort();
#endif
#ifdef DEEP_LATE
	if (step->number >= 7)
		force = dig(step->number);
#endif
	return force;
}

#ifdef HANDLES
/* Handles that are no handles. */
static void grope(const struct troupe_system *self, const struct troupe_step *step)
{
	static const uint32_t none[] = {TROUPE_NOTHING, 1000000, 77};
	const struct troupe_host *host = self->host;
	struct troupe_twist twist = {{1, 0, 0}, {0, 0, 1}};
	struct troupe_wrench wrench = {{1, 0, 0}, {0, 0, 1}};
	for (int i = 0; i < 3; i++) {
		uint32_t h = none[i];
		host->model_pose(step, h, TROUPE_NOW);
		host->link_pose(step, h, TROUPE_NOW);
		host->link_twist(step, h, TROUPE_NOW);
		host->centre(step, h, TROUPE_NOW);
		host->centre_velocity(step, h, TROUPE_NOW);
		host->joint_position(step, h, 0, TROUPE_NOW);
		host->joint_position(step, h, 9, TROUPE_NOW);
		host->joint_velocity(step, h, 0, TROUPE_NOW);
		host->joint_axis(step, h, 0, TROUPE_NOW);
		host->joint_force(step, h, 1);
		host->joint_drive(step, h, 1);
		host->joint_release(step, h);
		if (host->joint_asked(step, h))
			abort();
		host->link_force(step, h, troupe_vec3_make(0, 0, 0), wrench);
		host->link_drive(step, h, twist);
		host->model_drive(step, h, twist);
		host->model_moves(step, h);
		host->model_name(step, h);
		host->find_link_of(step, h, "x");
		host->find_joint_of(step, h, "x");
	}
}

/* Functions for configure(), called elsewhere: the system is as it is. */
static void come_late(const struct troupe_system *self)
{
	struct troupe_system *mine = (struct troupe_system *)(uintptr_t)self;
	const struct troupe_host *host = self->host;
	struct troupe_output output = {"/late", "gz.msgs.Double", TROUPE_GIVES_REPORT, 0, NULL, NULL, 0, NULL};
	*(char *)host->alloc(mine, 100) = *host->print(mine, "%d", 5);
	host->refuse(mine, NULL, "late");
	host->leave_out(mine, NULL, "late");
	host->warn(mine, NULL, "late");
	host->find_joint(self, "x", true);
	host->find_link(self, "x");
	host->joint(mine, NULL, "x");
	host->link(mine, NULL, "x");
	host->add_words(mine, "late", TROUPE_WORD_DOUBLE, 1);
	host->take(mine, NULL, "/late", "gz.msgs.Double", 0, TROUPE_NOTHING);
	host->give(mine, NULL, &output, NULL);
	host->field(mine, "gz.msgs.Double", "data");
	uint32_t corners = 1;
	if (host->link_triangles(mine, 1000000, 0, &corners) || corners)
		abort();
}
#endif

#ifdef PRIES
/* What a runner knows of other models, and of a state that is not there yet, must not reach a plug-in: it depends on
 * how the work is divided. */
static void pry(const struct troupe_system *self, const struct troupe_step *step, struct words *words)
{
	const struct troupe_host *host = self->host;
	uint32_t other = self->model ^ 1, count, link = host->links(self, &count) ^ 1;
	words->steps += host->models(step) + host->find_model(step, "b") + (host->model_name(step, other) != NULL);
	words->steps += host->find_link_of(step, other, "l") + host->model_moves(step, other);
	words->push += host->model_pose(step, other, TROUPE_NOW).x + host->link_pose(step, link, TROUPE_NOW).x;
	words->push += host->link_twist(step, link, TROUPE_NOW).linear.x + host->centre(step, link, TROUPE_NOW).x;
	words->push += host->model_pose(step, self->model, TROUPE_NEXT).x;
	words->push += host->centre_velocity(step, link, TROUPE_NOW).x;
}
#endif

static void pre_update(const struct troupe_system *self, const struct troupe_step *step, void *memory)
{
	const struct config *config = self->config;
	struct words *words = memory;
	struct troupe_wrench wrench = {{0, 0, 0}, {0, 0, 0}};
#ifdef HANDLES
	grope(self, step);
	come_late(self);
#endif
	words->steps++;
	words->push = strength(self, step);
#ifdef PRIES
	pry(self, step, words);
#endif
#ifdef BEYOND
	if (step->number >= 5)
		words[1].push = 1;
#endif
#ifdef FAR_BEYOND
	if (step->number >= 5)
		words[1000].push = 1;
#endif
	wrench.force.x = words->push;
	self->host->link_force(step, config->link, troupe_vec3_make(0, 0, 0), wrench);
}

static void post_update(const struct troupe_system *self, const struct troupe_step *step, void *memory)
{
	(void)self, (void)step, (void)memory;
}

#ifdef REPORTS
/* a sensor with noise of its own */
static bool report(const struct troupe_system *self, const struct troupe_step *step, const void *memory,
	uint32_t output, struct troupe_message *message)
{
	const struct words *words = memory;
	(void)step, (void)output;
	self->host->put(message, ((const struct config *)self->config)->data, words->push + rand());
	return true;
}
#endif

#ifdef HEARS
static void command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *memory)
{
	(void)self, (void)input, (void)message;
	((struct words *)memory)->steps += (uint64_t)rand();
}
#endif

#ifdef SPEAKS
static void update(const struct troupe_system *self, const struct troupe_step *step, void *memory)
{
	const struct config *config = self->config;
	struct troupe_message *message = self->host->message(step, "gz.msgs.Double");
	(void)memory;
	self->host->put(message, config->data, rand());
	self->host->publish(self, step, config->spoken, message);
}
#endif

#ifdef ASKS
/* of the requests that are obeyed the last one shows where the model is */
static void update(const struct troupe_system *self, const struct troupe_step *step, void *memory)
{
	const struct troupe_host *host = self->host;
	const struct config *config = self->config;
	(void)memory;
	for (uint32_t i = 0; step->number == 5 && i < 100000; i++) {
		struct troupe_message *message = host->message(step, "gz.msgs.Pose");
		host->put_text(message, config->name, host->owner_name(self));
		host->put(host->put_part(message, config->position), config->x, i);
		host->request(self, step, "set_pose", message);
	}
}
#endif

#ifdef DECIDES
static void update(const struct troupe_system *self, const struct troupe_step *step, void *memory)
{
	struct words *words = memory;
	(void)self, (void)step;
	words->steps += 1000;
}
#endif

#ifdef STUCK_UPDATE
static void update(const struct troupe_system *self, const struct troupe_step *step, void *memory)
{
	(void)self, (void)memory;
	stay_at_7(step);
}
#endif

#ifdef CRASH
__attribute__((constructor)) static void crash(void)
{
	(void)raise(SIGSEGV);
}
#endif
#ifdef LEAVE
__attribute__((constructor)) static void leave(void)
{
	_exit(3);
}
#endif
#ifdef HANG
__attribute__((constructor)) static void hang(void)
{
	for (;;)
		(void)pause();
}
#endif
#ifdef ROUNDS
__attribute__((constructor)) static void round_up(void)
{
	(void)fesetround(FE_UPWARD);
}
#endif
#ifdef PRINTS
__attribute__((constructor)) static void print(void)
{
	fprintf(stderr, "a library speaks\n");
}
#endif

#ifndef MISSING_SYMBOL
static const struct troupe_parameter parameters[] = {
	{"force", TROUPE_NUMBER, -100, 100, "N; default 1"},
	{NULL, TROUPE_PARTS, 0, 0, NULL},
};

static const struct troupe_words words[] = {
	{"push", TROUPE_WORD_DOUBLE},
	{"steps", TROUPE_WORD_INTEGER},
	{NULL, TROUPE_WORD_DOUBLE},
};

static const struct troupe_kind push = {
	.size = KIND_SIZE,
	.flags = KIND_FLAGS,
	.names = (const char *const[]){"test::Push", "test::Push2", NULL},
	.parameters = parameters,
	.words = words,
#ifndef NO_CONFIGURE
	.configure = configure,
#endif
	.pre_update = pre_update,
	.post_update = post_update,
#if defined ASKS || defined DECIDES || defined SPEAKS || defined STUCK_UPDATE
	.update = update,
#endif
#ifdef REPORTS
	.report = report,
#endif
#ifdef HEARS
	.command = command,
#endif
};

static const struct troupe_kind *const kinds[] = {&push, NULL};

TROUPE_PLUGIN_SYMBOL = {
	.size = sizeof(struct troupe_plugin),
	.abi = ABI,
	.name = "push",
	.version = "1",
	.kinds = kinds,
};
#else
const void *const used[] = {(const void *)configure, (const void *)pre_update, (const void *)post_update};
#endif
