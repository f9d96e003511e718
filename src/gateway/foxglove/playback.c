/* Clients are told at once that the time jumps, and are shown nothing until the step is there: a client drops what it
 * has when it hears of the jump, so what comes before and after must not be mixed. A step further on is reached by
 * playing up to it, with the same server, whose messages on the way are hidden; any other one has a server of its own.
 */
#include "gateway/foxglove/playback.h"

#include "gateway/foxglove/foxglove_client.h"
#include "gateway/play.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct playback {
	struct foxglove *gateway;
	struct play *play;
	bool moved;             /* another server has the state since the last turn */
	struct play_state now;  /* at the last turn */
	struct play_state told; /* what all clients know of it */
	uint64_t from_step;     /* the step that was asked for last */
};

/* --- what clients are told ---------------------------------------------------------------------------------------- */

static enum wire_playback_status playback_status_of(const struct play_state *state)
{
	if (state->seeking)
		return WIRE_BUFFERING;
	if (state->playing)
		return WIRE_PLAYING;
	return state->step >= state->end ? WIRE_ENDED : WIRE_PAUSED;
}

/* request: the one that this answers, or NULL. */
static void playback_send_state(const struct playback *playback, struct foxglove_client *client, bool did_seek,
	const struct wire_binary *request)
{
	const struct play_state *now = &playback->now;
	const struct wire_playback_state state = {.status = playback_status_of(now),
		.time_ns = play_time_ns(playback->play, now->seeking ? playback->from_step : now->step),
		.speed = now->speed,
		.did_seek = did_seek,
		.id = request ? request->body : NULL,
		.id_count = request ? request->count : 0};
	struct text bytes = {0};
	if (!client->has_controls)
		return;
	wire_add_playback_state(&bytes, &state);
	port_say(client->base, true, bytes.at, bytes.count);
	text_fini(&bytes);
}

static void playback_tell_everybody(const struct playback *playback, bool did_seek, const struct foxglove_client *but)
{
	for (struct port_client *client = playback->gateway->port.clients; client; client = client->after)
		if (client->data != but)
			playback_send_state(playback, client->data, did_seek, NULL);
}

static void playback_tell_failure(const struct playback *playback)
{
	for (struct port_client *client = playback->gateway->port.clients; client; client = client->after)
		foxglove_client_complain(client->data, WIRE_ERROR, "playback", "%s", playback->now.text);
}

/* --- what clients ask --------------------------------------------------------------------------------------------- */

static void playback_seek(struct playback *playback, uint64_t step)
{
	playback->from_step = step;
	playback->now.seeking = true; /* until a turn sees the step, however soon it is there */
	play_seek(playback->play, step);
	for (struct port_client *client = playback->gateway->port.clients; client; client = client->after)
		outbox_clear(&client->outbox);
}

void playback_obey(struct playback *playback, struct foxglove_client *client, const struct wire_binary *request)
{
	if (!(request->speed > 0 && request->speed <= PLAY_SPEED_MAX)) {
		foxglove_client_complain(client, WIRE_ERROR, NULL,
			"playback: speed %g: expected more than 0 and at most %g", request->speed, PLAY_SPEED_MAX);
		playback_send_state(playback, client, false, request);
		return;
	}
	bool seeking = playback->now.seeking;
	play_control(playback->play, request->plays, request->speed);
	play_state(playback->play, &playback->now);
	playback->now.seeking = seeking;
	if (request->seeks)
		playback_seek(playback, play_step_at(playback->play, request->time_ns));
	playback_send_state(playback, client, request->seeks, request);
	playback_tell_everybody(playback, request->seeks, client);
	playback->told = playback->now;
}

void playback_welcome(struct playback *playback, struct foxglove_client *client)
{
	for (const struct port_client *base = playback->gateway->port.clients; base; base = base->after) {
		const struct foxglove_client *other = base->data;
		if (other->has_controls) {
			playback_send_state(playback, client, false, NULL);
			return;
		}
	}
	if (playback->now.step >= playback->now.end)
		playback_seek(playback, playback->now.begin);
	play_control(playback->play, true, playback->now.speed);
}

/* --- a turn ------------------------------------------------------------------------------------------------------- */

bool playback_hides(const struct playback *playback, const struct troupe_message *message)
{
	return playback->now.seeking || message->step < playback->from_step;
}

uint64_t playback_time_of(const struct playback *playback, const struct troupe_message *message)
{
	return play_time_ns(playback->play, MAX(message->step, playback->now.begin));
}

uint64_t playback_time(const struct playback *playback)
{
	return play_time_ns(playback->play, playback->now.seeking ? playback->from_step : playback->now.step);
}

void playback_moved(struct playback *playback)
{
	playback->moved = true;
}

void playback_turn(struct playback *playback)
{
	struct play_state *now = &playback->now;
	bool was_seeking = now->seeking || playback->moved;
	playback->moved = false;
	bool seeks = now->seeking;
	play_state(playback->play, now);
	if (seeks && !now->seeking)
		playback->from_step = MIN(playback->from_step, now->step); /* it is not reached if the way fails */
	if (was_seeking && !now->seeking)
		hub_renew(playback->gateway->hub, true);
}

void playback_tell(struct playback *playback)
{
	const struct play_state *now = &playback->now, *told = &playback->told;
	if (playback_status_of(told) != playback_status_of(now) || told->speed != now->speed)
		playback_tell_everybody(playback, false, NULL);
	if (*now->text && strcmp(told->text, now->text) != 0)
		playback_tell_failure(playback);
	playback->told = *now;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

struct playback *playback_create(struct foxglove *gateway, struct play *play)
{
	struct playback *playback = mem_alloc(sizeof *playback);
	playback->gateway = gateway;
	playback->play = play;
	play_state(play, &playback->now);
	playback->told = playback->now;
	playback->from_step = playback->now.begin;
	return playback;
}

void playback_range(const struct playback *playback, struct wire_playback *ret_range)
{
	ret_range->begin_ns = play_time_ns(playback->play, playback->now.begin);
	ret_range->end_ns = play_time_ns(playback->play, playback->now.end);
}
