/* The thread that gives a command prepares it, so live commands cost the simulation nothing. But a file of commands, a
 * saved state and a recording bring thousands of commands at once, for steps that are far away or never reached. To
 * prepare all of them first would delay the run and fill the memory. So they wait in a heap, and one thread prepares
 * them in the order of their steps, some way ahead of the run. In the usual case all commands of a turn are ready.
 * Otherwise the turn waits: it never prepares itself, because the thread that takes a turn may be any secondary's. */
#include "run/prepare.h"

#include "run/schedule.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

enum progress { RAW, WORKING, READY };

struct prepared {
	struct preparer *preparer;
	const ProtobufCMessage *message; /* the command's */
	bool several;
	enum edit_reading reading;
	uint64_t step, order;
	/* Written under the lock, READY with release; read anywhere with acquire: the prepared models are then
	 * visible. */
	_Atomic(enum progress) state;
	bool dropped; /* under the lock: released while it was in the heap, which then frees it */
	/* written by the thread that prepares it */
	struct edit_source **sources;
	uint32_t count;
	uint64_t bytes;
};

struct preparer {
	struct edit_options options;
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	/* under the lock */
	VEC(struct prepared *) heap; /* raw commands; the least (step, order) first */
	uint64_t order;
	uint64_t held, held_bytes; /* commands that are ready and not released */
	uint32_t waiting;          /* turns that wait, and threads that wait for all commands */
	bool busy, rest, end;
	bool closed; /* set before any command */
	bool has_thread;
	pthread_t thread;
};

/* --- one command -------------------------------------------------------------------------------------------------- */

static uint32_t prepare_item_count(const struct prepared *prepared)
{
	return prepared->several ? (uint32_t)((const Gz__Msgs__EntityFactoryV *)prepared->message)->n_data : 1;
}

static const Gz__Msgs__EntityFactory *prepare_item(const struct prepared *prepared, uint32_t i)
{
	const Gz__Msgs__EntityFactoryV *several = (const void *)prepared->message;
	return prepared->several ? several->data[i] : (const Gz__Msgs__EntityFactory *)prepared->message;
}

static void prepare_make(const struct edit_options *options, struct prepared *prepared)
{
	prepared->count = prepare_item_count(prepared);
	prepared->sources = mem_alloc(prepared->count * sizeof(struct edit_source *));
	for (uint32_t i = 0; i < prepared->count; i++) {
		prepared->sources[i] = edit_prepare(options, prepared->reading, prepare_item(prepared, i));
		if (prepared->sources[i])
			prepared->bytes += edit_prepared_bytes(prepared->sources[i]);
	}
}

static void prepare_destroy(struct prepared *prepared)
{
	for (uint32_t i = 0; i < prepared->count; i++)
		edit_unprepare(prepared->sources[i]);
	free(prepared->sources);
	free(prepared);
}

/* Under the lock. */
static void prepare_set_ready(struct preparer *preparer, struct prepared *prepared)
{
	preparer->held++;
	preparer->held_bytes += prepared->bytes;
	atomic_store_explicit(&prepared->state, READY, memory_order_release);
	pthread_cond_broadcast(&preparer->done);
}

static bool prepare_is_full(const struct preparer *preparer)
{
	return preparer->held >= PREPARE_COMMANDS_MAX || preparer->held_bytes >= PREPARE_BYTES_MAX;
}

/* --- the heap ----------------------------------------------------------------------------------------------------- */

static bool prepare_before(const struct prepared *a, const struct prepared *b)
{
	return a->step != b->step ? a->step < b->step : a->order < b->order;
}

static void prepare_push(struct preparer *preparer, struct prepared *new)
{
	vec_push(&preparer->heap, new);
	uint32_t at = preparer->heap.count - 1;
	for (; at && prepare_before(new, preparer->heap.at[(at - 1) / 2]); at = (at - 1) / 2)
		preparer->heap.at[at] = preparer->heap.at[(at - 1) / 2];
	preparer->heap.at[at] = new;
}

static struct prepared *prepare_pop(struct preparer *preparer)
{
	struct prepared *least = preparer->heap.at[0], *last = preparer->heap.at[--preparer->heap.count];
	uint32_t count = preparer->heap.count, at = 0;
	for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && prepare_before(preparer->heap.at[child + 1], preparer->heap.at[child]))
			child++;
		if (prepare_before(last, preparer->heap.at[child]))
			break;
		preparer->heap.at[at] = preparer->heap.at[child];
	}
	preparer->heap.at[at] = last;
	return least;
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

static void *prepare_work(void *ctx)
{
	struct preparer *preparer = ctx;
	pthread_mutex_lock(&preparer->lock);
	while (!preparer->end) {
		bool may = !preparer->rest && (preparer->waiting || !prepare_is_full(preparer));
		if (!may || !preparer->heap.count) {
			pthread_cond_wait(&preparer->work, &preparer->lock);
			continue;
		}
		struct prepared *next = prepare_pop(preparer);
		if (next->dropped) {
			prepare_destroy(next);
			pthread_cond_broadcast(&preparer->done);
			continue;
		}
		atomic_store_explicit(&next->state, WORKING, memory_order_relaxed);
		preparer->busy = true;
		pthread_mutex_unlock(&preparer->lock);
		prepare_make(&preparer->options, next);
		pthread_mutex_lock(&preparer->lock);
		preparer->busy = false;
		prepare_set_ready(preparer, next);
	}
	pthread_mutex_unlock(&preparer->lock);
	return NULL;
}

/* Under the lock. The thread takes no signals: other threads of the process do. False: it cannot be started. */
static bool prepare_start(struct preparer *preparer)
{
	sigset_t all, kept;
	if (preparer->has_thread)
		return true;
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &kept);
	int code = pthread_create(&preparer->thread, NULL, prepare_work, preparer);
	(void)pthread_sigmask(SIG_SETMASK, &kept, NULL);
	mem_check_thread(code);
	preparer->has_thread = !code;
	return !code;
}

/* --- the preparer ------------------------------------------------------------------------------------------------- */

struct preparer *preparer_create(const struct edit_options *options)
{
	struct preparer *preparer = mem_alloc(sizeof *preparer);
	preparer->options = *options;
	pthread_mutex_init(&preparer->lock, NULL);
	pthread_cond_init(&preparer->work, NULL);
	pthread_cond_init(&preparer->done, NULL);
	return preparer;
}

void preparer_destroy(struct preparer *preparer)
{
	if (!preparer)
		return;
	pthread_mutex_lock(&preparer->lock);
	preparer->end = true;
	pthread_cond_signal(&preparer->work);
	pthread_mutex_unlock(&preparer->lock);
	if (preparer->has_thread)
		(void)pthread_join(preparer->thread, NULL);
	for (uint32_t i = 0; i < preparer->heap.count; i++)
		prepare_destroy(preparer->heap.at[i]);
	vec_free(&preparer->heap);
	pthread_cond_destroy(&preparer->work);
	pthread_cond_destroy(&preparer->done);
	pthread_mutex_destroy(&preparer->lock);
	free(preparer);
}

void preparer_close(struct preparer *preparer)
{
	preparer->closed = true;
}

/* A command that waited in a saved state has its files in this state. A system asks for what its world says, and a
 * robot client has no more rights than its models. */
static enum edit_reading prepare_reading_of(const struct preparer *preparer, const struct command *command)
{
	if (preparer->closed || command->saved)
		return EDIT_READS_KEPT;
	bool is_limited = command->told || command->client || owner_of_message(command->message);
	return is_limited ? EDIT_READS_PLACES : EDIT_READS_NAMED;
}

static struct prepared prepare_prepared_raw(struct preparer *preparer, const struct command *command)
{
	return (struct prepared){.preparer = preparer,
		.message = command->message,
		.reading = prepare_reading_of(preparer, command),
		.several = command->message->descriptor == &gz__msgs__entity_factory__v__descriptor,
		.step = command->step};
}

void preparer_give(struct preparer *preparer, struct command *command, bool soon)
{
	struct prepared *new = mem_alloc(sizeof *new);
	*new = prepare_prepared_raw(preparer, command);
	command->prepared = new;
	pthread_mutex_lock(&preparer->lock);
	bool now = (soon && !prepare_is_full(preparer)) || !prepare_start(preparer);
	if (!now) {
		new->order = preparer->order++;
		prepare_push(preparer, new);
		pthread_cond_signal(&preparer->work);
	}
	pthread_mutex_unlock(&preparer->lock);
	if (!now)
		return;
	prepare_make(&preparer->options, new);
	pthread_mutex_lock(&preparer->lock);
	prepare_set_ready(preparer, new);
	pthread_mutex_unlock(&preparer->lock);
}

struct edit_source *const *prepared_wait(struct prepared *prepared)
{
	struct preparer *preparer = prepared->preparer;
	if (atomic_load_explicit(&prepared->state, memory_order_acquire) == READY)
		return prepared->sources;
	pthread_mutex_lock(&preparer->lock);
	preparer->waiting++;
	pthread_cond_signal(&preparer->work);
	while (atomic_load_explicit(&prepared->state, memory_order_relaxed) != READY)
		pthread_cond_wait(&preparer->done, &preparer->lock);
	preparer->waiting--;
	pthread_mutex_unlock(&preparer->lock);
	return prepared->sources;
}

static void prepare_collect_from(const struct edit_source *source, struct files *files)
{
	if (source)
		edit_prepared_files(source, files);
}

void prepared_collect(struct prepared *prepared, struct files *files)
{
	bool ready = atomic_load_explicit(&prepared->state, memory_order_acquire) == READY;
	for (uint32_t i = 0; i < prepare_item_count(prepared); i++) {
		struct edit_source *own = ready ? NULL
						: edit_prepare(&prepared->preparer->options, prepared->reading,
							  prepare_item(prepared, i));
		prepare_collect_from(ready ? prepared->sources[i] : own, files);
		edit_unprepare(own);
	}
}

void preparer_collect(struct preparer *preparer, const struct command *command, struct files *files)
{
	struct prepared raw = prepare_prepared_raw(preparer, command);
	prepared_collect(&raw, files);
}

void prepared_release(struct prepared *prepared)
{
	if (!prepared)
		return;
	struct preparer *preparer = prepared->preparer;
	pthread_mutex_lock(&preparer->lock);
	while (atomic_load_explicit(&prepared->state, memory_order_relaxed) == WORKING)
		pthread_cond_wait(&preparer->done, &preparer->lock);
	bool ready = atomic_load_explicit(&prepared->state, memory_order_relaxed) == READY;
	prepared->dropped = !ready;
	if (ready) {
		preparer->held--;
		preparer->held_bytes -= prepared->bytes;
		pthread_cond_signal(&preparer->work);
	}
	pthread_mutex_unlock(&preparer->lock);
	if (ready)
		prepare_destroy(prepared);
}

void preparer_finish(struct preparer *preparer)
{
	pthread_mutex_lock(&preparer->lock);
	preparer->waiting++;
	pthread_cond_signal(&preparer->work);
	while (preparer->has_thread && (preparer->heap.count || preparer->busy))
		pthread_cond_wait(&preparer->done, &preparer->lock);
	preparer->waiting--;
	pthread_mutex_unlock(&preparer->lock);
}

void preparer_rest(struct preparer *preparer, bool rest)
{
	pthread_mutex_lock(&preparer->lock);
	preparer->rest = rest;
	while (rest && preparer->busy)
		pthread_cond_wait(&preparer->done, &preparer->lock);
	pthread_cond_signal(&preparer->work);
	pthread_mutex_unlock(&preparer->lock);
}
