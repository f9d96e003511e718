/* Discovery datagrams of gz-transport, wire version 10: encoding and decoding. Pure functions.
 *
 * A datagram is a number of 16 bits in the byte order of the host, which counts the bytes after it, and a protobuf
 * message Discovery. Fields that have no meaning here (header, and what newer versions add) are skipped. */
#ifndef GATEWAY_GZ_BEACON_H
#define GATEWAY_GZ_BEACON_H

#include "gateway/gz/names.h"

enum {
	BEACON_VERSION = 10,
	BEACON_VERSION_STATISTICS = 110, /* of peers that send topic statistics: they hear only each other */
	BEACON_BYTES_MAX = 8192,         /* of a datagram; a longer one is not read */
};

enum beacon_kind { /* numbers of the wire */
	BEACON_ADVERTISE = 1,
	BEACON_SUBSCRIBE = 2,
	BEACON_UNADVERTISE = 3,
	BEACON_HEARTBEAT = 4,
	BEACON_BYE = 5,
	BEACON_NEW_CONNECTION = 6,
	BEACON_END_CONNECTION = 7,
};

enum beacon_scope { BEACON_PROCESS = 0, BEACON_HOST = 1, BEACON_ALL = 2 };

/* A text inside a datagram; absent: at is NULL. */
struct beacon_text {
	const char *at;
	size_t count;
};

struct beacon {
	uint32_t version;
	enum beacon_kind kind;
	bool relay, no_relay;
	struct beacon_text process; /* of the sender; always there */
	struct beacon_text topic;   /* full name; of SUBSCRIBE and of the four kinds with a publisher */
	bool has_publisher;         /* the rest is filled: ADVERTISE, UNADVERTISE, NEW_ and END_CONNECTION */
	bool is_service;
	struct beacon_text address, owner; /* owner: process of the publisher */
	struct beacon_text node;
	enum beacon_scope scope;
	struct beacon_text control, type; /* topic; control: in NEW_CONNECTION the process of the publisher meant */
	bool throttled;
	uint64_t rate_hz;
	struct beacon_text socket, request_type, reply_type; /* service */
};

/* False: not a whole datagram of this form, of an unknown kind, or with a name that is not valid (names.h). Texts point
 * into the datagram. Versions are not compared. */
bool beacon_decode(const char *bytes, size_t count, struct beacon *ret_beacon);
/* Appends the datagram. False: it would be longer than BEACON_BYTES_MAX, and nothing was appended. */
bool beacon_encode(const struct beacon *beacon, struct text *out);

struct beacon_text beacon_text_of(const char *text);
bool beacon_text_is(struct beacon_text text, const char *other);

#endif
