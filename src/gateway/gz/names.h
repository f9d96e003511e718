/* Names of gz-transport: topics, partitions, types, endpoints. Pure functions.
 *
 * On the wire a topic or service NAME of partition P is "@/P@NAME". Limits here are narrower than gz-transport's (65535
 * bytes for a name): what is longer is treated as not valid. */
#ifndef GATEWAY_GZ_NAMES_H
#define GATEWAY_GZ_NAMES_H

#include "base/text.h"

enum {
	NAMES_TOPIC_MAX = 1023, /* bytes of a topic without partition */
	NAMES_PARTITION_MAX = 255,
	NAMES_FULL_MAX = NAMES_PARTITION_MAX + NAMES_TOPIC_MAX + 3,
	NAMES_TYPE_MAX = 255,
	NAMES_ID_MAX = 64, /* of a process, node or socket: usually a UUID of 36 bytes */
	NAMES_ENDPOINT_MAX = 63,
};

/* Whether the text may be a topic: begins with '/', or not (then it is made absolute); no blank, '~', '@', "//", ":=",
 * control character; not empty, not "/". */
bool names_is_topic(const char *text, size_t count);
/* The same for a partition, which may be empty. */
bool names_is_partition(const char *text, size_t count);
/* Letters, digits, '_' and '.'. */
bool names_is_type(const char *text, size_t count);
/* An identity: printable, without blanks. */
bool names_is_id(const char *text, size_t count);

/* Appends "@/PARTITION@/TOPIC"; both must be valid. Slashes at the ends are put right as gz-transport does it. */
void names_join(struct text *out, const char *partition, const char *topic);
/* The topic in a full name when it is of this partition (as names_join() writes it): points into the full name. NULL:
 * another partition, or not a full name. */
const char *names_topic_in(const char *full, size_t count, const char *partition);

/* "gz.msgs.Clock" and "ignition.msgs.Clock" are two names of one type. The part after either prefix ("Clock"); NULL:
 * the type has neither. */
const char *names_plain_type(const char *type);
/* Whether both name one type. */
bool names_same_type(const char *a, const char *b);
/* Appends the type with the prefix of this generation; a type with neither prefix as it is. */
void names_add_type(struct text *out, const char *type, bool ignition);
/* Whether it is the type Empty, whose service calls have no reply. */
bool names_is_empty_type(const char *type);

struct names_endpoint {
	uint32_t address; /* IPv4, host byte order */
	uint16_t port;
};

/* Exactly "tcp://A.B.C.D:PORT": ZeroMQ would take other transports, files among them, and names to be resolved. */
bool names_endpoint_parse(const char *text, size_t count, struct names_endpoint *ret_endpoint);

#endif
