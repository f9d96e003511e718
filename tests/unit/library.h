/* Shared by the tests of the library: a world with one model of each kind that the headers describe, and calls that
 * must succeed. Only public headers are included, and the programs are linked with the installed library. */
#ifndef TESTS_UNIT_LIBRARY_H
#define TESTS_UNIT_LIBRARY_H

#include <troupe/command.h>
#include <troupe/network.h>
#include <troupe/record.h>
#include <troupe/report.h>
#include <troupe/server.h>
#include <troupe/world.h>

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIB_DT_S 0.001

#define LIB_HEAD                                                                                                       \
	"<physics name='p' type='ode'><max_step_size>0.001</max_step_size><real_time_factor>0</real_time_factor>"      \
	"</physics>"
#define LIB_GROUND                                                                                                     \
	"<model name='ground'><static>true</static><link name='l'><collision "                                         \
	"name='c'><geometry><plane><normal>0 0 1</normal><size>9 "                                                     \
	"8</size></plane></geometry></collision></link></model>"

/* A cube of 1 kg with the edge of half a metre, whose link and body are at the model's origin. */
#define LIB_BOX                                                                                                        \
	"<link name='l'><inertial><mass>1</mass><inertia><ixx>0.04</ixx><iyy>0.04</iyy><izz>0.04</izz></inertia>"      \
	"</inertial><collision name='c'><geometry><box><size>0.5 0.5 0.5</size></box></geometry></collision></link>"
#define LIB_DRIVEN "<plugin name='gz::sim::systems::VelocityControl' filename='x'/>"

#define LIB_WHEEL(side, y)                                                                                             \
	"<link name='" side "'><pose>0.1 " y " 0.15 -1.5707963267948966 0 0</pose><inertial><mass>1</mass>"            \
	"<inertia><ixx>0.006</ixx><iyy>0.006</iyy><izz>0.011</izz></inertia></inertial><collision name='c'>"           \
	"<geometry><sphere><radius>0.15</radius></sphere></geometry></collision></link><joint name='" side "_joint' "  \
	"type='revolute'><parent>base</parent><child>" side "</child><axis><xyz expressed_in='__model__'>0 1 0</xyz>"  \
	"</axis></joint>"

/* Its chassis is 0.2 m above the model's origin. */
#define LIB_CART(name, pose)                                                                                           \
	"<model name='" name "'><pose>" pose "</pose><link name='base'><pose>0 0 0.2 0 0 0</pose><inertial>"           \
	"<mass>10</mass><inertia><ixx>0.2</ixx><iyy>0.35</iyy><izz>0.45</izz></inertia></inertial>"                    \
	"<collision name='c'><geometry><box><size>0.6 0.4 0.2</size></box></geometry></collision>"                     \
	"<collision name='caster'><pose>-0.2 0 -0.12 0 0 0</pose><geometry><sphere><radius>0.08</radius></sphere>"     \
	"</geometry><surface><friction><ode><mu>0</mu><mu2>0</mu2></ode></friction></surface></collision>"             \
	"<visual name='v'><pose>0 0 0.15 0 0 0</pose><geometry><cylinder><radius>0.1</radius><length>0.3</length>"     \
	"</cylinder></geometry><material><diffuse>0.25 0.5 0.75 0.5</diffuse></material></visual></link>" LIB_WHEEL(   \
		"left", "0.25")                                                                                        \
		LIB_WHEEL("right", "-0.25") "<plugin name='gz::sim::systems::DiffDrive' "                              \
					    "filename='x'><left_joint>left_joint</left_joint><right_joint>"            \
					    "right_joint</right_joint><wheel_separation>0.5</"                         \
					    "wheel_separation><wheel_radius>0.15</wheel_radius></plugin>"              \
					    "</model>"

#define LIB_ARM_LINK(name, x)                                                                                          \
	"<link name='" name "'><pose>" x " 0 1 0 0 0</pose><inertial><mass>1</mass><inertia><ixx>0.01</ixx>"           \
	"<iyy>0.01</iyy><izz>0.01</izz></inertia></inertial></link>"
#define LIB_ARM_JOINT(name, type, parent, child)                                                                       \
	"<joint name='" name "' type='" type "'><parent>" parent "</parent><child>" child "</child><axis>"             \
	"<xyz>0 0 1</xyz><limit><lower>-2</lower><upper>3</upper><velocity>40</velocity><effort>50</effort></limit>"   \
	"</axis></joint>"
#define LIB_ARM_DRIVE(system, joint)                                                                                   \
	"<plugin name='gz::sim::systems::" system "' filename='x'><joint_name>" joint "</joint_name></plugin>"

/* A heavy base, a joint for each way to drive one, and a nested model. Its collision is far below its links. */
#define LIB_ARM(name, pose)                                                                                            \
	"<model name='" name "'><pose>" pose "</pose><link name='base'><pose>0 0 0.25 0 0 0</pose><inertial>"          \
	"<mass>100</mass><inertia><ixx>9</ixx><iyy>9</iyy><izz>9</izz></inertia></inertial><collision name='c'>"       \
	"<geometry><box><size>1 1 0.5</size></box></geometry></collision></link>" LIB_ARM_LINK(                        \
		"upper", "0.2") LIB_ARM_LINK("fore", "0.4") LIB_ARM_LINK("slider",                                     \
		"-0.4") "<model name='hand'><link name='palm'><pose>0.6 0 1 0 0 "                                      \
			"0</pose><inertial><mass>0.5</mass><inertia>"                                                  \
			"<ixx>0.01</ixx><iyy>0.01</iyy><izz>0.01</izz></inertia></inertial></link><link "              \
			"name='finger'>"                                                                               \
			"<pose>0.7 0 1 0 0 "                                                                           \
			"0</pose><inertial><mass>0.1</mass><inertia><ixx>0.001</ixx><iyy>0.001</iyy>"                  \
			"<izz>0.001</izz></inertia></inertial></link>" LIB_ARM_JOINT("knuckle", "revolute", "palm",    \
				"finger") "</model>" LIB_ARM_JOINT("elbow", "revolute", "base", "upper")               \
				LIB_ARM_JOINT("wrist", "revolute", "upper", "fore") LIB_ARM_JOINT("grip", "revolute",  \
					"fore", "hand::palm") LIB_ARM_JOINT("rail", "prismatic", "base", "slider")     \
					LIB_ARM_DRIVE("JointController", "elbow")                                      \
						LIB_ARM_DRIVE("JointPositionController", "wrist")                      \
							LIB_ARM_DRIVE("ApplyJointForce", "rail") "</model>"

#define LIB_MODEL(name, pose, content) "<model name='" name "'><pose>" pose "</pose>" content "</model>"

/* A box that swings about the world's x axis. */
#define LIB_SWING                                                                                                      \
	LIB_MODEL("swing", "-8 0 3 0 0 0", LIB_BOX)                                                                    \
	"<joint name='tether' type='revolute'><pose relative_to='swing::l'>0 1 0 0 0 0</pose><parent>world</parent>"   \
	"<child>swing::l</child><axis><xyz>1 0 0</xyz></axis></joint>"

#define LIB_WORLD(name, content) "<world name='" name "'>" LIB_HEAD LIB_GROUND content "</world>"
#define LIB_SDF(worlds) "<sdf version='1.11'>" worlds "</sdf>"

#define LIB_ALL                                                                                                        \
	LIB_CART("cart", "0 0 0 0 0 0")                                                                                \
	LIB_ARM("arm", "0 5 0 0 0 0")                                                                                  \
	LIB_MODEL("pusher", "0 -3 0.25 0 0 0", LIB_BOX LIB_DRIVEN)                                                     \
	LIB_MODEL("crate", "1.5 -3 0.25 0 0 0", LIB_BOX)                                                               \
	LIB_MODEL("falling", "5 -3 9 0.3 0.2 0.1", LIB_BOX) LIB_SWING

static const char lib_all[] = LIB_SDF(LIB_WORLD("w", LIB_ALL));

/* --- calls that must succeed -------------------------------------------------------------------------------------- */

static struct troupe_error lib_error __attribute__((unused));

#define must(call)                                                                                                     \
	do {                                                                                                           \
		lib_error.text[0] = '\0';                                                                              \
		troupe_status status_ = (call);                                                                        \
		cr_assert_eq(status_, TROUPE_OK, "%s: %s: %s", #call, troupe_status_text(status_), lib_error.text);    \
	} while (0)

/* The call fails with this status, and its error has one line of text. */
#define refused(expected, call)                                                                                        \
	do {                                                                                                           \
		lib_error.text[0] = '\0';                                                                              \
		troupe_status status_ = (call);                                                                        \
		cr_assert_eq(status_, expected, "%s: %s: %s", #call, troupe_status_text(status_), lib_error.text);     \
		cr_assert(*lib_error.text && !strchr(lib_error.text, '\n'), "%s: '%s'", #call, lib_error.text);        \
		cr_assert_eq(lib_error.status, expected, "%s", #call);                                                 \
	} while (0)

static inline struct troupe_server_def lib_def(const char *world, int secondaries)
{
	struct troupe_server_def def = troupe_server_def_default();
	def.world_path = "library.sdf";
	def.world_text = world;
	def.secondaries = secondaries;
	def.pace = TROUPE_PACE_FACTOR;
	return def;
}

/* The servers that a test has not destroyed itself: lib_end() does. */
enum { LIB_SERVERS_MAX = 64 };
static struct troupe_server *lib_servers[LIB_SERVERS_MAX];

static inline struct troupe_server *lib_create(const struct troupe_server_def *def)
{
	uint32_t i = 0;
	while (i < LIB_SERVERS_MAX && lib_servers[i])
		i++;
	cr_assert_lt(i, LIB_SERVERS_MAX, "too many servers at a time");
	must(troupe_server_create(def, &lib_servers[i], &lib_error));
	return lib_servers[i];
}

static inline void lib_destroy(struct troupe_server *server)
{
	for (uint32_t i = 0; i < LIB_SERVERS_MAX; i++)
		if (lib_servers[i] == server)
			lib_servers[i] = NULL;
	troupe_server_destroy(server);
}

/* The .fini of a suite. */
static inline void lib_end(void)
{
	for (uint32_t i = 0; i < LIB_SERVERS_MAX; i++)
		lib_destroy(lib_servers[i]);
}

static inline struct troupe_server *lib_server(const char *world, int secondaries)
{
	struct troupe_server_def def = lib_def(world, secondaries);
	return lib_create(&def);
}

static inline void lib_step(struct troupe_server *server, uint64_t n)
{
	must(troupe_server_step(server, n, &lib_error));
}

static inline void lib_run(struct troupe_server *server, uint64_t until)
{
	const struct troupe_limits limits = {.iterations = until};
	must(troupe_server_run(server, &limits, &lib_error));
}

static inline uint64_t lib_steps(const struct troupe_server *server)
{
	return troupe_server_progress(server).steps;
}

/* Gives a command for this step, or for the next step if this one is past. */
static inline void lib_text(struct troupe_server *server, uint64_t step, const char *topic, const char *text)
{
	const struct troupe_when when = {.step = step};
	must(troupe_command_text(server, &when, topic, text, NULL, &lib_error));
}

static inline bool lib_given(const void *handle)
{
	static const troupe_model none;
	_Static_assert(sizeof(troupe_model) == sizeof(troupe_link) && sizeof(troupe_link) == sizeof(troupe_joint),
		"one test for all handles");
	return memcmp(handle, &none, sizeof none);
}

static inline troupe_model lib_model(const struct troupe_server *server, const char *name)
{
	troupe_model model = troupe_find_model(server, 0, name);
	cr_assert(lib_given(&model), "no model '%s'", name);
	return model;
}

static inline troupe_link lib_link(const struct troupe_server *server, const char *model, const char *name)
{
	troupe_link link = troupe_find_link(server, lib_model(server, model), name);
	cr_assert(lib_given(&link), "no link '%s' in '%s'", name, model);
	return link;
}

static inline troupe_joint lib_joint(const struct troupe_server *server, const char *model, const char *name)
{
	troupe_joint joint = troupe_find_joint(server, lib_model(server, model), name);
	cr_assert(lib_given(&joint), "no joint '%s' in '%s'", name, model);
	return joint;
}

static inline struct troupe_model_state lib_at(const struct troupe_server *server, troupe_model model)
{
	struct troupe_model_state state;
	cr_assert(troupe_get_model(server, model, &state));
	return state;
}

static inline struct troupe_link_state lib_link_at(const struct troupe_server *server, troupe_link link)
{
	struct troupe_link_state state;
	cr_assert(troupe_get_link(server, link, &state));
	return state;
}

static inline struct troupe_joint_state lib_joint_at(const struct troupe_server *server, troupe_joint joint)
{
	struct troupe_joint_state state;
	cr_assert(troupe_get_joint(server, joint, &state));
	return state;
}

#endif
