/* Shared by the benches of barrier clients: the world, the messages of the client, and a little protobuf by hand. */
#ifndef BENCH_BARRIER_H
#define BENCH_BARRIER_H

#include "bench.h"

#include "base/text.h"
#include "topic/message.h"

#include <stdio.h>
#include <stdlib.h>

/* A cart with two wheels on a plane, whose odometry comes in each step. */
static const char barrier_world[] =
	"<sdf version='1.9'><world name='w'><model name='ground'><static>true</static><link name='l'>"
	"<collision name='c'><geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link></model>"
	"<model name='cart'><link name='base'><pose>0 0 0.2 0 0 0</pose>"
	"<inertial><mass>10</mass><inertia><ixx>0.2</ixx><iyy>0.35</iyy><izz>0.45</izz></inertia></inertial>"
	"<collision name='c'><geometry><box><size>0.6 0.4 0.2</size></box></geometry></collision></link>"
	"<link name='left'><pose>0.1 0.25 0.15 -1.5707963 0 0</pose>"
	"<inertial><mass>1</mass><inertia><ixx>0.006</ixx><iyy>0.006</iyy><izz>0.011</izz></inertia></inertial>"
	"<collision name='c'><geometry><sphere><radius>0.15</radius></sphere></geometry></collision></link>"
	"<joint name='left_joint' type='revolute'><parent>base</parent><child>left</child>"
	"<axis><xyz expressed_in='__model__'>0 1 0</xyz></axis></joint>"
	"<link name='right'><pose>0.1 -0.25 0.15 -1.5707963 0 0</pose>"
	"<inertial><mass>1</mass><inertia><ixx>0.006</ixx><iyy>0.006</iyy><izz>0.011</izz></inertia></inertial>"
	"<collision name='c'><geometry><sphere><radius>0.15</radius></sphere></geometry></collision></link>"
	"<joint name='right_joint' type='revolute'><parent>base</parent><child>right</child>"
	"<axis><xyz expressed_in='__model__'>0 1 0</xyz></axis></joint>"
	"<plugin name='gz::sim::systems::DiffDrive' filename='x'><left_joint>left_joint</left_joint>"
	"<right_joint>right_joint</right_joint><wheel_separation>0.5</wheel_separation>"
	"<wheel_radius>0.15</wheel_radius><odom_publish_frequency>1000</odom_publish_frequency></plugin></model>"
	"</world></sdf>";

/* Text of a LockstepJoin: a period of one step. */
#define BARRIER_JOIN                                                                                                   \
	"version: 1 name: 'b' failure: END subscribe {topic: '/clock'} subscribe {topic: '/model/cart/odometry'}"
/* Text of a LockstepDone, without its step: a gz.msgs.Twist, linear {x: 0.5}. */
#define BARRIER_DONE                                                                                                   \
	"message {topic: '/model/cart/cmd_vel' data: '\\x12\\x09\\x11\\x00\\x00\\x00\\x00\\x00\\x00\\xe0\\x3f'}"

static inline void barrier_die(const char *what)
{
	fprintf(stderr, "bench of barrier clients: %s\n", what);
	exit(1);
}

/* Appends the bytes of a message that is given as text. */
static inline void barrier_encode(const char *type, const char *text, struct text *out)
{
	ProtobufCMessage *message;
	struct troupe_error error;
	if (message_of_text(type_find(type), text, &message_limits_usual, &message, &error))
		barrier_die(error.text);
	message_add_bytes(out, message);
	message_free(message);
}

static inline size_t barrier_put_varint(unsigned char *at, uint64_t value)
{
	size_t count = 0;
	for (; value >= 0x80; value >>= 7)
		at[count++] = (unsigned char)(value | 0x80);
	at[count++] = (unsigned char)value;
	return count;
}

/* The number of the step in a LockstepToClient that is a Step: skips the tag and the length of a member; the number is
 * its first field, and left out if it is 0. */
static inline uint64_t barrier_step_of(const unsigned char *packet)
{
	const unsigned char *at = packet + 1;
	uint64_t step = 0;
	while (*at++ & 0x80)
		;
	if (*at++ != 1 << 3)
		return 0;
	for (int shift = 0;; shift += 7) {
		step |= (uint64_t)(*at & 0x7f) << shift;
		if (!(*at++ & 0x80))
			return step;
	}
}

/* What is measured, in exchanges/s: the steps of a server with a client; these without the time that the same steps
 * take a server alone; and bare exchanges of as many bytes. */
struct barrier_rates {
	struct bench_samples steps, exchanges, bare;
};

/* exchange(): does so many bare exchanges, and returns their time in ns. */
static inline void barrier_measure(const struct bench_options *options, struct troupe_server *server,
	struct troupe_server *alone, double (*exchange)(void *ctx, uint64_t exchanges), void *ctx, uint64_t steps,
	struct barrier_rates *rates)
{
	uint64_t until = 0;
	for (int r = -1; r < options->repeats; r++) {
		double ns = 0, bare_ns = 0, alone_ns = 0, count = (double)(steps * BENCH_TURNS);
		bench_progress(options, "exchanges", r);
		for (int turn = 0; turn < BENCH_TURNS; turn++) {
			until += steps;
			ns += bench_run(server, until);
			bare_ns += exchange(ctx, steps);
			alone_ns += bench_run(alone, until);
		}
		if (r < 0)
			continue;
		bench_add(&rates->steps, count / ns * 1e9);
		bench_add(&rates->exchanges, count / (ns - alone_ns) * 1e9);
		bench_add(&rates->bare, count / bare_ns * 1e9);
	}
}

/* steps_least: the target for the steps; 0: none. share_least: for the exchanges, as a share of the bare ones. */
static inline void barrier_print(const struct bench_options *options, const char *subject,
	const struct barrier_rates *rates, double steps_least, double share_least, struct troupe_server *server)
{
	struct bench_row row = {subject, "exchanges/s", &rates->steps, NULL, .at_least = steps_least,
		.hash = troupe_server_hash(server)};
	bench_print(options, &row);
	row = (struct bench_row){"the same, without the time of the step", "exchanges/s", &rates->exchanges,
		&rates->bare, .at_least = share_least};
	bench_print(options, &row);
}

#endif
