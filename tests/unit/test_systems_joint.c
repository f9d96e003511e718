/* Joints that systems make and break while the world runs: what is joined moves as one rigid body, and what is not
 * moves by itself. */
#include "clients.h"

#include "systems.h"
#include "topic/plain.pb-c.h"

TestSuite(ties, .fini = clients_end, .timeout = 120);

#define G_M_S2 9.8
#define MASS_A 2.0
#define MASS_B 3.0

#define JOIN(parameters)                                                                                               \
	"<plugin name='gz::sim::systems::DetachableJoint' filename='x'><parent_link>l</parent_link>" parameters        \
	"</plugin>"
#define CHILD(model, link) "<child_model>" model "</child_model><child_link>" link "</child_link>"
#define LINK(name, pose, mass, gravity)                                                                                \
	"<link name='" name "'><pose>" pose "</pose><gravity>" gravity "</gravity>" INERTIA(mass, "0.4") "</link>"
/* Two models without weight, one of which is joined to the other. */
#define A(plugin) "<model name='a'><pose>0 0 5 0 0 0</pose>" LINK("l", "0 0 0 0 0 0", "2", "false") plugin "</model>"
#define B(gravity) "<model name='b'><pose>1 0 5 0 0 0</pose>" LINK("m", "0 0 0 0 0 0", "3", gravity) "</model>"

static uint64_t refusals(void)
{
	struct troupe_report *report = troupe_server_report(server);
	uint64_t count = report->worlds[0].refused_commands;
	troupe_report_free(report);
	return count;
}

/* Where b is, seen from a. */
static struct troupe_pose relative(void)
{
	return troupe_pose_mul(troupe_pose_inverse(model_of("a").pose), model_of("b").pose);
}

/* A force beside the centre of mass moves and turns both as one body, by their mass together. */
Test(ties, joined_models_move_as_one_body)
{
	const double force = 10, t = 0.5;
	start(A(JOIN(CHILD("b", "m"))) B("false"));
	lib_text(server, 1, "/world/w/wrench/persistent", "entity {name: 'a'} wrench {force {y: 10}}");
	lib_run(server, 1 + (uint64_t)(t / LIB_DT_S));
	struct troupe_model_state a = model_of("a"), b = model_of("b");
	NEAR((MASS_A * a.twist.linear.y + MASS_B * b.twist.linear.y) / (MASS_A + MASS_B), force * t / (MASS_A + MASS_B),
		2e-3);
	NEAR(a.twist.angular.z, b.twist.angular.z, 1e-4);
	cr_assert(fabs(a.twist.angular.z) > 0.5, "they do not turn: %g", a.twist.angular.z);
	struct troupe_pose is = relative();
	NEAR(is.x, 1, 2e-4);
	NEAR(is.y, 0, 2e-4);
	NEAR(is.qz, 0, 2e-4);
}

/* As in Gazebo the state is told under the name of the other model, if the world does not name a topic. */
Test(ties, models_that_begin_apart_are_joined_by_a_message)
{
	start(A(JOIN(CHILD("b", "m") "<initial_attach>false</initial_attach>")) B("false"));
	struct troupe_client *client = client_of(server, 100);
	struct troupe_message message;
	subscribe(client, "/model/b/detachable_joint/state", 0);
	lib_text(server, 1, "/world/w/wrench/persistent", "entity {name: 'a'} wrench {force {y: 10}}");
	lib_run(server, 500);
	NEAR(model_of("b").twist.linear.y, 0, 0);
	cr_assert(!troupe_client_take(client, 0, &message));
	lib_text(server, 500, "/model/a/detachable_joint/attach", "");
	lib_run(server, 1000);
	cr_assert_gt(model_of("b").twist.linear.y, 0.1);
	cr_assert(troupe_client_take(client, 0, &message));
}

/* Detached, each goes on by itself; attached again, they stay as they stand then. */
Test(ties, they_part_and_meet_again)
{
	const double force = 10;
	start(A(JOIN(CHILD("b", "m"))) B("false"));
	lib_text(server, 500, "/model/a/detachable_joint/detach", "");
	lib_text(server, 600, "/world/w/wrench", "entity {name: 'a'} wrench {force {x: -1000}}");
	lib_text(server, 1000, "/model/a/detachable_joint/attach", "");
	lib_text(server, 1100, "/world/w/wrench/persistent", "entity {name: 'b'} wrench {force {y: 10}}");
	lib_run(server, 900);
	double v = -1000 * LIB_DT_S / MASS_A;
	NEAR(model_of("a").twist.linear.x, v, 1e-9);
	NEAR(model_of("b").twist.linear.x, 0, 0);
	lib_run(server, 1050);
	/* the two masses share the momentum of the first */
	NEAR(model_of("a").twist.linear.x, v * MASS_A / (MASS_A + MASS_B), 1e-4);
	NEAR(model_of("b").twist.linear.x, v * MASS_A / (MASS_A + MASS_B), 1e-4);
	struct troupe_pose was = relative();
	NEAR(was.x, 1 - v * (1001 - 600) * LIB_DT_S, 2e-3);
	lib_run(server, 1500);
	struct troupe_pose is = relative();
	NEAR(is.x, was.x, 5e-4);
	NEAR(is.y, was.y, 5e-4);
	NEAR((MASS_A * model_of("a").twist.linear.y + MASS_B * model_of("b").twist.linear.y) / (MASS_A + MASS_B),
		force * 0.4 / (MASS_A + MASS_B), 2e-3);
}

/* A weight hangs from a static model, and falls freely from the step after the message. */
Test(ties, a_weight_hangs_from_a_static_model)
{
	const double t = 0.5;
	start("<model name='a'><static>true</static><pose>0 0 6 0 0 0</pose><link name='l'/>" JOIN(
		CHILD("b", "m")) "</model>" B("true"));
	lib_text(server, 1999, "/model/a/detachable_joint/detach", "");
	lib_run(server, 1999);
	NEAR(model_of("b").pose.z, 5, 1e-5);
	lib_run(server, 2000 + (uint64_t)(t / LIB_DT_S));
	NEAR(model_of("b").pose.z, 5 - G_M_S2 * t * t / 2, 2 * G_M_S2 * t * LIB_DT_S);
}

/* Two links of one model; a model in the model; by the name of the other model. */
Test(ties, links_of_one_model_are_joined)
{
	static const char *const children[] = {
		CHILD("__model__", "k"), CHILD("inner", "k"), CHILD("a", "k"), CHILD("a", "inner::k")};
	for (size_t i = 0; i < sizeof children / sizeof *children; i++) {
		const char *other = LINK("k", "0.5 0 0 0 0 0", "3", "false");
		char *nested = mem_printf("<model name='inner'>%s</model>", other);
		char *world = mem_printf("<model name='a'><pose>0 0 5 0 0 0</pose>" LINK(
						 "l", "0 0 0 0 0 0", "2", "false") "%s" JOIN("%s") "</model>",
			i % 2 ? nested : other, children[i]);
		start(world);
		lib_text(server, 1, "/world/w/wrench/persistent", "entity {name: 'a::l'} wrench {force {z: 10}}");
		lib_run(server, 501);
		struct troupe_link_state k;
		struct troupe_link handle = troupe_find_link(server, lib_model(server, "a"), i % 2 ? "inner::k" : "k");
		cr_assert(troupe_get_link(server, handle, &k));
		cr_assert(fabs(k.twist.linear.z) > 0.1, "case %zu: the other link stays behind", i);
		free(world);
		free(nested);
	}
}

static char *next_state(struct troupe_client *client)
{
	struct troupe_message message;
	char *text = NULL;
	while (!text && troupe_client_take(client, 0, &message)) {
		Gz__Msgs__StringMsg *m = decode(&message);
		text = mem_strdup(m->data);
		message_free(&m->base);
	}
	return text;
}

/* The other model comes later, is removed, and comes again. */
Test(ties, the_other_model_comes_and_goes)
{
	start(A(JOIN(CHILD("b", "m") "<output_topic>/state</output_topic><attach_topic>/on</attach_topic>"
				     "<detach_topic>/off</detach_topic>")));
	struct troupe_client *client = client_of(server, 0);
	subscribe(client, "/state", 0);
	lib_run(server, 100);
	cr_assert_null(next_state(client));
	lib_text(server, 100, "/world/w/create", "sdf: \"<sdf version='1.9'>" B("false") "</sdf>\"");
	lib_run(server, 110);
	char *state = next_state(client);
	cr_assert_str_eq(state, "attached");
	free(state);
	lib_text(server, 120, "/world/w/set_pose", "name: 'b' position {x: 2}");
	lib_text(server, 120, "/world/w/set_pose", "name: 'a' position {x: 2}");
	lib_run(server, 130);
	cr_assert_eq(refusals(), 2);
	lib_text(server, 140, "/world/w/remove", "name: 'b' type: MODEL");
	lib_text(server, 150, "/world/w/set_pose", "name: 'a' position {x: 2 z: 5}");
	lib_run(server, 160);
	cr_assert_eq(refusals(), 2);
	state = next_state(client);
	cr_assert_str_eq(state, "detached");
	free(state);
}

/* A reset of the world joins them again where they began. One of them alone is reset without the other. */
Test(ties, a_reset_joins_them_as_at_first)
{
	start(A(JOIN(CHILD("b", "m"))) B("false"));
	lib_text(server, 100, "/model/a/detachable_joint/detach", "");
	lib_text(server, 110, "/world/w/wrench", "entity {name: 'a'} wrench {force {x: -1000}}");
	lib_text(server, 300, "/world/w/control", "reset {all: true}");
	lib_text(server, 310, "/world/w/wrench", "entity {name: 'a'} wrench {force {x: -1000}}");
	lib_text(server, 700, "/world/w/reset_model", "name: 'b'");
	lib_run(server, 299);
	cr_assert(relative().x > 1.05);
	lib_run(server, 600);
	NEAR(relative().x, 1, 1e-5);
	cr_assert(model_of("b").pose.x < 0.99);
	lib_run(server, 800);
	NEAR(model_of("b").pose.x, 1, 0);
	cr_assert(model_of("a").twist.linear.x < -0.1);
}
