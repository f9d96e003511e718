/* A part of the suite is a script for the primary and one for each secondary. They share no memory, because a transport
 * may have its ends in different processes: so a secondary that must act at some moment decides by itself, when it gets
 * a certain step, or does not get it.
 *
 * Payloads are two numbers. A codec of the suite makes bytes of them for a remote transport. */
#include "transport_suite.h"

#include "base/clock.h"
#include "base/pack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS (120 * UINT64_C(1000000000))
enum { MOMENT_US = 100000 }; /* longer than a message is under way */

struct words {
	uint64_t number, value, more;
};

struct bed;

struct end { /* the end of one node */
	struct bed *bed;
	uint32_t node; /* 0: the primary */
	bool here;
	struct transport *transport;
	bool killed;
	struct words in, out; /* payloads; the primary uses only out */
	uint64_t got;         /* number of steps */
	_Atomic int alarms;
	pthread_t thread;
};

struct bed {
	struct stage *stage;
	const struct transport_ops *ops;
	uint32_t secondaries;
	uint64_t steps; /* the number of steps that the primary publishes by itself, from `first` on */
	uint64_t first;
	bool windows; /* messages are about several steps, and some are repeated: see message_of() */
	struct end ends[SUITE_SECONDARIES_MAX + 1];
	struct words acks[SUITE_SECONDARIES_MAX]; /* decoded; not atomic, so that a race would be detected */
	struct transport_codec codec;
	const char *(*secondary)(struct end *end); /* the script of the secondaries */
	_Atomic uint64_t acked, given_up, refused; /* refused: steps, by suite_publish_refuses() */
	const char *_Atomic why;
};

static void wrong(struct bed *bed, const char *why)
{
	const char *none = NULL;
	atomic_compare_exchange_strong(&bed->why, &none, why);
}

/* Of each three messages: one about a step, one about the seven after it, which turns out to be wrong, and the same
 * again for three steps. */
static struct transport_message message_of(const struct bed *bed, uint64_t index)
{
	uint64_t round = index / 3, part = index % 3;
	if (!bed->windows)
		return (struct transport_message){.number = bed->first + index};
	return (struct transport_message){.number = bed->first + 4 * round + (part > 0),
		.more = part == 1   ? 6
			: part == 2 ? 2
				    : 0};
}

static uint64_t step_value(uint64_t number)
{
	return number * 3 + 1;
}

static uint64_t ack_value(uint64_t number, uint32_t secondary)
{
	return number * 7 + secondary;
}

/* --- the codec ---------------------------------------------------------------------------------------------------- */

static void encode(const struct words *words, struct text *out)
{
	pack_u64(out, words->number);
	pack_u64(out, words->value);
	pack_u64(out, words->more);
}

static troupe_status decode(
	const char *bytes, size_t count, struct words *words, struct transport_message *ret, struct troupe_error *error)
{
	struct unpack in = {bytes, bytes + count, false};
	words->number = unpack_u64(&in);
	words->value = unpack_u64(&in);
	words->more = unpack_u64(&in);
	*ret = (struct transport_message){.number = words->number, .payload = words, .more = (uint32_t)words->more};
	return in.bad || in.at != in.end ? fail(error, TROUPE_EPROTOCOL, "cut off") : TROUPE_OK;
}

static void encode_step(void *ctx, uint32_t secondary, const void *payload, struct text *out)
{
	(void)ctx;
	(void)secondary;
	encode(payload, out);
}

static troupe_status decode_step(void *ctx, uint32_t secondary, const char *bytes, size_t count,
	struct transport_message *ret_step, struct troupe_error *error)
{
	struct bed *bed = ctx;
	return decode(bytes, count, &bed->ends[secondary + 1].in, ret_step, error);
}

static void encode_ack(void *ctx, uint32_t secondary, const void *payload, struct text *out)
{
	(void)ctx;
	(void)secondary;
	encode(payload, out);
}

static troupe_status decode_ack(void *ctx, uint32_t secondary, const char *bytes, size_t count,
	struct transport_message *ret_ack, struct troupe_error *error)
{
	struct bed *bed = ctx;
	return decode(bytes, count, &bed->acks[secondary], ret_ack, error);
}

/* "N.NODE" is a file of N bytes, each of which tells of the node; others are missing. */
static troupe_status give_file(void *ctx, const char *path, struct text *out, struct troupe_error *error)
{
	char *end;
	unsigned long count = strtoul(path, &end, 10);
	(void)ctx;
	if (*end != '.')
		return fail(error, TROUPE_EIO, "there is no file %s", path);
	for (unsigned long i = 0; i < count; i++)
		text_add_bytes(out, end + 1, 1);
	return TROUPE_OK;
}

/* --- both parts --------------------------------------------------------------------------------------------------- */

static struct transport *primary_of(struct bed *bed)
{
	return bed->ends[0].transport;
}

static struct transport *transport_of(struct end *end)
{
	return end->bed->stage->is_shared ? primary_of(end->bed) : end->transport;
}

static troupe_status publish_message(struct bed *bed, struct transport_message message)
{
	struct end *primary = &bed->ends[0];
	primary->out = (struct words){message.number, step_value(message.number), message.more};
	message.payload = &primary->out;
	return bed->ops->publish(primary->transport, message);
}

static troupe_status publish(struct bed *bed, uint64_t number)
{
	return publish_message(bed, (struct transport_message){.number = number});
}

/* Ends the run without an error. A transport with shared ends tells its peers in close(). */
static void finish(struct bed *bed)
{
	if (bed->ops->remote && !bed->stage->is_shared)
		bed->ops->stop(primary_of(bed), STOP_DONE, "done");
	bed->ops->close(primary_of(bed));
}

static void on_all_acked(void *ctx)
{
	struct end *primary = ctx;
	struct bed *bed = primary->bed;
	uint64_t index = atomic_load(&bed->acked), number = message_of(bed, index).number;
	for (uint32_t i = 0; i < bed->secondaries; i++) {
		struct transport_message ack = bed->ops->ack_of(primary->transport, i);
		const struct words *words = ack.payload;
		if (ack.number != number || words->number != number || words->value != ack_value(number, i))
			wrong(bed, "an ack does not have the payload that its secondary gave");
	}
	if (index + 1 < bed->steps && publish_message(bed, message_of(bed, index + 1)))
		wrong(bed, "publish refused a good step");
	atomic_fetch_add(&bed->acked, 1);
}

static void on_gave_up(void *ctx)
{
	struct end *primary = ctx;
	if (!atomic_load(&primary->alarms))
		wrong(primary->bed, "gave_up came before alarm");
	atomic_fetch_add(&primary->bed->given_up, 1);
}

static void on_alarm(void *ctx)
{
	struct end *end = ctx;
	atomic_fetch_add(&end->alarms, 1);
}

static bool is_here(const struct bed *bed, uint32_t node)
{
	return !bed->stage->is_here || bed->stage->is_here(bed->stage, node);
}

static void open_end(struct bed *bed, struct end *end, uint32_t node)
{
	struct troupe_error error;
	struct transport_options options = {.secondaries = bed->secondaries,
		.all_acked = on_all_acked,
		.alarm = on_alarm,
		.gave_up = on_gave_up,
		.ctx = end,
		.codec = bed->ops->remote ? &bed->codec : NULL};
	atomic_store(&end->alarms, 0);
	end->bed = bed;
	end->node = node;
	end->here = is_here(bed, node);
	if (end->here && (!node || !bed->stage->is_shared) &&
		bed->stage->open(bed->stage, &options, node, &end->transport, &error))
		abort();
}

static void *play_secondary(void *arg)
{
	struct end *end = arg;
	const char *why = end->bed->secondary(end);
	if (why)
		wrong(end->bed, why);
	return NULL;
}

/* has_files: the primary gives files. */
static void begin_with(struct bed *bed, struct stage *stage, uint32_t secondaries, bool has_files)
{
	memset(bed, 0, sizeof *bed);
	bed->stage = stage;
	bed->ops = stage->ops;
	bed->secondaries = secondaries;
	bed->codec = (struct transport_codec){.encode_step = encode_step,
		.decode_step = decode_step,
		.encode_ack = encode_ack,
		.decode_ack = decode_ack,
		.give_file = has_files ? give_file : NULL,
		.ctx = bed};
	if (stage->begin)
		stage->begin(stage, secondaries);
	for (uint32_t i = 0; i <= secondaries; i++)
		open_end(bed, &bed->ends[i], i);
}

static void begin(struct bed *bed, struct stage *stage, uint32_t secondaries)
{
	begin_with(bed, stage, secondaries, false);
}

/* primary: its script, which runs on this thread. */
static const char *play(
	struct bed *bed, const char *(*primary)(struct bed *bed), const char *(*secondary)(struct end *end))
{
	const char *why = NULL;
	bed->secondary = secondary;
	for (uint32_t i = 1; i <= bed->secondaries; i++)
		if (bed->ends[i].here && pthread_create(&bed->ends[i].thread, NULL, play_secondary, &bed->ends[i]))
			abort();
	if (bed->ends[0].here)
		why = primary(bed);
	for (uint32_t i = 1; i <= bed->secondaries; i++)
		if (bed->ends[i].here)
			pthread_join(bed->ends[i].thread, NULL);
	for (uint32_t i = bed->secondaries + 1; i-- > 0;)
		if (bed->ends[i].transport && !bed->ends[i].killed)
			bed->ops->destroy(bed->ends[i].transport);
	bed->ops->destroy(NULL);
	if (bed->stage->end)
		bed->stage->end(bed->stage);
	return why ? why : atomic_load(&bed->why);
}

/* Waits until the number has this value; false: it does not in time. */
static bool comes(const _Atomic uint64_t *number, uint64_t value)
{
	uint64_t until = clock_now_ns() + PATIENCE_NS;
	while (atomic_load(number) < value && clock_now_ns() < until)
		(void)usleep(200);
	return atomic_load(number) >= value;
}

static troupe_status acknowledge(struct end *end, uint64_t number)
{
	end->out = (struct words){number, ack_value(number, end->node - 1), 0};
	const struct transport_message ack = {.number = number, .payload = &end->out};
	return end->bed->ops->ack(transport_of(end), end->node - 1, ack);
}

/* Takes and acknowledges steps until the end. */
static const char *serve(struct end *end)
{
	struct bed *bed = end->bed;
	struct transport_message step;
	while (bed->ops->wait(transport_of(end), end->node - 1, &step) == TROUPE_OK) {
		const struct words *words = step.payload;
		const struct transport_message wanted = message_of(bed, end->got);
		if (step.number != wanted.number || words->number != step.number)
			return "steps do not come each once and in order";
		if (step.more != wanted.more)
			return "a window does not have the length that the primary gave";
		if (words->value != step_value(step.number))
			return "a step does not have the payload that the primary gave";
		end->got++;
		troupe_status status = acknowledge(end, step.number);
		if (status == TROUPE_EPEER) /* the run is over; a caller that does not expect this counts the steps */
			return NULL;
		if (status)
			return "a good ack was refused";
	}
	return NULL;
}

/* --- a run that goes well ----------------------------------------------------------------------------------------- */

static const char *check_well(struct end *end)
{
	const struct transport_ops *ops = end->bed->ops;
	if (!ops->remote)
		return NULL;
	if (atomic_load(&end->alarms) || ops->lost(transport_of(end)))
		return "a run that is done counts as lost";
	uint64_t until = clock_now_ns() + PATIENCE_NS;
	while (!ops->is_done(transport_of(end)))
		if (clock_now_ns() > until)
			return "is_done() is false for a run that is done";
	return NULL;
}

static const char *serve_all(struct end *end)
{
	const char *why = serve(end);
	if (!why && end->got != end->bed->steps)
		why = "a secondary missed steps";
	return why ? why : check_well(end);
}

static const char *publish_all(struct bed *bed)
{
	const struct transport_ops *ops = bed->ops;
	struct transport_counts before = {0, 0}, after;
	if (ops->remote) {
		before = ops->counts(primary_of(bed));
		if (ops->is_done(primary_of(bed)))
			return "a run is done before its first step";
	}
	if (publish(bed, bed->first))
		return "publish refused a good step";
	if (!comes(&bed->acked, bed->steps))
		return "the primary's part did not run";
	if (ops->remote) {
		after = ops->counts(primary_of(bed));
		uint64_t least = 16 * bed->steps * bed->secondaries; /* the bytes of the payloads */
		if (after.sent < before.sent + least || after.received < before.received + least)
			return "bytes were not counted";
	}
	finish(bed);
	if (atomic_load(&bed->acked) != bed->steps || atomic_load(&bed->given_up))
		return "the primary's part did not run once a step";
	return check_well(&bed->ends[0]);
}

const char *suite_windows(struct stage *stage, uint32_t secondaries, uint64_t messages)
{
	static struct bed bed;
	begin(&bed, stage, secondaries);
	bed.steps = messages;
	bed.windows = true;
	return play(&bed, publish_all, serve_all);
}

const char *suite_order_and_once(struct stage *stage, uint32_t secondaries, uint64_t steps)
{
	static struct bed bed;
	begin(&bed, stage, secondaries);
	bed.steps = steps;
	return play(&bed, publish_all, serve_all);
}

/* --- what is refused ---------------------------------------------------------------------------------------------- */

/* Not before the primary was refused a second step; another process waits for longer than that takes. */
static const char *serve_slowly(struct end *end)
{
	if (end->bed->ends[0].here)
		(void)comes(&end->bed->refused, 1);
	else
		(void)usleep(2 * MOMENT_US);
	return serve(end);
}

static const char *publish_wrongly(struct bed *bed)
{
	bed->steps = 1;
	if (publish(bed, bed->first))
		return "publish refused a good step";
	if (publish(bed, bed->first + 1) != TROUPE_EPROTOCOL)
		return "published while a step is out";
	atomic_store(&bed->refused, 1);
	bed->ends[0].out = (struct words){bed->first, step_value(bed->first), 0};
	if (!comes(&bed->acked, 1))
		return "the primary did not get all acks of the step";
	if (publish(bed, bed->first + 2) != TROUPE_EPROTOCOL || publish(bed, bed->first) != TROUPE_EPROTOCOL)
		return "a number was skipped or repeated";
	if (publish(bed, bed->first + 1))
		return "the next step was refused after wrong ones";
	if (!comes(&bed->acked, 2))
		return "the primary did not get all acks of the next step";
	finish(bed);
	return publish(bed, bed->first + 2) ? NULL : "published after close";
}

const char *suite_publish_refuses(struct stage *stage, uint32_t secondaries)
{
	static struct bed bed;
	begin(&bed, stage, secondaries);
	return play(&bed, publish_wrongly, serve_slowly);
}

static troupe_status acknowledge_wrongly(struct end *end, uint64_t number)
{
	return end->bed->ops->ack(
		transport_of(end), end->node - 1, (struct transport_message){.number = number, .payload = &end->out});
}

static const char *acknowledge_badly(struct end *end)
{
	struct transport_message step;
	if (acknowledge_wrongly(end, end->bed->first) != TROUPE_EPROTOCOL)
		return "an ack was taken while no step is out";
	if (end->bed->ops->wait(transport_of(end), end->node - 1, &step))
		return "no step";
	if (acknowledge_wrongly(end, step.number + 1) != TROUPE_EPROTOCOL)
		return "an early ack was taken";
	if (acknowledge_wrongly(end, step.number - 1) != TROUPE_EPROTOCOL)
		return "a late ack was taken";
	if (acknowledge(end, step.number))
		return "a good ack was refused after bad ones";
	if (acknowledge_wrongly(end, step.number) == TROUPE_OK)
		return "a repeated ack was taken";
	end->got = 1;
	return serve(end);
}

static const char *publish_two(struct bed *bed)
{
	if (publish(bed, bed->first) || !comes(&bed->acked, 1))
		return "the primary did not get all acks of the first step";
	if (publish(bed, bed->first + 1) || !comes(&bed->acked, 2))
		return "the primary did not get all acks of the second step";
	finish(bed);
	return NULL;
}

const char *suite_ack_refuses(struct stage *stage, uint32_t secondaries)
{
	static struct bed bed;
	begin(&bed, stage, secondaries);
	return play(&bed, publish_two, acknowledge_badly);
}

const char *suite_create_refuses(struct stage *stage)
{
	static const struct transport_codec codec = {.ctx = NULL};
	const uint32_t counts[] = {0, TROUPE_SECONDARIES_MAX + 1};
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		struct transport_options options = {
			.secondaries = counts[i], .all_acked = on_all_acked, .codec = &codec};
		struct transport *transport;
		struct troupe_error error;
		if (stage->ops->create(&options, &transport, &error) != TROUPE_EINVAL ||
			!strstr(error.text, "secondaries"))
			return i ? "created with too many secondaries" : "created with no secondary";
	}
	return NULL;
}

/* --- closing ------------------------------------------------------------------------------------------------------ */

static const char *close_soon(struct bed *bed)
{
	(void)usleep(MOMENT_US);
	finish(bed);
	finish(bed);
	return NULL;
}

static const char *expect_no_step(struct end *end)
{
	struct transport_message step;
	return end->bed->ops->wait(transport_of(end), end->node - 1, &step) == TROUPE_EPEER
		       ? NULL
		       : "a waiting secondary was not told that it is over";
}

const char *suite_close_wakes(struct stage *stage, uint32_t secondaries)
{
	static struct bed bed;
	begin(&bed, stage, secondaries);
	return play(&bed, close_soon, expect_no_step);
}

static const char *take_late(struct end *end)
{
	const struct transport_ops *ops = end->bed->ops;
	struct transport_message step;
	(void)usleep(2 * MOMENT_US);
	if (ops->wait(transport_of(end), end->node - 1, &step) || step.number != end->bed->first)
		return "a step published before close was lost";
	return expect_no_step(end);
}

static const char *publish_and_close(struct bed *bed)
{
	if (publish(bed, bed->first))
		return "publish refused a good step";
	(void)usleep(MOMENT_US); /* until the step is at the secondaries */
	finish(bed);
	return NULL;
}

const char *suite_close_delivers_first(struct stage *stage, uint32_t secondaries)
{
	static struct bed bed;
	begin(&bed, stage, secondaries);
	return play(&bed, publish_and_close, take_late);
}

/* --- losses ------------------------------------------------------------------------------------------------------- */

static enum suite_moment the_moment;

static bool is_victim(const struct end *end)
{
	return end->node == end->bed->secondaries;
}

static void die(struct end *end)
{
	struct bed *bed = end->bed;
	end->killed = true;
	bed->stage->kill(bed->stage, end->node, transport_of(end));
}

static const char *victim_name(const struct bed *bed)
{
	static const char *const names[] = {"", "secondary 1", "secondary 2", "secondary 3", "secondary 4",
		"secondary 5", "secondary 6", "secondary 7", "secondary 8"};
	return names[bed->secondaries];
}

/* Checks what lost() and the alarm report at this end after a loss; words: of the reason. */
static const char *check_lost(struct end *end, const char *words)
{
	struct bed *bed = end->bed;
	uint64_t until = clock_now_ns() + PATIENCE_NS;
	const struct troupe_error *lost;
	while (!(lost = bed->ops->lost(transport_of(end))) && clock_now_ns() < until)
		(void)usleep(200);
	if (!lost)
		return "lost() does not know of the loss";
	if (lost->status != TROUPE_EPEER || !strstr(lost->text, victim_name(bed)))
		return "lost() does not name the peer";
	if (!strstr(lost->text, words))
		return "lost() does not give the reason";
	if (bed->ops->is_done(transport_of(end)))
		return "is_done() is true for a run with a loss";
	while (!atomic_load(&end->alarms) && clock_now_ns() < until)
		(void)usleep(200);
	(void)usleep(MOMENT_US);
	return atomic_load(&end->alarms) == 1 ? NULL : "alarm was not called once";
}

static const char *survive(struct end *end, const char *words)
{
	const char *why = serve(end);
	/* only the primary has the alarm of a shared transport */
	return why || end->bed->stage->is_shared ? why : check_lost(end, words);
}

/* Another process cannot see the primary's count. */
static void let_acks_arrive(struct bed *bed)
{
	if (bed->ends[0].here)
		(void)comes(&bed->acked, 1);
	else
		(void)usleep(MOMENT_US);
}

static const char *serve_until_loss(struct end *end)
{
	struct transport_message step;
	if (!is_victim(end))
		return survive(end, the_moment == SUITE_BEFORE ? "" : ": ");
	if (the_moment != SUITE_BEFORE && end->bed->ops->wait(transport_of(end), end->node - 1, &step))
		return "no step";
	if (the_moment == SUITE_AFTER && acknowledge(end, step.number))
		return "a good ack was refused";
	if (the_moment == SUITE_AFTER)
		let_acks_arrive(end->bed);
	die(end);
	return NULL;
}

/* The outcome of a step with a loss: the step is refused, or given up. */
static const char *check_given_up(struct bed *bed, troupe_status published, uint64_t acked)
{
	const char *why = check_lost(&bed->ends[0], ": ");
	if (why)
		return why;
	if (!published && !comes(&bed->given_up, 1))
		return "gave_up was not called";
	(void)usleep(MOMENT_US);
	if (atomic_load(&bed->given_up) != (published ? 0 : 1))
		return "gave_up was not called once for the step";
	if (atomic_load(&bed->acked) != acked)
		return "all_acked was called for a step that a lost peer had not acknowledged";
	for (int i = 0; i < 2; i++)
		if (publish(bed, bed->first + acked + !published) != bed->ops->lost(primary_of(bed))->status)
			return "publish after a loss does not fail with its status";
	if (atomic_load(&bed->ends[0].alarms) != 1)
		return "alarm was called again";
	return NULL;
}

static const char *publish_until_loss(struct bed *bed)
{
	uint64_t acked = 0;
	if (the_moment == SUITE_AFTER) {
		if (publish(bed, bed->first) || !comes(&bed->acked, 1))
			return "the primary did not get all acks of the first step";
		acked = 1;
	}
	if (the_moment != SUITE_DURING)
		(void)usleep(3 * MOMENT_US);
	const char *why = check_given_up(bed, publish(bed, bed->first + acked), acked);
	bed->ops->close(primary_of(bed));
	return why;
}

const char *suite_lost(struct stage *stage, uint32_t secondaries, enum suite_moment moment)
{
	static struct bed bed;
	the_moment = moment;
	begin(&bed, stage, secondaries);
	return play(&bed, publish_until_loss, serve_until_loss);
}

static const char *leave_in_step(struct end *end)
{
	struct transport_message step;
	const struct transport_ops *ops = end->bed->ops;
	if (!is_victim(end))
		return survive(end, "had other plans");
	if (ops->wait(transport_of(end), end->node - 1, &step))
		return "no step";
	ops->stop(transport_of(end), STOP_LEFT, "had other plans");
	if (ops->is_done(transport_of(end)) || ops->lost(transport_of(end)))
		return "a run that this side ended counts as done or lost";
	return acknowledge(end, step.number) == TROUPE_EPEER ? NULL : "an ack was taken after the end";
}

static const char *publish_until_left(struct bed *bed)
{
	troupe_status published = publish(bed, bed->first);
	const char *why = published ? "publish refused a good step" : check_given_up(bed, published, 0);
	if (!why && !strstr(bed->ops->lost(primary_of(bed))->text, "left: had other plans"))
		why = "lost() does not say that the peer left, and why";
	bed->ops->close(primary_of(bed));
	return why;
}

const char *suite_left(struct stage *stage, uint32_t secondaries)
{
	static struct bed bed;
	begin(&bed, stage, secondaries);
	return play(&bed, publish_until_left, leave_in_step);
}

static const char *serve_until_failed(struct end *end)
{
	const struct transport_ops *ops = end->bed->ops;
	const char *why = serve(end);
	if (why || end->bed->stage->is_shared)
		return why;
	const struct troupe_error *lost = ops->lost(transport_of(end));
	if (!lost || lost->status != TROUPE_EPEER || !strstr(lost->text, "a model flew away"))
		return "a secondary does not have the primary's reason";
	return ops->is_done(transport_of(end)) ? "is_done() is true for a run that failed" : NULL;
}

static const char *fail_between_steps(struct bed *bed)
{
	const struct transport_ops *ops = bed->ops;
	if (publish(bed, bed->first) || !comes(&bed->acked, 1))
		return "the primary did not get all acks of the first step";
	ops->stop(primary_of(bed), STOP_FAILED, "a model flew away");
	ops->stop(primary_of(bed), STOP_DONE, "done");
	if (ops->is_done(primary_of(bed)))
		return "is_done() is true for a run that failed";
	if (atomic_load(&bed->ends[0].alarms))
		return "alarm was called although the primary itself ended the run";
	ops->close(primary_of(bed));
	return publish(bed, bed->first + 1) ? NULL : "published after the end";
}

const char *suite_failed(struct stage *stage, uint32_t secondaries)
{
	static struct bed bed;
	begin(&bed, stage, secondaries);
	return play(&bed, fail_between_steps, serve_until_failed);
}

/* --- files of the primary ----------------------------------------------------------------------------------------- */

static const char *fetch_one(struct end *end, unsigned long count)
{
	char path[64], *bytes = NULL;
	size_t got = 1;
	struct troupe_error error = {0};
	(void)snprintf(path, sizeof path, "%lu.%u", count, end->node);
	if (end->bed->ops->fetch(transport_of(end), path, &bytes, &got, &error))
		return "a file of the primary did not come";
	const char *why = got == count ? NULL : "a file has another length";
	for (size_t i = 0; i < got && !why; i++)
		if (bytes[i] != (char)('0' + end->node))
			why = "a file has the bytes of another one";
	free(bytes);
	return why;
}

static const char *fetch_missing(struct end *end, const char *reason)
{
	char *bytes = NULL;
	size_t got = 0;
	struct troupe_error error = {0};
	troupe_status status = end->bed->ops->fetch(transport_of(end), "none", &bytes, &got, &error);
	return status == TROUPE_EIO && !bytes && strstr(error.text, reason)
		       ? NULL
		       : "a file that is missing came, or the primary's reason did not";
}

static const char *fetch_at_the_end(struct end *end)
{
	char *bytes = NULL;
	size_t got = 0;
	struct transport_message step;
	struct troupe_error error = {0};
	while (end->bed->ops->wait(transport_of(end), end->node - 1, &step) == TROUPE_OK)
		(void)acknowledge(end, step.number);
	return end->bed->ops->fetch(transport_of(end), "1.1", &bytes, &got, &error) == TROUPE_EPEER && !bytes
		       ? NULL
		       : "a file came after the end";
}

/* Within a step and between two, also after one that is missing. */
static const char *fetch_files(struct end *end)
{
	static const unsigned long counts[] = {3, 0, 300000, 1};
	struct transport_message step;
	const char *why = NULL;
	for (size_t i = 0; i < ARRAY_LEN(counts) && !why; i++) {
		if (i % 2 && end->bed->ops->wait(transport_of(end), end->node - 1, &step))
			return "no step";
		why = fetch_one(end, counts[i]);
		why = why ? why : fetch_missing(end, "there is no file none");
		if (!why && i % 2 && acknowledge(end, step.number))
			why = "a good ack was refused";
	}
	return why ? why : fetch_at_the_end(end);
}

static const char *fetch_none(struct end *end)
{
	const char *why = fetch_missing(end, "no file is given");
	return why ? why : fetch_at_the_end(end);
}

static const char *publish_for_files(struct bed *bed)
{
	char *bytes = NULL;
	size_t got = 0;
	struct troupe_error error = {0};
	bed->steps = 2;
	if (bed->ops->fetch(primary_of(bed), "1.1", &bytes, &got, &error) != TROUPE_EINVAL)
		return "the primary fetched a file";
	if (publish(bed, bed->first) || !comes(&bed->acked, 2))
		return "the primary did not get all acks";
	finish(bed);
	return NULL;
}

const char *suite_files(struct stage *stage, uint32_t secondaries)
{
	static struct bed bed;
	begin_with(&bed, stage, secondaries, true);
	const char *why = play(&bed, publish_for_files, fetch_files);
	if (why)
		return why;
	begin(&bed, stage, secondaries);
	return play(&bed, publish_for_files, fetch_none);
}
