/* A bundle travels in parts, so that memory grows with the bytes that have come and not with the size that was
 * promised, and that heartbeats pass between the parts. Two hashes of 64 bits tell whether it is the one that was sent.
 */
#include "net/bundle.h"

#include "base/hash.h"
#include "base/pack.h"

#include <string.h>

struct bundle bundle_describe(const char *bytes, size_t count)
{
	return (struct bundle){count, {hash_bytes(1, bytes, count), hash_bytes(2, bytes, count)}};
}

void bundle_encode(const struct bundle *bundle, struct text *out)
{
	pack_u64(out, bundle->bytes);
	pack_u64(out, bundle->hash[0]);
	pack_u64(out, bundle->hash[1]);
}

troupe_status bundle_decode(const char *bytes, size_t count, struct bundle *ret_bundle, struct troupe_error *error)
{
	struct unpack in = {bytes, bytes + count, false};
	struct bundle bundle = {.bytes = unpack_u64(&in)};
	bundle.hash[0] = unpack_u64(&in);
	bundle.hash[1] = unpack_u64(&in);
	if (in.bad || in.at != in.end || !bundle.bytes || bundle.bytes > BUNDLE_BYTES_MAX)
		return fail(error, TROUPE_EPROTOCOL, "its description of the world is not valid");
	*ret_bundle = bundle;
	return TROUPE_OK;
}

troupe_status bundle_add(const struct bundle *bundle, struct text *so_far, const char *bytes, size_t count,
	bool *ret_whole, struct troupe_error *error)
{
	if (count > bundle->bytes - so_far->count)
		return fail(error, TROUPE_EPROTOCOL, "more of the world than was described");
	text_add_bytes(so_far, bytes, count);
	*ret_whole = so_far->count == bundle->bytes;
	if (!*ret_whole)
		return TROUPE_OK;
	struct bundle came = bundle_describe(so_far->at, so_far->count);
	if (memcmp(came.hash, bundle->hash, sizeof came.hash) != 0)
		return fail(error, TROUPE_EPROTOCOL, "the world did not arrive as it was sent");
	return TROUPE_OK;
}
