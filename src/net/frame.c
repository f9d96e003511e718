/* Both ends of a connection must agree on the number, the name and the size limit of each frame type. FRAME_LIST in
 * frame.h is the only list; the table here is generated from it. The length in a header comes from the peer, so it is
 * checked against the limit of its type before it is returned. */
#include "net/frame.h"

/* The numbers of the enum index this table. An unused number has limit 0: a type that does not exist. */
static const struct {
	const char *name;
	uint32_t limit;
} frame_kinds[FRAME_TYPES] = {
#define X(number, NAME, limit) [number] = {#NAME, limit},
	FRAME_LIST(X)
#undef X
};
#define X(number, NAME, limit)                                                                                         \
	_Static_assert((number) < FRAME_TYPES && (limit) <= FRAME_PAYLOAD_MAX, "frame " #NAME " is beyond a limit");
FRAME_LIST(X)
#undef X

uint32_t frame_limit(uint32_t type)
{
	return type < FRAME_TYPES ? frame_kinds[type].limit : 0;
}

const char *frame_name(uint32_t type)
{
	return frame_limit(type) ? frame_kinds[type].name : "?";
}

void frame_put_header(unsigned char ret_header[FRAME_HEADER_BYTES], enum frame_type type, uint32_t payload_bytes)
{
	for (int i = 0; i < 4; i++)
		ret_header[i] = (unsigned char)(payload_bytes >> (8 * i) & 0xff);
	ret_header[4] = (unsigned char)type;
}

troupe_status frame_get_header(const unsigned char header[FRAME_HEADER_BYTES], uint32_t most, enum frame_type *ret_type,
	uint32_t *ret_payload_bytes, struct troupe_error *error)
{
	uint32_t bytes = 0, type = header[4], limit = frame_limit(type);
	for (int i = 0; i < 4; i++)
		bytes |= (uint32_t)header[i] << (8 * i);
	if (!limit)
		return fail(error, TROUPE_EPROTOCOL, "a frame of type %u, which does not exist", type);
	limit = MIN(limit, most);
	if (bytes > limit)
		return fail(error, TROUPE_EPROTOCOL, "a frame %s of %u bytes: expected at most %u", frame_name(type),
			bytes, limit);
	*ret_type = (enum frame_type)type;
	*ret_payload_bytes = bytes;
	return TROUPE_OK;
}
