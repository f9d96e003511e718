/* The frames of the lockstep socket (PROTOCOL.md): four bytes of length, least significant first, and a message. Pure:
 * bytes in, messages out, and the other way. */
#ifndef GATEWAY_LOCKSTEP_PACKET_H
#define GATEWAY_LOCKSTEP_PACKET_H

#include "base/text.h"
#include "topic/lockstep.pb-c.h"
#include "topic/message.h"

#include <troupe/client.h>

enum {
	PACKET_VERSION = 1,
	PACKET_BYTES_MAX = 16 << 20, /* of a frame from a client */
	PACKET_HEAD_BYTES = 4,
	PACKET_ITEMS_MAX = 65536, /* messages and subscriptions in one frame */
};

/* The limits of a message from a client. */
extern const struct message_limits packet_limits;

enum packet_read { PACKET_NONE, PACKET_READ, PACKET_BAD };

/* Takes the next frame out of what has come so far. *used: bytes of `bytes` that were taken before; grows. PACKET_NONE:
 * more bytes are needed. PACKET_READ: the caller frees *ret_packet with message_free(). PACKET_BAD: *error says why. */
enum packet_read packet_next(const char *bytes, size_t count, size_t *used,
	Troupe__Msgs__LockstepFromClient **ret_packet, struct troupe_error *error);

/* Appends a frame. */
void packet_add_welcome(struct text *out, const char *world, double step_s);
void packet_add_refused(struct text *out, const char *why);
void packet_add_ended(struct text *out, bool failed, const char *why);

/* A Step that is being put together: messages are copied, because each is valid only until the next is taken. Zeroed is
 * empty. */
struct packet_item {
	size_t topic, type, text, data, count; /* places in `kept`; count: bytes of data */
	bool call, refused, as_text;           /* as_text: data is the message in text form, with a terminator */
	uint64_t tag, step;
	int64_t time_ns;
};
struct packet_step {
	struct text kept;
	VEC(struct packet_item) items;
	bool text_form;                      /* messages are given in text form */
	Troupe__Msgs__LockstepMessage *room; /* [room_count] */
	Troupe__Msgs__LockstepMessage **list;
	uint32_t room_count;
};
void packet_step_take(struct packet_step *step, const struct troupe_message *message);
/* What the client sent was refused. */
void packet_step_refuse(struct packet_step *step, const char *topic, bool call, uint64_t tag, const char *why);
/* Appends the frame and empties the step. */
void packet_step_end(struct packet_step *step, uint64_t number, int64_t time_ns, struct text *out);
void packet_step_fini(struct packet_step *step);

#endif
