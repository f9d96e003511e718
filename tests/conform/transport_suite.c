#include "transport_suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SECONDARIES_MAX = 16 };

struct bed {
	const struct transport_ops *ops;
	struct transport *transport;
	uint32_t secondaries;
	uint64_t steps;
	uint64_t payloads[64];             /* what the steps carry */
	uint64_t answers[SECONDARIES_MAX]; /* what the acks carry: not atomic, so that a race would show */
	uint64_t turns;                    /* written by all_acked only: not atomic either */
	_Atomic int bad;
	const char *why;
};

static void wrong(struct bed *bed, const char *why)
{
	if (!atomic_exchange(&bed->bad, 1))
		bed->why = why;
}

static void publish(struct bed *bed, uint64_t number)
{
	bed->payloads[number % 64] = number * 3;
	if (bed->ops->publish(bed->transport, (struct transport_message){number, &bed->payloads[number % 64]}))
		wrong(bed, "publish refused a good step");
}

static void on_all_acked(void *ctx)
{
	struct bed *bed = ctx;
	for (uint32_t i = 0; i < bed->secondaries; i++) {
		struct transport_message ack = bed->ops->ack_of(bed->transport, i);
		if (ack.number != bed->turns || *(uint64_t *)ack.payload != bed->turns * 7 + i)
			wrong(bed, "an ack does not carry what its secondary gave");
	}
	if (++bed->turns < bed->steps)
		publish(bed, bed->turns);
	else
		bed->ops->close(bed->transport);
}

struct runner {
	struct bed *bed;
	uint32_t index;
	uint64_t got;
};

static void *run(void *arg)
{
	struct runner *runner = arg;
	struct bed *bed = runner->bed;
	struct transport_message step;
	while (bed->ops->wait(bed->transport, runner->index, &step) == TROUPE_OK) {
		if (step.number != runner->got)
			wrong(bed, "steps do not come each once and in order");
		if (*(uint64_t *)step.payload != step.number * 3)
			wrong(bed, "a step does not carry what the primary gave");
		bed->answers[runner->index] = step.number * 7 + runner->index;
		runner->got++;
		struct transport_message ack = {step.number, &bed->answers[runner->index]};
		if (bed->ops->ack(bed->transport, runner->index, ack))
			wrong(bed, "a good ack was refused");
	}
	return NULL;
}

static void make(struct bed *bed, const struct transport_ops *ops, uint32_t secondaries, uint64_t steps)
{
	struct transport_options options = {.secondaries = secondaries, .all_acked = on_all_acked, .ctx = bed};
	memset(bed, 0, sizeof *bed);
	bed->ops = ops;
	bed->secondaries = secondaries;
	bed->steps = steps;
	if (ops->create(&options, &bed->transport, NULL))
		abort();
}

static const char *play(const struct transport_ops *ops, uint32_t secondaries, uint64_t steps, uint64_t *ret_turns)
{
	static struct bed bed;
	pthread_t threads[SECONDARIES_MAX];
	struct runner runners[SECONDARIES_MAX];
	make(&bed, ops, secondaries, steps);
	for (uint32_t i = 0; i < secondaries; i++) {
		runners[i] = (struct runner){&bed, i, 0};
		if (pthread_create(&threads[i], NULL, run, &runners[i]))
			return "no thread";
	}
	publish(&bed, 0);
	for (uint32_t i = 0; i < secondaries; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < secondaries; i++)
		if (runners[i].got != steps)
			wrong(&bed, "a secondary missed steps");
	*ret_turns = bed.turns;
	ops->destroy(bed.transport);
	return bed.why;
}

const char *suite_order_and_once(const struct transport_ops *ops, uint32_t secondaries, uint64_t steps)
{
	uint64_t turns;
	return play(ops, secondaries, steps, &turns);
}

const char *suite_primary_runs_once_per_step(const struct transport_ops *ops, uint32_t secondaries, uint64_t steps)
{
	uint64_t turns;
	const char *why = play(ops, secondaries, steps, &turns);
	return why ? why : turns == steps ? NULL : "the primary's part did not run once a step";
}

const char *suite_publish_refuses(const struct transport_ops *ops)
{
	static struct bed bed;
	make(&bed, ops, 2, 1);
	publish(&bed, 5);
	const char *why = bed.why;
	if (!why && !ops->publish(bed.transport, (struct transport_message){6, bed.payloads}))
		why = "published while a step is out";
	ops->destroy(bed.transport);
	make(&bed, ops, 1, 3);
	publish(&bed, 0);
	struct transport_message step;
	bed.steps = 1; /* closes when acknowledged */
	if (!why && ops->wait(bed.transport, 0, &step))
		why = "no step";
	bed.answers[0] = 0;
	if (!why && ops->ack(bed.transport, 0, (struct transport_message){0, &bed.answers[0]}))
		why = "ack refused";
	if (!why && !ops->publish(bed.transport, (struct transport_message){1, bed.payloads}))
		why = "published after close";
	ops->destroy(bed.transport);
	return why;
}

static void nothing(void *ctx)
{
	(void)ctx;
}

const char *suite_ack_refuses(const struct transport_ops *ops)
{
	struct transport_options options = {.secondaries = 1, .all_acked = nothing, .ctx = NULL};
	struct transport *transport;
	struct transport_message step, ack = {0, &step};
	const char *why = NULL;
	if (ops->create(&options, &transport, NULL))
		return "not created";
	if (!ops->ack(transport, 0, ack))
		why = "an ack that nobody asked for was taken";
	ops->publish(transport, (struct transport_message){9, &step});
	if (!why && (ops->wait(transport, 0, &step) || step.number != 9))
		why = "no step";
	ack.number = 8;
	if (!why && !ops->ack(transport, 0, ack))
		why = "a late ack was taken";
	ack.number = 10;
	if (!why && !ops->ack(transport, 0, ack))
		why = "an early ack was taken";
	ack.number = 9;
	if (!why && ops->ack(transport, 0, ack))
		why = "a good ack was refused after bad ones";
	if (!why && !ops->ack(transport, 0, ack))
		why = "a repeated ack was taken";
	if (!why && ops->publish(transport, (struct transport_message){11, &step}) == TROUPE_OK)
		why = "a number was skipped";
	if (!why && ops->publish(transport, (struct transport_message){10, &step}))
		why = "the next step was refused";
	ops->close(transport);
	ops->destroy(transport);
	return why;
}

struct sleeper {
	const struct transport_ops *ops;
	struct transport *transport;
	uint32_t index;
	troupe_status got;
};

static void *sleep_until_closed(void *arg)
{
	struct sleeper *sleeper = arg;
	struct transport_message step;
	sleeper->got = sleeper->ops->wait(sleeper->transport, sleeper->index, &step);
	return NULL;
}

const char *suite_close_wakes(const struct transport_ops *ops, uint32_t secondaries)
{
	struct transport_options options = {.secondaries = secondaries, .all_acked = nothing, .ctx = NULL};
	struct transport *transport;
	pthread_t threads[SECONDARIES_MAX];
	struct sleeper sleepers[SECONDARIES_MAX];
	const char *why = NULL;
	if (ops->create(&options, &transport, NULL))
		return "not created";
	for (uint32_t i = 0; i < secondaries; i++) {
		sleepers[i] = (struct sleeper){ops, transport, i, TROUPE_OK};
		if (pthread_create(&threads[i], NULL, sleep_until_closed, &sleepers[i]))
			return "no thread";
	}
	ops->close(transport);
	ops->close(transport);
	for (uint32_t i = 0; i < secondaries; i++) {
		pthread_join(threads[i], NULL);
		if (sleepers[i].got != TROUPE_EPEER)
			why = "a waiting secondary was not told that it is over";
	}
	ops->destroy(transport);
	ops->destroy(NULL);
	return why;
}

const char *suite_close_delivers_first(const struct transport_ops *ops)
{
	struct transport_options options = {.secondaries = 1, .all_acked = nothing, .ctx = NULL};
	struct transport *transport;
	struct transport_message step = {0, NULL};
	const char *why = NULL;
	if (ops->create(&options, &transport, NULL))
		return "not created";
	ops->publish(transport, (struct transport_message){4, &step});
	ops->close(transport);
	if (ops->wait(transport, 0, &step) || step.number != 4)
		why = "a step published before close was lost";
	if (!why && ops->wait(transport, 0, &step) != TROUPE_EPEER)
		why = "no end after the last step";
	ops->destroy(transport);
	return why;
}

const char *suite_create_refuses(const struct transport_ops *ops)
{
	struct transport_options options = {.secondaries = 0, .all_acked = nothing, .ctx = NULL};
	struct transport *transport;
	struct troupe_error error;
	if (ops->create(&options, &transport, &error) != TROUPE_EINVAL || !strstr(error.text, "secondaries"))
		return "created with no secondary";
	options.secondaries = TROUPE_SECONDARIES_MAX + 1;
	return ops->create(&options, &transport, &error) == TROUPE_EINVAL ? NULL : "created with too many secondaries";
}
