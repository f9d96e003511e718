/* What peers knows: of its connections, of the run, and of its end. Nothing is decided here. */
#include "net/peers_internal.h"

#include <string.h>

enum { PEERS_STEP_BYTES = 80 /* "; the last step that all had acknowledged is N", terminated */ };

enum peers_phase peers_phase(const struct peers *peers)
{
	return peers->phase;
}

const struct stop *peers_end(const struct peers *peers)
{
	return peers->phase == PEERS_OVER ? &peers->end : NULL;
}

static const char *peers_known_deed_of(enum stop_kind kind)
{
	switch (kind) {
	case STOP_DONE:
		return "is done";
	case STOP_LEFT:
		return "left";
	case STOP_LOST:
	case STOP_AGAIN:
		return "was lost";
	case STOP_BROKEN:
		return "sent invalid data";
	case STOP_FAILED:
		return "failed";
	case STOP_MISSING:
		return "gave up";
	case STOP_REFUSED:
		return "turned this process away";
	case STOP_REGROUP:
		return "takes part no longer";
	}
	return "?";
}

bool peers_regroups(const struct peers *peers, uint32_t *ret_lost)
{
	*ret_lost = is_primary(peers) ? peers->lost : peers->end.kind == STOP_AGAIN;
	return peers->phase == PEERS_OVER && (peers->end.kind == STOP_REGROUP || peers->end.kind == STOP_AGAIN);
}

const char *peers_address(const struct peers *peers, uint32_t id)
{
	return peers->all[id].address;
}

bool peers_is_orphan(const struct peers *peers)
{
	return peers->orphan;
}

const unsigned char *peers_run(const struct peers *peers)
{
	return peers->run;
}

uint64_t peers_term(const struct peers *peers)
{
	return peers->term;
}

const char *peers_standby(const struct peers *peers)
{
	return peers->standby;
}

const char *peers_missing(const struct peers *peers)
{
	return peers->missing;
}

bool peers_stays(const struct peers *peers, uint32_t id)
{
	return peers->phase == PEERS_OVER && peers->end.kind == STOP_REGROUP && id < peers->room &&
	       peers->all[id].stage == MEMBER;
}

bool peers_is_leaving(const struct peers *peers, uint32_t secondary)
{
	uint32_t id = peers_id_of(peers, secondary);
	return is_primary(peers) && id != PEERS_NONE && peers->all[id].leaving;
}

void peers_linger(struct peers *peers)
{
	size_t begin = peers->bytes.count;
	if (is_primary(peers) || !peers_stays(peers, peers->members[0]))
		return;
	heartbeat_encode(&(struct heartbeat){.step = peers->expected}, &peers->bytes);
	peers_push_send(peers, peers->members[0], FRAME_HEARTBEAT, begin);
}

bool peers_is_new(const struct peers *peers, uint32_t secondary)
{
	uint32_t id = peers_id_of(peers, secondary);
	return id != PEERS_NONE && !peers->all[id].known;
}

const unsigned char *peers_process(const struct peers *peers, uint32_t secondary)
{
	return peers->all[peers_id_of(peers, secondary)].id;
}

uint32_t peers_known(const struct peers *peers)
{
	uint32_t count = 0;
	for (uint32_t id = 0; id < peers->room; id++)
		count += peers->all[id].stage != FREE && peers->all[id].known;
	return count;
}

uint32_t peers_secondaries(const struct peers *peers)
{
	return peers->options.secondaries;
}

const unsigned char *peers_ticket(const struct peers *peers)
{
	return peers->ticket;
}

uint16_t peers_port(const struct peers *peers)
{
	return peers->port;
}

troupe_status peers_end_status(const struct peers *peers, struct troupe_error *error)
{
	const struct stop *end = &peers->end;
	bool wrong = end->kind == STOP_BROKEN || end->kind == STOP_REFUSED;
	char step[PEERS_STEP_BYTES], line[TROUPE_ERROR_TEXT_BYTES - PEERS_STEP_BYTES];
	struct text text = {0};
	if (peers->phase != PEERS_OVER || end->kind == STOP_DONE)
		return TROUPE_OK;
	uint64_t before = peers->options.again ? peers->options.first_step : 0; /* so many steps other members took */
	bool none = !peers->began || end->next_step == peers->options.first_step;
	if (none && before)
		text_add(&text, "the last step that all had acknowledged is %llu", (unsigned long long)before - 1);
	else if (!peers->began)
		text_add(&text, "before the first step");
	else if (none)
		text_add(&text, "no step was acknowledged by all");
	else
		text_add(&text, "the last step that all had acknowledged is %llu",
			(unsigned long long)end->next_step - 1);
	peers_copy_words(step, sizeof step, text.at);
	text.count = 0;
	text_add(&text, "%.200s %s: %s", end->who, peers_known_deed_of(end->kind), end->why);
	peers_copy_words(line, sizeof line, text.at);
	text_fini(&text);
	/* the step stands last and is never cut off */
	return fail(error, wrong ? TROUPE_EPROTOCOL : TROUPE_EPEER, "%s; %s", line, step);
}

uint32_t peers_present(const struct peers *peers)
{
	return peers->present;
}

uint32_t peers_id_of(const struct peers *peers, uint32_t secondary)
{
	return secondary <= peers->options.secondaries ? peers->members[secondary] : PEERS_NONE;
}

uint32_t peers_secondary_of(const struct peers *peers, uint32_t id)
{
	return peers_is_here(peers, id) ? peers->all[id].secondary : 0;
}

const char *peers_name(const struct peers *peers, uint32_t id)
{
	return peers_is_here(peers, id) ? peers->all[id].name : "nobody";
}

uint32_t peers_own_number(const struct peers *peers, uint32_t *ret_secondaries)
{
	*ret_secondaries = peers->own_of;
	return peers->own;
}

uint64_t peers_stale_ns(const struct peers *peers)
{
	return peers->options.stale_ns;
}

uint64_t peers_first_step(const struct peers *peers)
{
	return peers->options.first_step;
}
