/* The frames of networked mode: the units that a connection carries. PROTOCOL.md describes the payload of each type.
 * Pure.
 *
 * A frame is u32 length of the payload, u8 type, payload; numbers are little-endian. */
#ifndef NET_FRAME_H
#define NET_FRAME_H

#include "base/base.h"

enum { FRAME_HEADER_BYTES = 5 };

/* X(number, NAME, limit of the payload in bytes). The numbers are part of the protocol: a number is never reused. */
#define FRAME_LIST(X)                                                                                                  \
	X(1, HELLO, 1024)         /* both ways, the first frame: describes its sender (net/hello.h) */                 \
	X(2, WELCOME, 256)        /* to the secondary: it is admitted, and its number */                               \
	X(3, REFUSE, 1024)        /* either way, the last frame: the reason for a refusal */                           \
	X(4, HEARTBEAT, 64)       /* both ways */                                                                      \
	X(5, STOP, 1024)          /* either way, the last frame: the run is over, why, and the last step */            \
	X(6, WORLD, 256)          /* to the secondary: size and content hash of the world */                           \
	X(7, WORLD_WANT, 64)      /* to the primary: asks for the world */                                             \
	X(8, WORLD_DATA, 65536)   /* to the secondary: the next part of the world */                                   \
	X(9, READY, 64)           /* to the primary: the state is rebuilt, and its state hash */                       \
	X(10, START, 64)          /* to the secondary: all are ready; the number of the first step */                  \
	X(11, STEP, 1 << 28)      /* to the secondary */                                                               \
	X(12, ACK, 1 << 28)       /* to the primary */                                                                 \
	X(13, ASK, 1 << 20)       /* from a viewer: gateway/relay/PROTOCOL.md */                                       \
	X(14, TELL, 1 << 28)      /* to a viewer */                                                                    \
	X(15, FOLLOW, 65536)      /* to a standby: net/follow.h */                                                     \
	X(16, FILE_WANT, 65536)   /* to the primary: asks for a file of the world */                                   \
	X(17, FILE_DATA, 1 << 28) /* to the secondary: its bytes */                                                    \
	X(18, FILE_NONE, 1024)    /* to the secondary: why it has none */

enum frame_type {
#define X(number, name, limit) FRAME_##name = number,
	FRAME_LIST(X)
#undef X
};

enum { FRAME_TYPES = 19, FRAME_PAYLOAD_MAX = 1 << 28 };

/* The most bytes a payload of this type may have; 0: no such type. */
uint32_t frame_limit(uint32_t type);
/* "STEP"; "?" when there is no such type. */
const char *frame_name(uint32_t type);
void frame_put_header(unsigned char ret_header[FRAME_HEADER_BYTES], enum frame_type type, uint32_t payload_bytes);
/* EPROTOCOL with a reason: the type does not exist, or the payload is above its limit or above `most`. */
troupe_status frame_get_header(const unsigned char header[FRAME_HEADER_BYTES], uint32_t most, enum frame_type *ret_type,
	uint32_t *ret_payload_bytes, struct troupe_error *error);

#endif
