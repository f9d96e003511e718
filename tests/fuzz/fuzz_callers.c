/* Feeds damaged calls to the services of barrier clients (gateway/lockstep/callers.h), before a run, between its steps
 * and while its step waits for answers. fuzz_callers [SEED ROUNDS]; without arguments some thousand rounds over valid
 * lists of calls, which are taken undamaged, too. Whatever comes in: each call has one reply and no second one, each
 * reply can be read again, a Step is that of the open barrier, and the run does not wait for a client for ever.
 *
 * An input is a list of calls: a byte (the service, and the two flags below), the length in 16 bits, the message. All
 * of it happens on one thread, so that an input does the same each time: a client of the server, whose name comes
 * before all other names, takes part in the lockstep, and makes the calls when it is asked for its own answer. At the
 * end of each turn it calls for all that have joined what a good client calls. With WITHOUT_MAIN it is a target for
 * tests/fuzz/run. */
#include "base/hash.h"
#include "gateway/lockstep/callers.h"
#include "topic/lockstep.pb-c.h"
#include "topic/message.h"

#include "rounds.h"

#include "../named.h"

#include <troupe/barrier.h>
#include <troupe/client.h>
#include <troupe/server.h>

enum { STEPS = 6, CALL_DIRECT = 4, CALL_LAST = 8, HEAD_BYTES = 3 };

struct answer { /* to a request */
	uint32_t times;
	Troupe__Msgs__LockstepToClient__WhatCase what;
	uint64_t step; /* of a Step */
};

struct play {
	const uint8_t *bytes, *at, *end;
	size_t count;
	struct callers *callers;
	struct troupe_server *server;
	VEC(struct answer) answers; /* by request, from 1 */
	VEC(char *) names;          /* that were welcomed */
	uint64_t step, welcomes;    /* step: the last one that began */
};

static uint64_t steps_told, ends_told, refusals; /* of all inputs */

#define must(good, what, of) must(good, what, ((const struct play *)(of))->bytes, ((const struct play *)(of))->count)

/* --- calls and replies -------------------------------------------------------------------------------------------- */

static void on_reply(void *ctx, uint64_t request, const void *bytes, size_t count)
{
	struct play *play = ctx;
	ProtobufCMessage *message;
	must(request && request <= play->answers.count, "a reply to no request", play);
	struct answer *answer = &play->answers.at[request - 1];
	must(!answer->times++, "two replies to one request", play);
	must(!message_of_bytes(&troupe__msgs__lockstep_to_client__descriptor, bytes, count, &message_limits_usual,
		     &message, NULL),
		"a reply that cannot be read", play);
	const Troupe__Msgs__LockstepToClient *reply = (const void *)message;
	answer->what = reply->what_case;
	must(answer->what, "an empty reply", play);
	if (answer->what == TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_STEP) {
		answer->step = reply->step->step;
		must(answer->step <= play->step && reply->step->time_ns <= (int64_t)play->step * 1000000,
			"a Step that is not there yet", play);
		steps_told++;
	}
	play->welcomes += answer->what == TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_WELCOME;
	ends_told += answer->what == TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_ENDED;
	refusals += answer->what == TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_REFUSED;
	message_free(message);
}

/* Keeps the name of a client that may have joined. */
static void keep_name(struct play *play, const void *bytes, size_t count)
{
	ProtobufCMessage *message;
	must(!message_of_bytes(
		     &troupe__msgs__lockstep_join__descriptor, bytes, count, &message_limits_usual, &message, NULL),
		"a welcome for what cannot be read", play);
	vec_push(&play->names, mem_strdup(((const Troupe__Msgs__LockstepJoin *)message)->name));
	message_free(message);
}

static struct answer call(struct play *play, enum callers_service service, bool direct, const void *bytes, size_t count)
{
	uint64_t request = play->answers.count + 1;
	char *copy = mem_alloc(count + !count); /* of this size, so that a sanitizer sees every look beyond it */
	memcpy(copy, bytes, count);
	vec_push(&play->answers, (struct answer){0});
	if (service != CALLERS_STEP || !direct || !callers_answer(play->callers, request, copy, count))
		callers_take(play->callers, service, 0, request, copy, count);
	else
		must(!play->answers.at[request - 1].times, "a reply from callers_answer()", play);
	free(copy);
	struct answer answer = play->answers.at[request - 1];
	if (service == CALLERS_JOIN && answer.what == TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_WELCOME)
		keep_name(play, bytes, count);
	return answer;
}

static struct answer call_turn(struct play *play, char *name, const uint64_t *done_with)
{
	Troupe__Msgs__LockstepTurn turn = TROUPE__MSGS__LOCKSTEP_TURN__INIT;
	Troupe__Msgs__LockstepDone done = TROUPE__MSGS__LOCKSTEP_DONE__INIT;
	struct text bytes = {0};
	turn.name = name;
	if (done_with) {
		done.step = *done_with;
		turn.done = &done;
	}
	message_add_bytes(&bytes, &turn.base);
	struct answer answer = call(play, CALLERS_STEP, done_with, bytes.at, bytes.count);
	text_fini(&bytes);
	return answer;
}

/* Makes the calls of the input up to the last one of a turn. */
static void play_turn(struct play *play)
{
	bool last = false;
	while (!last && play->end - play->at >= HEAD_BYTES) {
		uint8_t head = play->at[0];
		size_t count =
			MIN((size_t)(play->at[1] | play->at[2] << 8), (size_t)(play->end - play->at) - HEAD_BYTES);
		play->at += HEAD_BYTES + count;
		(void)call(play, (enum callers_service)(head % 4 % CALLERS_SERVICES), head & CALL_DIRECT,
			play->at - count, count);
		last = head & CALL_LAST;
	}
}

/* What a good client does: asks for its Step, and answers it. */
static void settle(struct play *play)
{
	for (uint32_t i = play->names.count; i-- > 0;) {
		struct answer answer = call_turn(play, play->names.at[i], NULL);
		if (answer.what == TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_STEP)
			answer = call_turn(play, play->names.at[i], &answer.step);
		if (answer.what != TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_REFUSED &&
			answer.what != TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_ENDED)
			continue;
		free(play->names.at[i]);
		play->names.at[i] = play->names.at[--play->names.count];
	}
}

/* --- the client that makes the calls ------------------------------------------------------------------------------ */

static void begin(void *ctx, const struct troupe_barrier *barrier)
{
	((struct play *)ctx)->step = barrier->step;
}

static troupe_answer answer(
	void *ctx, const struct troupe_barrier *barrier, uint64_t wait_ns, struct troupe_error *error)
{
	(void)barrier, (void)wait_ns, (void)error;
	play_turn(ctx);
	settle(ctx);
	return TROUPE_ANSWER_DONE;
}

static void out(void *ctx, const struct troupe_error *why)
{
	(void)ctx, (void)why;
}

static const struct troupe_barrier_ops ops = {begin, answer, out};

/* --- one input ---------------------------------------------------------------------------------------------------- */

static void on_warning(void *ctx, const char *text)
{
	must(*text && !strchr(text, '\n'), "a warning of more than one line", ctx);
}

static struct troupe_client *open_run(struct play *play)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_client_def client_def = {.depth = 4};
	struct troupe_join join = {.name = "-", .ops = &ops, .ctx = play};
	struct troupe_client *client;
	struct troupe_error error;
	def.world_path = "fuzz.sdf";
	def.world_text = named_world("driven", NULL);
	def.secondaries = 0;
	def.on_warning = on_warning;
	def.ctx = play;
	if (troupe_server_create(&def, &play->server, &error) ||
		troupe_client_create(play->server, &client_def, &client, &error) ||
		troupe_client_join(client, &join, &error))
		must(false, error.text, play);
	play->callers = callers_create(play->server, on_reply, play);
	return client;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct play play = {.bytes = bytes, .at = bytes, .end = bytes + count, .count = count};
	struct troupe_client *client = open_run(&play);
	struct troupe_error error = {.text = ""};
	troupe_status status = TROUPE_OK;
	play_turn(&play); /* before the run */
	for (int i = 0; i < STEPS && !status; i++)
		status = troupe_server_step(play.server, 1, &error);
	must(!status || strstr(error.text, "barrier client '"), "a run that failed for another reason", &play);
	must(callers_joined(play.callers) == play.welcomes, "clients that were not counted", &play);
	callers_destroy(play.callers, status, status ? error.text : "the run has ended");
	for (uint32_t i = 0; i < play.answers.count; i++)
		must(play.answers.at[i].times == 1, "a request without a reply", &play);
	troupe_client_destroy(client);
	troupe_server_destroy(play.server);
	for (uint32_t i = 0; i < play.names.count; i++)
		free(play.names.at[i]);
	vec_free(&play.names);
	vec_free(&play.answers);
	return 0;
}

#ifndef WITHOUT_MAIN

enum { LISTS = 5, ROUNDS = 3000 };
static struct text corpus[LISTS];

static void add(struct text *out, unsigned flags, enum callers_service service, const char *text)
{
	ProtobufCMessage *message;
	struct troupe_error error;
	struct text bytes = {0};
	if (message_of_text(type_find(callers_rows[service].type), text, &message_limits_usual, &message, &error)) {
		fprintf(stderr, "fuzz_callers: %s\n", error.text);
		exit(1);
	}
	message_add_bytes(&bytes, message);
	message_free(message);
	text_add_bytes(out, (char[]){(char)(service | flags), (char)(bytes.count & 0xff), (char)(bytes.count >> 8)}, 3);
	text_add_bytes(out, bytes.count ? bytes.at : "", bytes.count);
	text_fini(&bytes);
}

#define JOIN(name, rest) "version: 1 name: '" name "' " rest
#define TURN(name, step, rest) "name: '" name "' done {step: " #step " " rest "}"

static void make_corpus(void)
{
	/* a client of each step with a command, and one of every second step */
	add(&corpus[0], 0, CALLERS_JOIN, JOIN("x", "subscribe {topic: '/clock'}"));
	add(&corpus[0], 0, CALLERS_JOIN, JOIN("y", "period_ns: 2000000 text_form: true subscribe {topic: '/clock'}"));
	add(&corpus[0], CALL_LAST, CALLERS_STEP, "name: 'x'");
	add(&corpus[0], CALL_LAST | CALL_DIRECT, CALLERS_STEP,
		TURN("x", 0, "message {topic: '/model/box/cmd_vel' content: 'linear {x: 1}'}"));
	add(&corpus[0], CALL_LAST, CALLERS_STEP,
		TURN("x", 1, "message {topic: '/none' data: 'a'} subscribe {topic: '/stats'} unsubscribe: '/clock'"));
	/* joins and leaves, also before the run and twice */
	add(&corpus[1], 0, CALLERS_JOIN, JOIN("x", ""));
	add(&corpus[1], 0, CALLERS_JOIN, JOIN("x", ""));
	add(&corpus[1], 0, CALLERS_LEAVE, "name: 'x'");
	add(&corpus[1], CALL_LAST, CALLERS_LEAVE, "name: 'x'");
	add(&corpus[1], CALL_LAST, CALLERS_JOIN, JOIN("x", "failure: END"));
	add(&corpus[1], CALL_LAST, CALLERS_LEAVE, "name: 'x'");
	/* an answer for another step: the run goes on */
	add(&corpus[2], CALL_LAST, CALLERS_JOIN, JOIN("x", ""));
	add(&corpus[2], CALL_LAST | CALL_DIRECT, CALLERS_STEP, TURN("x", 7, ""));
	add(&corpus[2], CALL_LAST, CALLERS_STEP, "name: 'x'");
	/* the same: the run ends, another client is told */
	add(&corpus[3], 0, CALLERS_JOIN, JOIN("x", "failure: END deadline_ns: 1000000000"));
	add(&corpus[3], CALL_LAST, CALLERS_JOIN, JOIN("y", ""));
	add(&corpus[3], 0, CALLERS_STEP, "name: 'y'");
	add(&corpus[3], CALL_LAST, CALLERS_STEP, TURN("x", 7, ""));
	/* lost replies and answers ahead */
	add(&corpus[4], 0, CALLERS_STEP, "name: 'x'");
	add(&corpus[4], 0, CALLERS_JOIN, JOIN("x", "world: 'w'"));
	add(&corpus[4], CALL_LAST, CALLERS_STEP, TURN("x", 0, ""));
	add(&corpus[4], 0, CALLERS_STEP, TURN("x", 0, ""));
	add(&corpus[4], CALL_LAST, CALLERS_STEP, TURN("x", 0, ""));
	add(&corpus[4], CALL_LAST | CALL_DIRECT, CALLERS_STEP, "name: 'x'");
}

/* Bytes as numbers and texts, and whole calls cut out, doubled or put elsewhere. */
static void damage(struct text *list)
{
	const struct text *other = &corpus[rounds_below(LISTS)];
	size_t at = rounds_below(list->count + 1), from = rounds_below(other->count);
	size_t calls = 0, begins[64];
	for (size_t i = 0; i + HEAD_BYTES <= list->count && calls < ARRAY_LEN(begins);
		i += HEAD_BYTES + (size_t)((uint8_t)list->at[i + 1] | (uint8_t)list->at[i + 2] << 8))
		begins[calls++] = i;
	switch (rounds_below(6)) {
	case 0:
		rounds_replace(list, at, rounds_below(20), "", 0);
		break;
	case 1:
		rounds_replace(list, at, 0, other->at + from, rounds_below(other->count - from) + 1);
		break;
	case 2: /* from one call on another list */
		if (calls)
			rounds_replace(list, begins[rounds_below(calls)], 0, other->at, other->count);
		break;
	case 3: /* other flags, another service */
		if (calls)
			list->at[begins[rounds_below(calls)]] = (char)rounds_below(16);
		break;
	default:
		if (at < list->count)
			list->at[at] = (char)(list->at[at] ^ (1 << rounds_below(8)));
	}
}

/* Lists as they are: how many Steps, ends and refusals they are told. */
static void check_valid(void)
{
	static const uint64_t expected[LISTS][3] = {{15, 2, 5}, {1, 2, 5}, {0, 1, 3}, {2, 2, 1}, {12, 1, 3}};
	for (int i = 0; i < LISTS; i++) {
		uint64_t before[3] = {steps_told, ends_told, refusals};
		(void)LLVMFuzzerTestOneInput((const uint8_t *)corpus[i].at, corpus[i].count);
		uint64_t told[3] = {steps_told - before[0], ends_told - before[1], refusals - before[2]};
		if (memcmp(told, expected[i], sizeof told) == 0)
			continue;
		fprintf(stderr, "fuzz_callers: list %d: %d Steps, %d ends, %d refusals: expected %d, %d, %d\n", i,
			(int)told[0], (int)told[1], (int)told[2], (int)expected[i][0], (int)expected[i][1],
			(int)expected[i][2]);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	const char *folder = seeds_wanted(argc, argv);
	make_corpus();
	for (unsigned i = 0; i < LISTS && folder; i++)
		seeds_write(folder, "callers", i, corpus[i].at, corpus[i].count);
	if (!folder)
		check_valid();
	rounds_state = argc > 2 && !folder ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t rounds = argc > 2 && !folder ? strtoull(argv[2], NULL, 10) : folder ? 0 : ROUNDS;
	for (int i = 0; i < LISTS && rounds; i++)
		rounds_run(corpus[i].at, corpus[i].count, rounds / LISTS, damage);
	printf("%llu rounds: %llu Steps, %llu ends, %llu refusals\n1 passed, 0 failed\n", (unsigned long long)rounds,
		(unsigned long long)steps_told, (unsigned long long)ends_told, (unsigned long long)refusals);
	for (int i = 0; i < LISTS; i++)
		text_fini(&corpus[i]);
	return 0;
}

#endif
