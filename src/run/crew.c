#include "run/crew.h"

#include "base/clock.h"
#include "base/gate.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define WATCH_NS 100000000u

struct worker {
	struct crew *crew;
	uint32_t index;
	pthread_t thread;
	struct secondary *secondary;
};

struct crew {
	struct primary *primary;
	struct shared *shared;
	struct crew_watch watch;
	const struct transport_ops *ops;
	struct transport *transport;
	uint32_t count; /* threads; 0: single runner */
	struct worker *workers;
	struct ack **acks;
	struct gate idle;  /* opened when the primary has ended */
	struct gate ready; /* opened by each worker once it can step */
};

/* The message lends the step as it is; const ends at the transport, which only carries it. */
static void send(struct crew *crew, const struct step *step)
{
	void *payload;
	memcpy(&payload, &step, sizeof payload);
	troupe_status status = crew->ops->publish(crew->transport, (struct transport_message){step->number, payload});
	if (!status)
		return;
	crew->primary->status = fail(&crew->primary->error, status, "transport '%s' refused step %llu", crew->ops->name,
		(unsigned long long)step->number);
	gate_open(&crew->idle);
}

/* Runs on the thread of the secondary that acknowledged last. */
static void on_all_acked(void *ctx)
{
	struct crew *crew = ctx;
	for (uint32_t i = 0; i < crew->count; i++)
		crew->acks[i] = crew->ops->ack_of(crew->transport, i).payload;
	if (crew->watch.on_step)
		crew->watch.on_step(crew->watch.ctx);
	const struct step *step = primary_turn(crew->primary, crew->acks);
	if (step)
		send(crew, step);
	else
		gate_open(&crew->idle);
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct crew *crew = worker->crew;
	struct transport_message message;
	worker->secondary = secondary_create(worker->index + 1, crew->shared);
	gate_open(&crew->ready);
	while (crew->ops->wait(crew->transport, worker->index, &message) == TROUPE_OK) {
		struct ack *ack = secondary_step(worker->secondary, message.payload);
		crew->ops->ack(crew->transport, worker->index, (struct transport_message){message.number, ack});
	}
	secondary_destroy(worker->secondary);
	return NULL;
}

static troupe_status start_threads(struct crew *crew, struct troupe_error *error)
{
	for (uint32_t i = 0; i < crew->count; i++) {
		crew->workers[i] = (struct worker){.crew = crew, .index = i};
		int failed = pthread_create(&crew->workers[i].thread, NULL, work, &crew->workers[i]);
		if (failed) {
			crew->count = i;
			return fail(error, TROUPE_ELIMIT, "cannot start thread %u of the secondaries: %s", i + 1,
				strerror(failed));
		}
	}
	for (uint32_t seen = 0; seen < crew->count;)
		seen = gate_wait(&crew->ready, seen, 0, 0);
	return TROUPE_OK;
}

troupe_status crew_create(struct primary *primary, struct shared *shared, uint32_t threads,
	const struct transport_ops *ops, const struct crew_watch *watch, struct crew **ret_crew,
	struct troupe_error *error)
{
	struct crew *crew = aligned_alloc(64, (sizeof *crew + 63) & ~(size_t)63);
	if (!crew)
		return fail(error, TROUPE_ENOMEM, "out of memory");
	*crew = (struct crew){.primary = primary, .shared = shared, .watch = *watch, .ops = ops, .count = threads};
	crew->workers = mem_alloc(MAX(threads, 1u) * sizeof *crew->workers);
	crew->acks = mem_alloc(MAX(threads, 1u) * sizeof *crew->acks);
	troupe_status status = TROUPE_OK;
	if (threads) {
		struct transport_options options = {threads, on_all_acked, crew};
		status = transport_check(ops, error);
		if (!status)
			status = ops->create(&options, &crew->transport, error);
		if (!status)
			status = start_threads(crew, error);
	} else {
		crew->workers[0].secondary = secondary_create(1, shared);
	}
	if (status) {
		crew_destroy(crew);
		return status;
	}
	*ret_crew = crew;
	return TROUPE_OK;
}

static void run_alone(struct crew *crew)
{
	uint64_t watched_ns = clock_now_ns();
	bool first = true;
	const struct step *step;
	physics_thread_begin();
	while ((step = primary_turn(crew->primary, first ? NULL : crew->acks))) {
		crew->acks[0] = secondary_step(crew->workers[0].secondary, step);
		first = false;
		if (crew->watch.on_step)
			crew->watch.on_step(crew->watch.ctx);
		if (crew->watch.on_watch && clock_now_ns() - watched_ns > WATCH_NS) {
			crew->watch.on_watch(crew->watch.ctx);
			watched_ns = clock_now_ns();
		}
	}
}

static void run_together(struct crew *crew)
{
	uint32_t seen = gate_peek(&crew->idle);
	const struct step *step = primary_turn(crew->primary, NULL);
	if (!step)
		return;
	send(crew, step);
	while (gate_wait(&crew->idle, seen, 0, WATCH_NS) == seen)
		if (crew->watch.on_watch)
			crew->watch.on_watch(crew->watch.ctx);
}

troupe_status crew_run(struct crew *crew, struct troupe_error *error)
{
	if (crew->count)
		run_together(crew);
	else
		run_alone(crew);
	if (crew->primary->status && error)
		*error = crew->primary->error;
	return crew->primary->status;
}

void crew_destroy(struct crew *crew)
{
	if (!crew)
		return;
	if (crew->transport) {
		crew->ops->close(crew->transport);
		for (uint32_t i = 0; i < crew->count; i++)
			pthread_join(crew->workers[i].thread, NULL);
		crew->ops->destroy(crew->transport);
	} else {
		secondary_destroy(crew->workers[0].secondary);
	}
	free(crew->workers);
	free(crew->acks);
	free(crew);
}

struct physics_stats crew_physics_stats(const struct crew *crew, uint32_t secondary)
{
	return secondary_physics_stats(crew->workers[secondary].secondary);
}
