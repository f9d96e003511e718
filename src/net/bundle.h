/* The world that a primary gives to its secondaries: the bytes of a replica (run/replica.h). A WORLD frame describes
 * it; WORLD_DATA frames bring it in parts. Pure. */
#ifndef NET_BUNDLE_H
#define NET_BUNDLE_H

#include "base/text.h"

#define BUNDLE_BYTES_MAX (UINT64_C(4) << 30)
#define BUNDLE_PART_BYTES 65536u

/* The contents of a WORLD frame: size and hash of the bytes that follow. */
struct bundle {
	uint64_t bytes, hash[2];
};

struct bundle bundle_describe(const char *bytes, size_t count);
void bundle_encode(const struct bundle *bundle, struct text *out);
/* TROUPE_EPROTOCOL: no bundle, an empty one, or one above the limit. */
troupe_status bundle_decode(const char *bytes, size_t count, struct bundle *ret_bundle, struct troupe_error *error);

/* Appends a part that came to `so_far`. TROUPE_EPROTOCOL: more than was described, or, when all is there, other bytes
 * than were described. *ret_whole: all is there. */
troupe_status bundle_add(const struct bundle *bundle, struct text *so_far, const char *bytes, size_t count,
	bool *ret_whole, struct troupe_error *error);

#endif
