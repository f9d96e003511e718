/* All ranks exist from the beginning, so no search is needed. Still the peers introduce themselves and are admitted by
 * net/peers.h, with the frames of PROTOCOL.md: a rank with another build or other arithmetic must not take part. A rank
 * cannot be replaced, so the run ends if one is refused or leaves before the start.
 *
 * The primary receives from a rank only when the rank before it has been admitted: so rank i is secondary i. */
#include "net/mpi/mpi.h"

#include "base/clock.h"
#include "net/bundle.h"
#include "net/peers.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { MPI_GATHER_STALE_MS = 1000, WATCH_MS = 50, MPI_GATHER_FLUSH_MS = 500 };
#define PART_BYTES_QUEUED (1u << 20) /* of the world, for each rank */
/* The primary may load a world for as long as it takes before it answers a hello. */
#define HELLO_NS (UINT64_C(1) << 62)

/* The parts that primary and secondary share. Line i of the carrier is connection i of peers. */
struct mpi_gather_meeting {
	const struct gather_host *host;
	struct mpi_job *job;
	struct hello hello;
	struct peers *peers;
	uint64_t looked_ns;  /* the time of the last check of deadlines; 0: none */
	uint64_t heard_ns;   /* the time of the last frame */
	uint64_t watched_ns; /* the time of the last question to the host */
	bool started, ended;
	struct transport_link link;
	/* Handles frames of the world. An error status breaks the line. */
	troupe_status (*on_world)(void *ctx, uint32_t id, enum frame_type type, const char *bytes, size_t count,
		struct troupe_error *error);
	void (*on_action)(void *ctx, const struct peers_action *action);
	void *ctx;
};

/* --- both sides --------------------------------------------------------------------------------------------------- */

static troupe_status mpi_gather_meet(struct mpi_gather_meeting *meeting, const struct gather_self *self,
	const struct gather_host *host, enum hello_role role, struct troupe_error *error)
{
	if (!self->network->job)
		return fail(error, TROUPE_EINVAL, "transport 'mpi' without a job: expected troupe_job_join() before");
	meeting->host = host;
	meeting->job = (struct mpi_job *)self->network->job;
	return gather_hello(self, role, &meeting->hello, error);
}

static void mpi_gather_send_frame(
	struct mpi_gather_meeting *meeting, uint32_t id, enum frame_type type, const void *bytes, size_t count)
{
	if (meeting->job->carrier) /* the next work() detects a failure */
		(void)carrier_send(&mpi_carrier_ops, meeting->job->carrier, id, type, bytes, count, NULL);
}

static void mpi_gather_act(struct mpi_gather_meeting *meeting)
{
	struct peers_action action;
	while (peers_next(meeting->peers, &action)) {
		if (action.kind == PEERS_SEND)
			mpi_gather_send_frame(meeting, action.id, action.type, action.bytes, action.count);
		meeting->started |= action.kind == PEERS_STARTED;
		meeting->ended |= action.kind == PEERS_ENDED;
		if (action.kind != PEERS_SEND && action.kind != PEERS_CLOSE)
			meeting->on_action(meeting->ctx, &action);
	}
}

static bool mpi_gather_is_of_world(enum frame_type type)
{
	return type == FRAME_WORLD || type == FRAME_WORLD_WANT || type == FRAME_WORLD_DATA;
}

static void mpi_gather_hear(
	struct mpi_gather_meeting *meeting, uint32_t id, enum frame_type type, const char *bytes, size_t count)
{
	struct troupe_error why;
	uint64_t now = clock_now_ns();
	meeting->heard_ns = now;
	if (!mpi_gather_is_of_world(type))
		peers_receive(meeting->peers, id, type, bytes, count, now);
	else if (peers_heard(meeting->peers, id, type, now) &&
		 meeting->on_world(meeting->ctx, id, type, bytes, count, &why))
		peers_break(meeting->peers, id, why.text, now);
	mpi_gather_act(meeting);
}

/* Frames after the start are for the transport. */
static void mpi_gather_work_line(struct mpi_gather_meeting *meeting, uint32_t id)
{
	struct carrier *carrier = meeting->job->carrier;
	struct troupe_error error, why;
	enum frame_type type;
	const char *bytes;
	size_t count;
	troupe_status bad = TROUPE_OK, broken = mpi_carrier_ops.work(carrier, id, &why);
	while (peers_phase(meeting->peers) < PEERS_RUNNING &&
		mpi_carrier_ops.receive(carrier, id, &type, &bytes, &count, &bad, &error))
		mpi_gather_hear(meeting, id, type, bytes, count);
	if (bad)
		peers_break(meeting->peers, id, error.text, clock_now_ns());
	else if (broken)
		peers_drop(meeting->peers, id, why.text, clock_now_ns());
	mpi_gather_act(meeting);
}

static void mpi_gather_keep_time(struct mpi_gather_meeting *meeting)
{
	uint64_t now = clock_now_ns();
	if (meeting->looked_ns && now - meeting->looked_ns >= peers_stale_ns(meeting->peers))
		peers_woke(meeting->peers, now);
	peers_tick(meeting->peers, now);
	meeting->looked_ns = now;
	mpi_gather_act(meeting);
}

static void mpi_gather_watch(struct mpi_gather_meeting *meeting)
{
	const struct gather_host *host = meeting->host;
	uint64_t now = clock_now_ns();
	if (now - meeting->watched_ns < WATCH_MS * UINT64_C(1000000))
		return;
	meeting->watched_ns = now;
	if (host->stopped(host->ctx)) {
		peers_stop(meeting->peers, STOP_LEFT, "it was stopped before the start");
		mpi_gather_act(meeting);
	}
	if (host->on_watch)
		host->on_watch(host->ctx);
}

static void mpi_gather_rest(struct mpi_gather_meeting *meeting)
{
	if (!meeting->started && !meeting->ended)
		(void)mpi_carrier_ops.wait(meeting->job->carrier, clock_now_ns() - meeting->heard_ns);
}

static troupe_status mpi_gather_outcome(struct mpi_gather_meeting *meeting, struct troupe_error *error)
{
	if (meeting->started && !meeting->ended)
		return TROUPE_OK;
	mpi_carrier_ops.finish(meeting->job->carrier, MPI_GATHER_FLUSH_MS);
	meeting->job->ended = true;
	troupe_status status = peers_end_status(meeting->peers, error);
	return status ? status : fail(error, TROUPE_EPEER, "the run is over before it began");
}

static struct transport_link mpi_gather_link_of(struct mpi_gather_meeting *meeting, const char *const *names)
{
	struct transport_link link = {.ops = &mpi_carrier_ops,
		.carrier = meeting->job->carrier,
		.names = names,
		.secondary = meeting->job->job.number,
		.first_step = peers_first_step(meeting->peers),
		.stale_ms = (uint32_t)(peers_stale_ns(meeting->peers) / 1000000),
		.name = meeting->hello.name,
		.pollers = (uint32_t)meeting->job->place.neighbours};
	meeting->job->carrier = NULL;
	return link;
}

/* If no transport took the link's carrier, it goes back to the job, which tells the other ranks with it that the run is
 * over. */
static void mpi_gather_part(struct mpi_gather_meeting *meeting)
{
	if (meeting->link.carrier)
		meeting->job->carrier = meeting->link.carrier;
	else if (meeting->link.ops)
		meeting->job->ended = true;
	peers_destroy(meeting->peers);
}

/* --- the primary -------------------------------------------------------------------------------------------------- */

struct gathering {
	struct mpi_gather_meeting meeting;
	uint32_t secondaries, stale_ms;
	uint64_t wait_ns;
	_Atomic uint32_t awaited;
	const struct gather_world *world;
	struct bundle described;
	uint64_t *sent; /* [secondaries] bytes of the world sent, plus one; 0: not requested */
	uint32_t joined;
	const char **names; /* [secondaries] */
};

static void mpi_gather_refuse(const struct troupe_network *network)
{
	(void)network; /* the job is borrowed */
}

static const char *mpi_gather_word(uint32_t secondaries)
{
	return secondaries == 1 ? "secondary" : "secondaries";
}

static troupe_status mpi_gather_take_want(
	void *ctx, uint32_t id, enum frame_type type, const char *bytes, size_t count, struct troupe_error *error)
{
	struct gathering *gathering = ctx;
	(void)bytes;
	if (type != FRAME_WORLD_WANT || count || gathering->sent[id])
		return fail(error, TROUPE_EPROTOCOL, "a frame '%s' that does not belong here", frame_name(type));
	gathering->sent[id] = 1;
	return TROUPE_OK;
}

static void mpi_gather_send_data(struct gathering *gathering)
{
	struct carrier *carrier = gathering->meeting.job->carrier;
	const struct gather_world *world = gathering->world;
	for (uint32_t id = 0; id < gathering->joined; id++)
		while (gathering->sent[id] && gathering->sent[id] - 1 < world->count &&
			mpi_carrier_ops.pending(carrier, id) < PART_BYTES_QUEUED) {
			size_t at = gathering->sent[id] - 1, count = MIN(world->count - at, (size_t)BUNDLE_PART_BYTES);
			if (carrier_send(
				    &mpi_carrier_ops, carrier, id, FRAME_WORLD_DATA, world->bytes + at, count, NULL))
				break;
			gathering->sent[id] += count;
		}
}

static void mpi_gather_on_primary_action(void *ctx, const struct peers_action *action)
{
	struct gathering *gathering = ctx;
	struct mpi_gather_meeting *meeting = &gathering->meeting;
	struct text bytes = {0};
	if (action->kind == PEERS_ADMITTED) {
		gather_note(meeting->host, "secondary %u of %u joined from rank %u", action->secondary,
			gathering->secondaries, action->id + 1);
		bundle_encode(&gathering->described, &bytes);
		mpi_gather_send_frame(meeting, action->id, FRAME_WORLD, bytes.at, bytes.count);
		text_fini(&bytes);
	} else if (action->kind == PEERS_TURNED_AWAY || action->kind == PEERS_LOST) {
		text_add(&bytes, "%s", action->bytes);
		peers_stop(meeting->peers, STOP_FAILED, bytes.at);
		text_fini(&bytes);
	} else if (action->kind == PEERS_STARTED) {
		gather_note(meeting->host, "%u %s ready: the run begins", gathering->secondaries,
			mpi_gather_word(gathering->secondaries));
	}
}

static troupe_status mpi_gather_gathering_create(const struct gather_self *self, const struct gather_host *host,
	struct gathering **ret_gathering, struct troupe_error *error)
{
	const struct troupe_network *network = self->network;
	struct mpi_gather_meeting meeting = {
		.on_world = mpi_gather_take_want, .on_action = mpi_gather_on_primary_action};
	troupe_status status = mpi_gather_meet(&meeting, self, host, HELLO_PRIMARY, error);
	if (!status && (meeting.job->job.number || network->secondaries != meeting.job->job.size - 1))
		status = fail(error, TROUPE_EINVAL, "%u secondaries with %u ranks, at rank %u: expected rank 0 and %u",
			network->secondaries, meeting.job->job.size, meeting.job->job.number,
			meeting.job->job.size - 1);
	if (!status && network->stale_ms > HELLO_STALE_MS_MAX)
		status = fail(error, TROUPE_EINVAL, "stale after %u ms: expected at most %d", network->stale_ms,
			HELLO_STALE_MS_MAX);
	if (status)
		return status;
	struct gathering *gathering = mem_alloc(sizeof *gathering);
	gathering->meeting = meeting;
	gathering->meeting.ctx = gathering;
	gathering->secondaries = network->secondaries;
	gathering->awaited = network->secondaries;
	gathering->stale_ms = network->stale_ms ? network->stale_ms : MPI_GATHER_STALE_MS;
	gathering->wait_ns = (uint64_t)(network->wait_s * 1e9);
	gathering->sent = mem_alloc(network->secondaries * sizeof *gathering->sent);
	gathering->names = mem_alloc(network->secondaries * sizeof *gathering->names);
	*ret_gathering = gathering;
	return TROUPE_OK;
}

static void mpi_gather_begin_gathering(struct gathering *gathering, const struct gather_world *world)
{
	struct mpi_gather_meeting *meeting = &gathering->meeting;
	gathering->world = world;
	gathering->described = bundle_describe(world->bytes, world->count);
	meeting->hello.world = gathering->described.hash[0];
	struct peers_options options = {.self = meeting->hello,
		.secondaries = gathering->secondaries,
		.first_step = world->first_step,
		.state_hash = world->state_hash,
		.stale_ns = gathering->stale_ms * UINT64_C(1000000),
		.hello_ns = HELLO_NS,
		.wait_ns = gathering->wait_ns};
	meeting->peers = peers_create(&options, clock_now_ns());
}

/* Receives from all ranks that were admitted, and from one more. */
static void mpi_gather_work_lines(struct gathering *gathering)
{
	struct peers *peers = gathering->meeting.peers;
	uint32_t heard = MIN(peers_present(peers) + 1, gathering->secondaries);
	for (; gathering->joined < heard; gathering->joined++) {
		char address[32];
		(void)snprintf(address, sizeof address, "rank %u", gathering->joined + 1);
		(void)peers_join(peers, address, clock_now_ns());
	}
	for (uint32_t id = 0; id < gathering->joined && !gathering->meeting.ended; id++)
		mpi_gather_work_line(&gathering->meeting, id);
}

static troupe_status mpi_gather_gathering_run(
	struct gathering *gathering, const struct gather_world *world, struct troupe_error *error)
{
	struct mpi_gather_meeting *meeting = &gathering->meeting;
	mpi_gather_begin_gathering(gathering, world);
	gather_note(meeting->host, "waiting for %u %s, the other ranks of this job", gathering->secondaries,
		mpi_gather_word(gathering->secondaries));
	while (!meeting->started && !meeting->ended) {
		mpi_gather_work_lines(gathering);
		mpi_gather_keep_time(meeting);
		mpi_gather_watch(meeting);
		mpi_gather_send_data(gathering);
		atomic_store(&gathering->awaited, gathering->secondaries - peers_present(meeting->peers));
		mpi_gather_rest(meeting);
	}
	gathering->world = NULL;
	return mpi_gather_outcome(meeting, error);
}

/* Ranks do not come and go. */
static const char *mpi_gather_missing(const struct gathering *gathering)
{
	(void)gathering;
	return NULL;
}

static const unsigned char *mpi_gather_process(const struct gathering *gathering, uint32_t secondary)
{
	static const unsigned char none[HELLO_ID_BYTES];
	(void)gathering;
	(void)secondary;
	return none;
}

static uint32_t mpi_gather_known(const struct gathering *gathering)
{
	return gathering->secondaries;
}

static bool mpi_gather_regroups(const struct gathering *gathering)
{
	(void)gathering;
	return false;
}

static uint32_t mpi_gather_members(const struct gathering *gathering, uint32_t *ret_new)
{
	*ret_new = 0;
	return gathering->secondaries;
}

static bool mpi_gather_joining_regroups(const struct joining *joining)
{
	(void)joining;
	return false;
}

static uint32_t mpi_gather_gathering_awaited(const struct gathering *gathering)
{
	return atomic_load(&gathering->awaited);
}

static troupe_status mpi_gather_gathering_link(
	struct gathering *gathering, struct transport_link **ret_link, struct troupe_error *error)
{
	(void)error;
	for (uint32_t i = 0; i < gathering->secondaries; i++)
		gathering->names[i] = peers_name(gathering->meeting.peers, i);
	gathering->meeting.link = mpi_gather_link_of(&gathering->meeting, gathering->names);
	*ret_link = &gathering->meeting.link;
	return TROUPE_OK;
}

static void mpi_gather_gathering_stop(struct gathering *gathering, enum stop_kind kind, const char *why)
{
	struct mpi_gather_meeting *meeting = &gathering->meeting;
	if (!meeting->started || meeting->ended)
		return;
	if (meeting->link.carrier)
		meeting->job->carrier = meeting->link.carrier;
	meeting->link.carrier = NULL;
	peers_stop(meeting->peers, kind, why);
	mpi_gather_act(meeting);
	meeting->job->ended = true;
	if (meeting->job->carrier)
		mpi_carrier_ops.finish(meeting->job->carrier, MPI_GATHER_FLUSH_MS);
}

static void mpi_gather_gathering_destroy(struct gathering *gathering)
{
	if (!gathering)
		return;
	mpi_gather_part(&gathering->meeting);
	free(gathering->sent);
	free(gathering->names);
	free(gathering);
}

/* --- a secondary -------------------------------------------------------------------------------------------------- */

struct joining {
	struct mpi_gather_meeting meeting;
	struct bundle described;
	struct text world;
	bool wanted, given, ready_sent;
	const char *name; /* of the primary */
};

static troupe_status mpi_gather_take_world(
	void *ctx, uint32_t id, enum frame_type type, const char *bytes, size_t count, struct troupe_error *error)
{
	struct joining *joining = ctx;
	const struct gather_host *host = joining->meeting.host;
	bool whole;
	if (type == FRAME_WORLD && !joining->wanted) {
		troupe_status status = bundle_decode(bytes, count, &joining->described, error);
		joining->wanted = !status;
		if (!status)
			mpi_gather_send_frame(&joining->meeting, id, FRAME_WORLD_WANT, "", 0);
		return status;
	}
	if (type != FRAME_WORLD_DATA || !joining->wanted || joining->given)
		return fail(error, TROUPE_EPROTOCOL, "a frame '%s' that does not belong here", frame_name(type));
	troupe_status status = bundle_add(&joining->described, &joining->world, bytes, count, &whole, error);
	if (status || !whole)
		return status;
	joining->given = true;
	host->on_world(host->ctx, joining->meeting.job->job.number, joining->world.at, joining->world.count);
	joining->world = (struct text){0};
	return TROUPE_OK;
}

/* If the primary is lost, a rank has no other one to join. */
static void mpi_gather_on_secondary_action(void *ctx, const struct peers_action *action)
{
	struct joining *joining = ctx;
	struct text why = {0};
	if (action->kind != PEERS_LOST)
		return;
	text_add(&why, "%s", action->bytes);
	peers_stop(joining->meeting.peers, STOP_LOST, why.at);
	text_fini(&why);
}

static troupe_status mpi_gather_joining_create(const struct gather_self *self, const struct gather_host *host,
	struct joining **ret_joining, struct troupe_error *error)
{
	struct mpi_gather_meeting meeting = {
		.on_world = mpi_gather_take_world, .on_action = mpi_gather_on_secondary_action};
	troupe_status status = mpi_gather_meet(&meeting, self, host, HELLO_SECONDARY, error);
	if (!status && !meeting.job->job.number)
		status = fail(error, TROUPE_EINVAL, "rank 0 is the primary, and no secondary");
	if (status)
		return status;
	struct joining *joining = mem_alloc(sizeof *joining);
	struct peers_options options = {.self = meeting.hello, .hello_ns = HELLO_NS};
	joining->meeting = meeting;
	joining->meeting.ctx = joining;
	joining->meeting.peers = peers_create(&options, clock_now_ns());
	*ret_joining = joining;
	return TROUPE_OK;
}

static void mpi_gather_tell_ready(struct joining *joining)
{
	const struct gather_host *host = joining->meeting.host;
	struct troupe_error why;
	uint64_t hash;
	bool loaded = false;
	if (!joining->given || joining->ready_sent)
		return;
	troupe_status status = host->loaded(host->ctx, &loaded, &hash, &why);
	if (!status && !loaded)
		return;
	joining->ready_sent = true;
	if (status)
		peers_stop(joining->meeting.peers, STOP_FAILED, why.text);
	else
		peers_ready(joining->meeting.peers, hash);
	mpi_gather_act(&joining->meeting);
}

static troupe_status mpi_gather_joining_run(struct joining *joining, struct troupe_error *error)
{
	struct mpi_gather_meeting *meeting = &joining->meeting;
	(void)peers_join(meeting->peers, "rank 0", clock_now_ns());
	mpi_gather_act(meeting);
	while (!meeting->started && !meeting->ended) {
		mpi_gather_work_line(meeting, 0);
		mpi_gather_keep_time(meeting);
		mpi_gather_watch(meeting);
		mpi_gather_tell_ready(joining);
		mpi_gather_rest(meeting);
	}
	return mpi_gather_outcome(meeting, error);
}

static void mpi_gather_joining_wake(struct joining *joining)
{
	struct carrier *carrier = joining->meeting.job->carrier;
	if (carrier)
		mpi_carrier_ops.wake(carrier);
}

static troupe_status mpi_gather_joining_link(struct joining *joining, struct transport_link **ret_link,
	uint32_t *ret_secondaries, struct troupe_error *error)
{
	(void)error;
	joining->name = peers_name(joining->meeting.peers, 0);
	*ret_secondaries = joining->meeting.job->job.size - 1;
	joining->meeting.link = mpi_gather_link_of(&joining->meeting, &joining->name);
	*ret_link = &joining->meeting.link;
	return TROUPE_OK;
}

static void mpi_gather_joining_destroy(struct joining *joining)
{
	if (!joining)
		return;
	mpi_gather_part(&joining->meeting);
	text_fini(&joining->world);
	free(joining);
}

static const char *mpi_gather_standby(const struct joining *joining)
{
	(void)joining;
	return "";
}

static troupe_status mpi_gather_seek_standby(struct joining *joining, double wait_s, struct troupe_error *error)
{
	(void)joining;
	(void)wait_s;
	return fail(error, TROUPE_EPEER, "ranks have no standby");
}

const struct gather_ops gather_mpi = {
	.job_join = mpi_job_join,
	.job_leave = mpi_job_leave,
	.refuse = mpi_gather_refuse,
	.gathering_create = mpi_gather_gathering_create,
	.gathering_run = mpi_gather_gathering_run,
	.gathering_missing = mpi_gather_missing,
	.gathering_regroups = mpi_gather_regroups,
	.gathering_members = mpi_gather_members,
	.joining_regroups = mpi_gather_joining_regroups,
	.joining_orphaned = mpi_gather_joining_regroups,
	.joining_standby = mpi_gather_standby,
	.joining_seek_standby = mpi_gather_seek_standby,
	.gathering_known = mpi_gather_known,
	.gathering_process = mpi_gather_process,
	.gathering_awaited = mpi_gather_gathering_awaited,
	.gathering_link = mpi_gather_gathering_link,
	.gathering_stop = mpi_gather_gathering_stop,
	.gathering_destroy = mpi_gather_gathering_destroy,
	.joining_create = mpi_gather_joining_create,
	.joining_run = mpi_gather_joining_run,
	.joining_wake = mpi_gather_joining_wake,
	.joining_link = mpi_gather_joining_link,
	.joining_destroy = mpi_gather_joining_destroy,
};
