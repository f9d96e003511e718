/* The frames of a peer must come in the order that the protocol allows, and nothing in them may be trusted. Each frame
 * is first checked against the stage of its peer and the phase of the run (peers_is_due()), then decoded, then acted
 * on. A frame that fails a check ends the connection to its peer. */
#include "net/peers_internal.h"

#include <stdlib.h>
#include <string.h>

static void peers_hear_set_name(struct peer *peer, const char *what, uint32_t number, const char *name)
{
	struct text text = {0};
	text_add(&text, "%s", what);
	if (number)
		text_add(&text, " %u", number);
	text_add(&text, " (%s at %s)", name, peer->address);
	peers_copy_words(peer->name, sizeof peer->name, text.at);
	text_fini(&text);
}

static void peers_hear_send_hello(struct peers *peers, uint32_t id)
{
	size_t begin = peers->bytes.count;
	hello_encode(&peers->options.self, &peers->bytes);
	peers_push_send(peers, id, FRAME_HELLO, begin);
}

/* --- coming ------------------------------------------------------------------------------------------------------- */

static uint32_t peers_hear_enter(struct peers *peers, const char *address, bool kept, uint64_t now_ns)
{
	uint32_t id = 0;
	while (id < peers->room && peers->all[id].stage != FREE)
		id++;
	if (id == peers->room || peers->phase == PEERS_OVER)
		return PEERS_NONE;
	struct peer *peer = &peers->all[id];
	*peer = (struct peer){.stage = STRANGER, .joined_ns = now_ns, .heard_ns = now_ns};
	peer->known = peer->kept = kept && is_primary(peers);
	peers->kept += peer->kept;
	peers_copy_words(peer->address, sizeof peer->address, address);
	peers_copy_words(peer->name, sizeof peer->name, peer->address);
	peers_wake_at(peers, now_ns + (peer->kept ? peers->options.kept_ns : peers->options.hello_ns));
	if (!is_primary(peers))
		peers_hear_send_hello(peers, id);
	return id;
}

uint32_t peers_join(struct peers *peers, const char *address, uint64_t now_ns)
{
	return peers_hear_enter(peers, address, false, now_ns);
}

uint32_t peers_keep(struct peers *peers, const char *address, uint64_t now_ns)
{
	return peers_hear_enter(peers, address, true, now_ns);
}

static const struct peer *peers_hear_find_member(const struct peers *peers, const unsigned char process[HELLO_ID_BYTES])
{
	for (uint32_t id = 0; id < peers->room; id++)
		if ((peers->all[id].stage == MEMBER || peers->all[id].hello) &&
			!memcmp(peers->all[id].id, process, HELLO_ID_BYTES))
			return &peers->all[id];
	return NULL;
}

static uint32_t peers_hear_plain_count(const struct peers *peers)
{
	return peers->options.secondaries - peers->options.clients;
}

/* The number of the client of this name, or else the lowest number of a secondary that is free; 0: there is none. */
static uint32_t peers_hear_place_for(const struct peers *peers, const char *client)
{
	for (uint32_t i = 0; *client && peers->options.client_names && i < peers->options.clients; i++)
		if (!strcmp(peers->options.client_names[i], client))
			return peers_hear_plain_count(peers) + 1 + i;
	for (uint32_t number = 1; !*client && number <= peers_hear_plain_count(peers); number++)
		if (peers->members[number] == PEERS_NONE)
			return number;
	return 0;
}

static void peers_hear_admit(struct peers *peers, uint32_t id, const struct hello *hello, uint64_t now_ns)
{
	struct peer *peer = &peers->all[id];
	uint32_t number = peers_hear_place_for(peers, hello->client);
	peers->members[number] = id;
	peer->stage = MEMBER;
	peer->secondary = number;
	peer->heard_ns = now_ns; /* it may have waited for others, and had nothing to say */
	memcpy(peer->id, hello->id, sizeof peer->id);
	peers_hear_set_name(
		peer, *hello->client ? hello->client : "secondary", *hello->client ? 0 : number, hello->name);
	peers->present++;
	peers_hear_send_hello(peers, id);
	size_t begin = peers->bytes.count;
	uint64_t stale_ms = peers->options.stale_ns / MS;
	struct welcome welcome = {number, peers->options.secondaries, 1, peers->options.port, {0}, {0}};
	peers_copy_words(welcome.standby, sizeof welcome.standby, peers->options.standby ? peers->options.standby : "");
	if (number > peers_hear_plain_count(peers) && peers->options.client_tickets)
		memcpy(welcome.ticket, peers->options.client_tickets[number - peers_hear_plain_count(peers) - 1],
			sizeof welcome.ticket);
	welcome.stale_ms = (uint32_t)(stale_ms > HELLO_STALE_MS_MAX ? HELLO_STALE_MS_MAX : stale_ms ? stale_ms : 1);
	welcome_encode(&welcome, &peers->bytes);
	peers_push_send(peers, id, FRAME_WELCOME, begin);
	peers_push(peers, (struct peers_action){.kind = PEERS_ADMITTED, .id = id, .secondary = number},
		peers->bytes.count);
	if (peers->present == peers->options.secondaries)
		peers->phase = PEERS_LOADING;
	peers_wake_at(peers, now_ns);
}

/* --- coming in a run that goes on --------------------------------------------------------------------------------- */

uint32_t peers_count_waiting(const struct peers *peers, bool clients)
{
	uint32_t count = 0;
	for (uint32_t id = 0; id < peers->room; id++)
		count += peers->all[id].hello && (*peers->all[id].hello->client != '\0') == clients;
	return count;
}

/* Secondaries that are no clients first, in the order of their connections. */
static void peers_hear_admit_all(struct peers *peers, uint32_t plain, uint64_t now_ns)
{
	peers->options.secondaries = plain + peers->options.clients;
	for (int clients = 0; clients < 2; clients++)
		for (uint32_t id = 0; id < peers->room; id++) {
			struct hello *hello = peers->all[id].hello;
			if (!hello || (*hello->client != '\0') != clients)
				continue;
			peers->all[id].hello = NULL;
			peers_hear_admit(peers, id, hello, now_ns);
			free(hello);
		}
}

static const char *peers_hear_missing_client(const struct peers *peers)
{
	for (uint32_t i = 0; i < peers->options.clients; i++) {
		bool here = false;
		for (uint32_t id = 0; id < peers->room && !here; id++)
			here = peers->all[id].hello &&
			       !strcmp(peers->all[id].hello->client, peers->options.client_names[i]);
		if (!here)
			return peers->options.client_names[i];
	}
	return NULL;
}

static bool peers_hear_is_of_least(const struct peers *peers, const unsigned char *process)
{
	for (uint32_t i = 0; i < peers->options.least_of_count; i++)
		if (!memcmp(process, peers->options.least_of[i], HELLO_ID_BYTES))
			return true;
	return false;
}

/* How many of options.least_of have come. */
static uint32_t peers_hear_count_least(const struct peers *peers)
{
	uint32_t count = 0;
	for (uint32_t id = 0; id < peers->room; id++)
		count += peers->all[id].hello && peers_hear_is_of_least(peers, peers->all[id].id);
	return count;
}

void peers_settle(struct peers *peers, uint64_t now_ns)
{
	if (peers->phase != PEERS_GATHERING)
		return;
	uint32_t plain = peers_count_waiting(peers, false), clients = peers_count_waiting(peers, true);
	const bool enough = plain && peers_hear_count_least(peers) >= peers->options.least;
	if (enough && plain >= peers->options.expected && clients == peers->options.clients) {
		peers_hear_admit_all(peers, plain, now_ns);
		return;
	}
	if (!peers_passed(peers, peers->gathering_ns, peers->options.settle_ns, now_ns) || peers->kept || !enough)
		return;
	const char *missing = peers_hear_missing_client(peers);
	if (missing && !peers_passed(peers, peers->gathering_ns, peers->options.clients_ns, now_ns))
		return;
	if (missing) {
		peers->missing = missing;
		struct troupe_error why;
		fail(&why, TROUPE_EPEER, "client '%s' did not come back", peers->missing);
		peers_stop(peers, STOP_REGROUP, why.text);
		return;
	}
	peers_hear_admit_all(peers, plain, now_ns);
}

static void peers_hear_let_wait(struct peers *peers, uint32_t id, const struct hello *hello, uint64_t now_ns)
{
	struct peer *peer = &peers->all[id];
	peer->hello = mem_alloc(sizeof *peer->hello);
	*peer->hello = *hello;
	memcpy(peer->id, hello->id, sizeof peer->id);
	peers_settle(peers, now_ns);
}

/* --- judging ------------------------------------------------------------------------------------------------------ */

/* Whether an unknown peer is admitted; if not, the reason. */
static troupe_status peers_hear_judge(
	struct peers *peers, uint32_t id, const struct hello *hello, struct troupe_error *why)
{
	const struct peer *twin = peers_hear_find_member(peers, hello->id);
	if (hello_match(&peers->options.self, hello, why)) {
		peers_hear_send_hello(peers, id); /* so that the other side can name the difference, too */
		return TROUPE_EPROTOCOL;
	}
	bool again = peers->options.again;
	if (peers->phase == PEERS_RUNNING || (again && peers->phase == PEERS_LOADING))
		return fail(why, TROUPE_EPEER, "the run has begun with %u %s", peers->present,
			peers->present == 1 ? "secondary" : "secondaries");
	if (twin)
		return fail(why, TROUPE_EPEER, "the same process has joined already, as %s", twin->name);
	uint32_t place = peers_hear_place_for(peers, hello->client), kept = 0;
	if (again && !*hello->client) {
		/* A new one that is quicker does not take the place of one that took part before. */
		if (!peers_hear_is_of_least(peers, hello->id))
			kept = peers->options.least_of_count - peers_hear_count_least(peers);
		place = peers_count_waiting(peers, false) + kept < peers_hear_plain_count(peers);
	}
	if (*hello->client && place && peers->members[place] != PEERS_NONE)
		return fail(why, TROUPE_EPEER, "client '%.80s' takes part already, as %s", hello->client,
			peers->all[peers->members[place]].name);
	if (*hello->client && !place)
		return fail(why, TROUPE_EPEER, "client '%.80s' is not awaited%s", hello->client,
			peers->options.more_clients ? "" : ", and no further client may join");
	if (!place && kept)
		return fail(why, TROUPE_EPEER, "%u %s kept for secondaries that took part before", kept,
			kept == 1 ? "place is" : "places are");
	if (!place)
		return fail(why, TROUPE_EPEER, "one too many: the primary needs %u %s", peers_hear_plain_count(peers),
			peers_hear_plain_count(peers) == 1 ? "secondary, and has it" : "secondaries, and has them");
	return TROUPE_OK;
}

/* Whether it may be let in later. */
static bool peers_hear_knocks(const struct peers *peers, const struct hello *hello)
{
	bool client = *hello->client != '\0';
	bool may = client ? peers->options.more_clients && !peers_hear_place_for(peers, hello->client)
			  : peers->options.more_plain;
	return may && !peers_hear_find_member(peers, hello->id) && !hello_match(&peers->options.self, hello, NULL);
}

static void peers_hear_knock(
	struct peers *peers, uint32_t id, const struct hello *hello, const char *why, uint64_t now_ns)
{
	peers_send_refuse(peers, id, why, true);
	peers_push_close(peers, id);
	peers_forget(peers, id, now_ns);
	size_t begin = peers->bytes.count;
	text_add_bytes(&peers->bytes, (const char *)hello->id, sizeof hello->id);
	text_add(&peers->bytes, "%s", hello->client);
	peers_push(peers, (struct peers_action){.kind = PEERS_KNOCKED, .id = id}, begin);
}

/* Primary. */
static void peers_hear_unknown_peer(struct peers *peers, uint32_t id, const struct hello *hello, uint64_t now_ns)
{
	struct troupe_error why;
	if (hello->role == HELLO_STANDBY && !hello_match(&peers->options.self, hello, NULL)) {
		peers_send_refuse(
			peers, id, "a standby follows a world that runs, and this one does not run yet", true);
		peers_push_close(peers, id);
		peers_forget(peers, id, now_ns);
		return;
	}
	peers_hear_set_name(&peers->all[id], *hello->client ? "a client" : "a secondary", 0, hello->name);
	if (!peers_hear_judge(peers, id, hello, &why)) {
		if (peers->options.again)
			peers_hear_let_wait(peers, id, hello, now_ns);
		else
			peers_hear_admit(peers, id, hello, now_ns);
		return;
	}
	if (peers_hear_knocks(peers, hello)) {
		peers_hear_knock(peers, id, hello, why.text, now_ns);
		return;
	}
	peers_push_turned_away(peers, id, why.text);
	peers_lose(peers, id, STOP_REFUSED, why.text, FAREWELL_WORDS, now_ns);
}

/* Secondary. The primary refused us and would do so again, so the run is over for us, unless there may be another
 * primary. */
static void peers_hear_not_let_in(struct peers *peers, uint32_t id, const char *why, bool again, uint64_t now_ns)
{
	char name[PEERS_NAME_BYTES];
	memcpy(name, peers->all[id].name, sizeof name);
	peers_push_close(peers, id);
	if (!peers->options.seeks && !again) {
		peers_end_all(peers, STOP_REFUSED, name, why, id);
		return;
	}
	peers_forget(peers, id, now_ns);
	size_t begin = peers->bytes.count;
	text_add(&peers->bytes, "%s turned this process away: %s", name, why);
	peers_push(peers, (struct peers_action){.kind = PEERS_REFUSED, .id = id, .again = again}, begin);
}

/* Secondary. */
static void peers_hear_primary(struct peers *peers, uint32_t id, const struct hello *hello, uint64_t now_ns)
{
	struct peer *peer = &peers->all[id];
	struct troupe_error why;
	peers_hear_set_name(peer, hello->role == HELLO_SECONDARY ? "a secondary" : "the primary", 0, hello->name);
	if (hello_match(&peers->options.self, hello, &why)) {
		peers_hear_not_let_in(peers, id, why.text, false, now_ns);
		return;
	}
	memcpy(peer->id, hello->id, sizeof peer->id);
	memcpy(peers->run, hello->run, sizeof peers->run);
	peers->term = hello->term;
	peer->stage = MEMBER;
	peer->joined_ns = now_ns; /* the time limit for the welcome starts */
	peers->members[0] = id;
	peers->present = 1;
}

static void peers_hear_welcome(struct peers *peers, uint32_t id, const struct welcome *welcome, uint64_t now_ns)
{
	peers->own = welcome->secondary;
	peers->own_of = welcome->secondaries;
	peers->port = welcome->port;
	memcpy(peers->ticket, welcome->ticket, sizeof peers->ticket);
	memcpy(peers->standby, welcome->standby, sizeof peers->standby);
	peers->options.stale_ns = welcome->stale_ms * MS;
	peers->options.heartbeat_ns = peers->options.stale_ns / 5;
	peers->phase = PEERS_LOADING;
	peers_push(peers, (struct peers_action){.kind = PEERS_ADMITTED, .id = id, .secondary = welcome->secondary},
		peers->bytes.count);
	peers_wake_at(peers, now_ns);
}

/* --- starting ----------------------------------------------------------------------------------------------------- */

/* Primary. */
static void peers_hear_ready(struct peers *peers, uint32_t id, uint64_t hash, uint64_t now_ns)
{
	if (hash != peers->options.state_hash) {
		struct troupe_error why;
		fail(&why, TROUPE_EPROTOCOL, "the state that was rebuilt has hash %016llx: expected %016llx",
			(unsigned long long)hash, (unsigned long long)peers->options.state_hash);
		peers_lose(peers, id, STOP_BROKEN, why.text, FAREWELL_WORDS, now_ns);
		return;
	}
	peers->all[id].ready = true;
	if (++peers->ready < peers->options.secondaries)
		return;
	peers->phase = PEERS_RUNNING;
	peers->began = true;
	for (uint32_t number = 1; number <= peers->options.secondaries; number++)
		peers_send_number(peers, peers->members[number], FRAME_START, peers->next_step);
	peers_push(peers, (struct peers_action){.kind = PEERS_STARTED}, peers->bytes.count);
}

/* Secondary. */
static void peers_hear_start(struct peers *peers, uint64_t first_step)
{
	peers->phase = PEERS_RUNNING;
	peers->began = true;
	peers->options.first_step = peers->next_step = peers->expected = first_step;
	peers_push(peers, (struct peers_action){.kind = PEERS_STARTED}, peers->bytes.count);
}

/* --- frames ------------------------------------------------------------------------------------------------------- */

bool peers_is_due(const struct peers *peers, const struct peer *peer, enum frame_type type)
{
	bool primary = is_primary(peers), member = peer->stage == MEMBER;
	bool admitted = member && (primary || peers->own);
	bool started = peers->phase == PEERS_RUNNING;
	switch (type) {
	case FRAME_HELLO:
		return !member && !peer->hello;
	case FRAME_WELCOME:
		return !primary && member && !admitted;
	case FRAME_REFUSE:
		return !(member && started);
	case FRAME_HEARTBEAT:
		return admitted;
	case FRAME_STOP:
		return admitted || peer->kept;
	case FRAME_WORLD:
	case FRAME_WORLD_DATA:
		return !primary && admitted && !started;
	case FRAME_START:
		return !primary && admitted && !started && peer->ready;
	case FRAME_WORLD_WANT:
	case FRAME_READY:
		return primary && admitted && !started && !peer->ready;
	case FRAME_STEP:
		return !primary && started;
	case FRAME_ACK:
		return primary && member && started;
	case FRAME_FILE_WANT:
		return primary && member && started;
	case FRAME_FILE_DATA:
	case FRAME_FILE_NONE:
		return !primary && started;
	case FRAME_ASK: /* of viewers and standbys, which are no peers */
	case FRAME_TELL:
	case FRAME_FOLLOW:
		return false;
	}
	return false;
}

static void peers_hear_heartbeat(struct peers *peers, uint32_t id, const struct heartbeat *heartbeat, uint64_t now_ns)
{
	struct peer *peer = &peers->all[id];
	peer->busy = heartbeat->busy;
	if (heartbeat->busy)
		peers->published_ns = now_ns; /* a busy secondary extends the step deadline */
	if (!heartbeat->leaves || peer->leaving || !is_primary(peers))
		return;
	if (peers->phase != PEERS_RUNNING || !peers_goes_on_without(peers, peer)) {
		peers_lose(peers, id, STOP_LEFT, "it was told to stop", FAREWELL_WORDS, now_ns);
		return;
	}
	peer->leaving = true;
	peers_push(peers, (struct peers_action){.kind = PEERS_LEAVES, .id = id, .secondary = peer->secondary},
		peers->bytes.count);
}

static void peers_hear_stop(struct peers *peers, uint32_t id, const struct stop *stop, uint64_t now_ns)
{
	if (!is_primary(peers)) {
		/* the primary knows better; bounded, because the number is input */
		peers->next_step = MIN(MAX(stop->next_step, peers->options.first_step), peers->expected);
		if (stop->kind != STOP_REGROUP || peers->all[id].leaving)
			peers_push_close(peers, id);
		peers_end_all(peers, stop->kind, stop->who, stop->why, id);
		return;
	}
	struct troupe_error why;
	bool of_itself = stop->kind == STOP_LEFT || stop->kind == STOP_FAILED;
	fail(&why, TROUPE_EPEER, "%s%s", of_itself ? "" : "it gave this process up: ", stop->why);
	peers_lose(peers, id, of_itself ? stop->kind : STOP_LEFT, why.text, FAREWELL_CLOSE, now_ns);
}

static void peers_hear_refuse(struct peers *peers, uint32_t id, const char *why, bool again, uint64_t now_ns)
{
	if (is_primary(peers))
		peers_lose(peers, id, STOP_LEFT, why, FAREWELL_CLOSE, now_ns);
	else
		peers_hear_not_let_in(peers, id, why, again, now_ns);
}

/* One function for each type of frame: decodes it, then acts on it. */

static troupe_status peers_hear_take_hello(
	struct peers *peers, uint32_t id, const void *bytes, size_t count, uint64_t now_ns, struct troupe_error *error)
{
	struct hello hello;
	troupe_status status = hello_decode(bytes, count, &hello, error);
	if (!status && is_primary(peers))
		peers_hear_unknown_peer(peers, id, &hello, now_ns);
	else if (!status)
		peers_hear_primary(peers, id, &hello, now_ns);
	return status;
}

static troupe_status peers_hear_take_welcome(
	struct peers *peers, uint32_t id, const void *bytes, size_t count, uint64_t now_ns, struct troupe_error *error)
{
	struct welcome welcome;
	troupe_status status = welcome_decode(bytes, count, &welcome, error);
	if (!status)
		peers_hear_welcome(peers, id, &welcome, now_ns);
	return status;
}

static troupe_status peers_hear_take_heartbeat(
	struct peers *peers, uint32_t id, const void *bytes, size_t count, uint64_t now_ns, struct troupe_error *error)
{
	struct heartbeat heartbeat;
	troupe_status status = heartbeat_decode(bytes, count, &heartbeat, error);
	if (!status)
		peers_hear_heartbeat(peers, id, &heartbeat, now_ns);
	return status;
}

static troupe_status peers_hear_take_stop(
	struct peers *peers, uint32_t id, const void *bytes, size_t count, uint64_t now_ns, struct troupe_error *error)
{
	struct stop stop;
	troupe_status status = stop_decode(bytes, count, &stop, error);
	if (!status)
		peers_hear_stop(peers, id, &stop, now_ns);
	return status;
}

static troupe_status peers_hear_take_refuse(
	struct peers *peers, uint32_t id, const void *bytes, size_t count, uint64_t now_ns, struct troupe_error *error)
{
	char why[HELLO_WORDS_MAX + 1];
	bool again;
	troupe_status status = refuse_decode(bytes, count, why, &again, error);
	if (!status)
		peers_hear_refuse(peers, id, why, again, now_ns);
	return status;
}

static troupe_status peers_hear_take_ready(
	struct peers *peers, uint32_t id, const void *bytes, size_t count, uint64_t now_ns, struct troupe_error *error)
{
	uint64_t hash;
	troupe_status status = number_decode(bytes, count, &hash, error);
	if (!status)
		peers_hear_ready(peers, id, hash, now_ns);
	return status;
}

static troupe_status peers_hear_take_start(
	struct peers *peers, uint32_t id, const void *bytes, size_t count, uint64_t now_ns, struct troupe_error *error)
{
	uint64_t first_step;
	troupe_status status = number_decode(bytes, count, &first_step, error);
	(void)id;
	(void)now_ns;
	if (!status)
		peers_hear_start(peers, first_step);
	return status;
}

typedef troupe_status take_fn(
	struct peers *peers, uint32_t id, const void *bytes, size_t count, uint64_t now_ns, struct troupe_error *error);

static take_fn *const peers_hear_takes[FRAME_TYPES] = {
	[FRAME_HELLO] = peers_hear_take_hello,
	[FRAME_WELCOME] = peers_hear_take_welcome,
	[FRAME_REFUSE] = peers_hear_take_refuse,
	[FRAME_HEARTBEAT] = peers_hear_take_heartbeat,
	[FRAME_STOP] = peers_hear_take_stop,
	[FRAME_READY] = peers_hear_take_ready,
	[FRAME_START] = peers_hear_take_start,
};

/* Whether it was sent before the peer knew that it is to join again. */
static bool peers_hear_is_old(struct peers *peers, uint32_t id, enum frame_type type, uint64_t now_ns)
{
	if (id >= peers->room || !peers->all[id].kept)
		return false;
	peers->all[id].heard_ns = now_ns;
	if (type != FRAME_HELLO)
		return type != FRAME_STOP && type != FRAME_REFUSE;
	peers->all[id].kept = false;
	peers->kept--;
	return false;
}

void peers_receive(
	struct peers *peers, uint32_t id, enum frame_type type, const void *bytes, size_t count, uint64_t now_ns)
{
	struct troupe_error error;
	if (peers_hear_is_old(peers, id, type, now_ns) || !peers_heard(peers, id, type, now_ns))
		return;
	if (!peers_hear_takes[type])
		fail(&error, TROUPE_EPROTOCOL, "sent %s, which only the other side may send", frame_name(type));
	else if (!peers_hear_takes[type](peers, id, bytes, count, now_ns, &error))
		return;
	peers_break(peers, id, error.text, now_ns);
}
