/* A payload consists only of the numbers and strings of base/pack, and ends with its last field: a longer payload is
 * refused, so no hidden bytes can follow. The exception is a hello of another protocol, which may be longer: only the
 * places of its protocol and name are known. */
#include "net/hello.h"

#include "base/pack.h"

#include <string.h>

#define MAGIC UINT64_C(0x54206570756f7274)          /* "troupe T" */
#define MAGIC_DATAGRAM UINT64_C(0x55206570756f7274) /* "troupe U" */

static struct unpack hello_unpack_of(const void *bytes, size_t count)
{
	const char *at = count ? bytes : "";
	return (struct unpack){at, at + count, false};
}

/* Accepts a text within its limit and without control characters, because it will be printed. */
static void hello_unpack_text(struct unpack *in, char *ret_text, size_t max)
{
	size_t count;
	const char *bytes = unpack_bytes(in, &count);
	ret_text[0] = '\0';
	if (count > max)
		in->bad = true;
	for (size_t i = 0; !in->bad && i < count; i++)
		if ((unsigned char)bytes[i] < 0x20 || bytes[i] == 0x7f)
			in->bad = true;
	if (in->bad)
		return;
	memcpy(ret_text, bytes, count);
	ret_text[count] = '\0';
}

/* Our own text may hold any characters. It is cut at its limit, and control characters become '?'. */
static void hello_pack_text(struct text *out, const char *text, size_t max)
{
	size_t count = strnlen(text, max);
	pack_u64(out, count);
	for (size_t i = 0; i < count; i++) {
		char c = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
		text_add_bytes(out, &c, 1);
	}
}

_Static_assert(HELLO_TICKET_BYTES == HELLO_ID_BYTES && HELLO_RUN_BYTES == HELLO_ID_BYTES, "all are read as an id is");

static void hello_unpack_id(struct unpack *in, unsigned char ret_id[HELLO_ID_BYTES])
{
	for (int i = 0; i < HELLO_ID_BYTES / 8; i++) {
		uint64_t word = unpack_u64(in);
		for (int k = 0; k < 8; k++)
			ret_id[8 * i + k] = (unsigned char)(word >> (8 * k) & 0xff);
	}
}

static bool hello_all_taken(const struct unpack *in)
{
	return !in->bad && in->at == in->end;
}

static bool hello_role_is_known(uint64_t role)
{
	return role == HELLO_PRIMARY || role == HELLO_SECONDARY;
}

/* --- hello -------------------------------------------------------------------------------------------------------- */

void hello_encode(const struct hello *hello, struct text *out)
{
	pack_u64(out, MAGIC);
	pack_u64(out, hello->protocol);
	hello_pack_text(out, hello->name, HELLO_TEXT_MAX);
	pack_u64(out, hello->role);
	text_add_bytes(out, (const char *)hello->id, HELLO_ID_BYTES);
	pack_u64(out, hello->fingerprint.all);
	for (int i = 0; i < FINGERPRINT_PARTS; i++)
		pack_u64(out, hello->fingerprint.of[i]);
	pack_u64(out, hello->world);
	pack_u64(out, hello->secondaries);
	hello_pack_text(out, hello->build, HELLO_TEXT_MAX);
	hello_pack_text(out, hello->partition, HELLO_TEXT_MAX);
	hello_pack_text(out, hello->client, HELLO_TEXT_MAX);
	text_add_bytes(out, (const char *)hello->ticket, HELLO_TICKET_BYTES);
	text_add_bytes(out, (const char *)hello->run, HELLO_RUN_BYTES);
	pack_u64(out, hello->term);
	hello_pack_text(out, hello->listen, HELLO_TEXT_MAX);
}

static bool hello_decode_rest(struct unpack *in, struct hello *hello)
{
	uint64_t role = unpack_u64(in);
	hello_unpack_id(in, hello->id);
	hello->fingerprint.all = unpack_u64(in);
	for (int i = 0; i < FINGERPRINT_PARTS; i++)
		hello->fingerprint.of[i] = unpack_u64(in);
	hello->world = unpack_u64(in);
	hello->secondaries = unpack_count(in, TROUPE_SECONDARIES_MAX);
	hello_unpack_text(in, hello->build, HELLO_TEXT_MAX);
	hello_unpack_text(in, hello->partition, HELLO_TEXT_MAX);
	hello_unpack_text(in, hello->client, HELLO_TEXT_MAX);
	hello_unpack_id(in, hello->ticket);
	hello_unpack_id(in, hello->run);
	hello->term = unpack_u64(in);
	hello_unpack_text(in, hello->listen, HELLO_TEXT_MAX);
	bool known = role >= HELLO_PRIMARY && role <= HELLO_STANDBY;
	hello->role = known ? (enum hello_role)role : HELLO_SECONDARY;
	return hello_all_taken(in) && known;
}

troupe_status hello_decode(const void *bytes, size_t count, struct hello *ret_hello, struct troupe_error *error)
{
	struct unpack in = hello_unpack_of(bytes, count);
	struct hello hello = {0};
	if (unpack_u64(&in) != MAGIC)
		return fail(error, TROUPE_EPROTOCOL, "its hello is not that of troupe");
	hello.protocol = unpack_count(&in, UINT32_MAX);
	hello_unpack_text(&in, hello.name, HELLO_TEXT_MAX);
	if (in.bad || !hello.protocol || (hello.protocol == HELLO_PROTOCOL && !hello_decode_rest(&in, &hello)))
		return fail(error, TROUPE_EPROTOCOL, "its hello is not valid");
	*ret_hello = hello;
	return TROUPE_OK;
}

bool hello_ticket_is(const unsigned char given[HELLO_TICKET_BYTES], const unsigned char right[HELLO_TICKET_BYTES])
{
	unsigned char differs = 0, some = 0;
	for (int i = 0; i < HELLO_TICKET_BYTES; i++) {
		differs |= (unsigned char)(given[i] ^ right[i]);
		some |= right[i];
	}
	return some && !differs;
}

const char *hello_role_name(enum hello_role role)
{
	static const char *const names[] = {[HELLO_PRIMARY] = "primary",
		[HELLO_SECONDARY] = "secondary",
		[HELLO_VIEWER] = "viewer",
		[HELLO_STANDBY] = "standby"};
	return names[role];
}

/* A primary whose place another one has taken has an older term. */
static troupe_status hello_match_term(const struct hello *ours, const struct hello *theirs, struct troupe_error *error)
{
	static const unsigned char none[HELLO_RUN_BYTES];
	if (!memcmp(ours->run, none, sizeof none) || memcmp(ours->run, theirs->run, sizeof none) != 0)
		return TROUPE_OK;
	if (ours->role == HELLO_PRIMARY && theirs->term > ours->term)
		return fail(error, TROUPE_EPROTOCOL,
			"another primary has taken over this run: it is of term %llu, this process of term %llu",
			(unsigned long long)theirs->term, (unsigned long long)ours->term);
	if (theirs->role == HELLO_PRIMARY && theirs->term < ours->term)
		return fail(error, TROUPE_EPROTOCOL,
			"it is of term %llu, but another primary has taken over its run: expected term %llu or later",
			(unsigned long long)theirs->term, (unsigned long long)ours->term);
	return TROUPE_OK;
}

/* Names the parts that differ. */
static troupe_status hello_match_arithmetic(
	const struct fingerprint *ours, const struct fingerprint *theirs, struct troupe_error *error)
{
	static const char *const names[] = {[FINGERPRINT_ARITHMETIC] = "its sums and products",
		[FINGERPRINT_FUNCTIONS] = "its functions of mathematics",
		[FINGERPRINT_LIBM] = "libm's functions of single precision",
		[FINGERPRINT_ODE] = "ODE, which was compiled for another processor or with other options",
		[FINGERPRINT_SOLVER] = "its own solver"};
	struct text parts = {0};
	if (ours->all == theirs->all)
		return TROUPE_OK;
	for (int i = 0; i < FINGERPRINT_PARTS; i++)
		if (ours->of[i] != theirs->of[i])
			text_add(&parts, "%s %s", parts.count ? " and" : ", in", names[i]);
	troupe_status status = fail(error, TROUPE_EPROTOCOL,
		"its floating-point arithmetic has fingerprint %016llx: expected %016llx, because it would compute "
		"other bits%s",
		(unsigned long long)theirs->all, (unsigned long long)ours->all, parts.count ? parts.at : "");
	text_fini(&parts);
	return status;
}

troupe_status hello_match(const struct hello *ours, const struct hello *theirs, struct troupe_error *error)
{
	if (ours->protocol != theirs->protocol)
		return fail(
			error, TROUPE_EPROTOCOL, "its protocol is %u: expected %u", theirs->protocol, ours->protocol);
	if (strcmp(ours->partition, theirs->partition))
		return fail(error, TROUPE_EPROTOCOL, "its partition is '%s': expected '%s'", theirs->partition,
			ours->partition);
	if (ours->role == theirs->role)
		return fail(error, TROUPE_EPROTOCOL, "it is a %s, as this process is", hello_role_name(ours->role));
	if (ours->role != HELLO_PRIMARY && theirs->role == HELLO_STANDBY)
		return fail(error, TROUPE_EPROTOCOL, "it is a standby: expected a primary");
	if (theirs->role == HELLO_VIEWER)
		return fail(error, TROUPE_EPROTOCOL,
			"it is a viewer: expected a secondary (viewers join the address of "
			"--watch-listen)");
	if (strcmp(ours->build, theirs->build))
		return fail(error, TROUPE_EPROTOCOL, "its build is '%s': expected '%s'", theirs->build, ours->build);
	troupe_status status = hello_match_arithmetic(&ours->fingerprint, &theirs->fingerprint, error);
	if (status)
		return status;
	if (ours->world && theirs->world && ours->world != theirs->world)
		return fail(error, TROUPE_EPROTOCOL, "its world has hash %016llx: expected %016llx",
			(unsigned long long)theirs->world, (unsigned long long)ours->world);
	return hello_match_term(ours, theirs, error);
}

/* --- the small ones ----------------------------------------------------------------------------------------------- */

void welcome_encode(const struct welcome *welcome, struct text *out)
{
	pack_u64(out, welcome->secondary);
	pack_u64(out, welcome->secondaries);
	pack_u64(out, welcome->stale_ms);
	pack_u64(out, welcome->port);
	text_add_bytes(out, (const char *)welcome->ticket, HELLO_TICKET_BYTES);
	hello_pack_text(out, welcome->standby, HELLO_TEXT_MAX);
}

troupe_status welcome_decode(const void *bytes, size_t count, struct welcome *ret, struct troupe_error *error)
{
	struct unpack in = hello_unpack_of(bytes, count);
	struct welcome welcome;
	welcome.secondary = unpack_count(&in, TROUPE_SECONDARIES_MAX);
	welcome.secondaries = unpack_count(&in, TROUPE_SECONDARIES_MAX);
	welcome.stale_ms = unpack_count(&in, HELLO_STALE_MS_MAX);
	welcome.port = (uint16_t)unpack_count(&in, UINT16_MAX);
	hello_unpack_id(&in, welcome.ticket);
	hello_unpack_text(&in, welcome.standby, HELLO_TEXT_MAX);
	if (!hello_all_taken(&in) || !welcome.secondary || welcome.secondary > welcome.secondaries || !welcome.stale_ms)
		return fail(error, TROUPE_EPROTOCOL, "its welcome is not valid");
	*ret = welcome;
	return TROUPE_OK;
}

void heartbeat_encode(const struct heartbeat *heartbeat, struct text *out)
{
	pack_u64(out, (uint64_t)heartbeat->busy | (uint64_t)heartbeat->leaves << 1);
	pack_u64(out, heartbeat->step);
}

troupe_status heartbeat_decode(const void *bytes, size_t count, struct heartbeat *ret, struct troupe_error *error)
{
	struct unpack in = hello_unpack_of(bytes, count);
	uint32_t flags = unpack_count(&in, 3);
	uint64_t step = unpack_u64(&in);
	if (!hello_all_taken(&in))
		return fail(error, TROUPE_EPROTOCOL, "its heartbeat is not valid");
	*ret = (struct heartbeat){flags & 1, flags & 2, step};
	return TROUPE_OK;
}

void stop_encode(const struct stop *stop, struct text *out)
{
	pack_u64(out, stop->kind);
	pack_u64(out, stop->next_step);
	hello_pack_text(out, stop->who, HELLO_WHO_MAX);
	hello_pack_text(out, stop->why, HELLO_WORDS_MAX);
}

troupe_status stop_decode(const void *bytes, size_t count, struct stop *ret, struct troupe_error *error)
{
	struct unpack in = hello_unpack_of(bytes, count);
	struct stop stop;
	uint32_t kind = unpack_count(&in, STOP_AGAIN);
	stop.next_step = unpack_u64(&in);
	hello_unpack_text(&in, stop.who, HELLO_WHO_MAX);
	hello_unpack_text(&in, stop.why, HELLO_WORDS_MAX);
	if (!hello_all_taken(&in) || kind < STOP_DONE || kind == STOP_REFUSED)
		return fail(error, TROUPE_EPROTOCOL, "its stop is not valid");
	stop.kind = (enum stop_kind)kind;
	*ret = stop;
	return TROUPE_OK;
}

void refuse_encode(const char *why, bool again, struct text *out)
{
	hello_pack_text(out, why, HELLO_WORDS_MAX);
	pack_u64(out, again);
}

troupe_status refuse_decode(
	const void *bytes, size_t count, char ret_why[HELLO_WORDS_MAX + 1], bool *ret_again, struct troupe_error *error)
{
	struct unpack in = hello_unpack_of(bytes, count);
	char why[HELLO_WORDS_MAX + 1];
	hello_unpack_text(&in, why, HELLO_WORDS_MAX);
	bool again = unpack_count(&in, 1);
	if (!hello_all_taken(&in))
		return fail(error, TROUPE_EPROTOCOL, "its refusal is not valid");
	strcpy(ret_why, why);
	if (ret_again)
		*ret_again = again;
	return TROUPE_OK;
}

void number_encode(uint64_t number, struct text *out)
{
	pack_u64(out, number);
}

troupe_status number_decode(const void *bytes, size_t count, uint64_t *ret, struct troupe_error *error)
{
	struct unpack in = hello_unpack_of(bytes, count);
	uint64_t number = unpack_u64(&in);
	if (!hello_all_taken(&in))
		return fail(error, TROUPE_EPROTOCOL, "a number is not valid");
	*ret = number;
	return TROUPE_OK;
}

/* --- announcements ------------------------------------------------------------------------------------------------ */

void announcement_encode(const struct announcement *announcement, struct text *out)
{
	pack_u64(out, MAGIC_DATAGRAM);
	pack_u64(out, HELLO_PROTOCOL);
	pack_u64(out, announcement->role);
	pack_u64(out, announcement->echo_count);
	for (uint32_t i = 0; i < announcement->echo_count; i++)
		pack_u64(out, announcement->echoes[i]);
	pack_u64(out, announcement->nonce);
	pack_u64(out, announcement->kind);
	text_add_bytes(out, (const char *)announcement->id, HELLO_ID_BYTES);
	pack_u64(out, announcement->port);
	pack_u64(out, announcement->secondaries);
	pack_u64(out, announcement->present);
	hello_pack_text(out, announcement->partition, HELLO_TEXT_MAX);
	hello_pack_text(out, announcement->name, HELLO_TEXT_MAX);
}

/* Nine numbers, the echoes, the id, two texts with their counts: */
_Static_assert((9 + ANNOUNCEMENT_ECHOES_MAX) * 8 + HELLO_ID_BYTES + 2 * (8 + HELLO_TEXT_MAX) <=
		       ANNOUNCEMENT_BYTES_MAX - ANNOUNCEMENT_MAC_BYTES,
	"the longest announcement fits into a datagram");

static bool hello_glance(struct unpack *in, uint64_t *ret_role, uint32_t *ret_echo_count)
{
	if (unpack_u64(in) != MAGIC_DATAGRAM || unpack_u64(in) != HELLO_PROTOCOL)
		return false;
	*ret_role = unpack_u64(in);
	*ret_echo_count = unpack_count(in, ANNOUNCEMENT_ECHOES_MAX);
	return !in->bad;
}

bool announcement_glance(const void *bytes, size_t count, enum hello_role role, const uint64_t *numbers,
	uint32_t number_count, bool *ret_echoes)
{
	struct unpack in = hello_unpack_of(bytes, count);
	uint64_t theirs;
	uint32_t echo_count;
	if (!hello_glance(&in, &theirs, &echo_count) || theirs != role)
		return false;
	*ret_echoes = false;
	for (uint32_t i = 0; i < echo_count; i++) {
		uint64_t echo = unpack_u64(&in);
		for (uint32_t k = 0; k < number_count && !in.bad; k++)
			*ret_echoes |= echo == numbers[k];
	}
	return !in.bad;
}

troupe_status announcement_decode(const void *bytes, size_t count, struct announcement *ret, struct troupe_error *error)
{
	struct unpack in = hello_unpack_of(bytes, count);
	struct announcement a = {0};
	uint64_t role;
	if (!hello_glance(&in, &role, &a.echo_count))
		return fail(error, TROUPE_EPROTOCOL, "not an announcement of protocol %d", HELLO_PROTOCOL);
	for (uint32_t i = 0; i < a.echo_count; i++)
		a.echoes[i] = unpack_u64(&in);
	a.nonce = unpack_u64(&in);
	uint32_t kind = unpack_count(&in, ANNOUNCE_FIXED);
	hello_unpack_id(&in, a.id);
	a.port = (uint16_t)unpack_count(&in, UINT16_MAX);
	a.secondaries = unpack_count(&in, TROUPE_SECONDARIES_MAX);
	a.present = unpack_count(&in, TROUPE_SECONDARIES_MAX);
	hello_unpack_text(&in, a.partition, HELLO_TEXT_MAX);
	hello_unpack_text(&in, a.name, HELLO_TEXT_MAX);
	if (!hello_all_taken(&in) || kind < ANNOUNCE_HERE || !hello_role_is_known(role) ||
		(role == HELLO_PRIMARY) != (a.port > 0))
		return fail(error, TROUPE_EPROTOCOL, "an announcement that is not valid");
	a.kind = (enum announcement_kind)kind;
	a.role = role == HELLO_PRIMARY ? HELLO_PRIMARY : HELLO_SECONDARY;
	*ret = a;
	return TROUPE_OK;
}
