/* Shared by tests that run one small world with systems and ground in it. */
#ifndef TESTS_UNIT_SYSTEMS_H
#define TESTS_UNIT_SYSTEMS_H

#include "library.h"

#include "base/base.h"

#define PLUGIN(name, parameters) "<plugin name='gz::sim::systems::" name "' filename='x'>" parameters "</plugin>"
#define INERTIA(mass, i)                                                                                               \
	"<inertial><mass>" mass "</mass><inertia><ixx>" i "</ixx><iyy>" i "</iyy><izz>" i "</izz></inertia></"         \
	"inertial>"

#define NEAR(is, expected, tolerance)                                                                                  \
	do {                                                                                                           \
		double is_ = (is), expected_ = (expected), tolerance_ = (tolerance);                                   \
		cr_assert(fabs(is_ - expected_) <= tolerance_, "%s is %.9g: expected %.9g, to %g", #is, is_,           \
			expected_, tolerance_);                                                                        \
	} while (0)

/* Far from all that a test is about, and before it: so nothing there is the first of the world. */
#define SYSTEMS_BEFORE_LINK(name)                                                                                      \
	"<link name='" name "'><pose>1 2 3 0.1 0.2 0.3</pose>" INERTIA(                                                \
		"3", "0.7") "<collision name='c'><geometry>"                                                           \
			    "<box><size>0.1 0.2 0.3</size></box></geometry></collision></link>"
#define SYSTEMS_BEFORE                                                                                                 \
	"<model name='before'><pose>9000 0 5000 0.3 0.2 0.1</pose>" SYSTEMS_BEFORE_LINK("x") SYSTEMS_BEFORE_LINK(      \
		"y") "<joint name='xy' type='revolute'><parent>x</parent><child>y</child><axis><xyz>0 1 "              \
		     "0</xyz></axis>"                                                                                  \
		     "</joint></model><model name='still'><pose>9000 900 5000 0 0 0</pose><static>true</static><link " \
		     "name='l'/></model>"

enum { SYSTEMS_BEFORE_MODELS = 2, SYSTEMS_BEFORE_LINKS = 3 };

static struct troupe_server *server;

/* The models begin on line 2 of the world. */
static inline char *world_of(const char *models)
{
	return mem_printf(LIB_SDF("<world name='w'>" LIB_HEAD SYSTEMS_BEFORE LIB_GROUND "\n%s</world>"), models);
}

/* Destroys the server that was started before. */
static inline void start(const char *models)
{
	char *world = world_of(models);
	lib_destroy(server);
	server = lib_server(world, 0);
	free(world);
}

static inline struct troupe_model_state model_of(const char *name)
{
	struct troupe_model_state state;
	cr_assert(troupe_get_model(server, lib_model(server, name), &state));
	return state;
}

static inline double yaw_of(const struct troupe_model_state *state)
{
	return 2 * atan2(state->pose.qz, state->pose.qw);
}

/* The world is refused with a message about a line of the models that contains `what`. */
static inline void expect_refused(const char *models, const char *what)
{
	char *world = world_of(models);
	struct troupe_server_def def = lib_def(world, 0);
	struct troupe_server *none = NULL;
	refused(TROUPE_EWORLD, troupe_server_create(&def, &none, &lib_error));
	cr_assert(strstr(lib_error.text, what) && strstr(lib_error.text, "library.sdf:2:"), "%s", lib_error.text);
	free(world);
}

#endif
