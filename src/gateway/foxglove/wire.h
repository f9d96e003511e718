/* The messages of Foxglove's WebSocket protocol, version 1: operations are JSON, data are binary, little-endian. Pure.
 * The specification is in github.com/foxglove/ws-protocol. The playback control exists in the subprotocol
 * foxglove.sdk.v1 only (its source: github.com/foxglove/foxglove-sdk); otherwise versions of the protocol differ in
 * nothing that is used here. */
#ifndef GATEWAY_FOXGLOVE_WIRE_H
#define GATEWAY_FOXGLOVE_WIRE_H

#include "base/text.h"
#include "topic/foxglove.pb-c.h"
#include "topic/type.h"

enum {
	WIRE_DATA_HEAD = 13, /* bytes before the message of a subscription */
	WIRE_REQUEST_MAX = 1 << 20,
	WIRE_HEAR_MAX = 16 << 20,    /* a message that a client publishes, a request of a service */
	WIRE_PLAYBACK_ID_MAX = 1024, /* bytes of the name that a client gives a request of its playback control */
};

/* --- to the client ------------------------------------------------------------------------------------------------ */

struct wire_playback { /* the times of a recording: with playback control */
	uint64_t begin_ns, end_ns;
};
enum wire_role {
	WIRE_RUN,       /* a run, to which clients can publish */
	WIRE_RECORDING, /* they cannot */
};
/* session: of this run, so that a client sees that another run has taken its place. playback: NULL: no control. */
void wire_add_server_info(
	struct text *out, const char *session, enum wire_role role, const struct wire_playback *playback);
enum wire_level { WIRE_INFO, WIRE_WARNING, WIRE_ERROR };
/* id: a later status with the same one takes its place; NULL: none. */
void wire_add_status(struct text *out, enum wire_level level, const char *id, const char *message);
/* The status with this id does not hold any more. */
void wire_add_no_status(struct text *out, const char *id);
void wire_add_call_failure(struct text *out, uint32_t service, uint32_t call, const char *message);

/* The head of data, WIRE_DATA_HEAD bytes, and the change of its subscription. */
void wire_add_data_head(struct text *out, uint64_t time_ns);
void wire_set_subscription(char *data, uint32_t subscription);
void wire_add_time(struct text *out, uint64_t time_ns);
/* The head of a service's response, behind which the caller adds the reply. */
void wire_add_response_head(struct text *out, uint32_t service, uint32_t call, const char *encoding);
void wire_add_no_asset(struct text *out, uint32_t request, const char *error);

enum wire_playback_status { WIRE_PLAYING, WIRE_PAUSED, WIRE_BUFFERING, WIRE_ENDED };
struct wire_playback_state {
	enum wire_playback_status status;
	uint64_t time_ns;
	double speed;
	bool did_seek;  /* the time has jumped: the client drops all earlier messages */
	const char *id; /* of the request that this answers, id_count bytes; 0: none */
	size_t id_count;
};
void wire_add_playback_state(struct text *out, const struct wire_playback_state *state);

/* --- from the client ---------------------------------------------------------------------------------------------- */

/* TROUPE_ECOMMAND: the text is no operation. protobuf_c's free function for *ret_request is message_free(). */
troupe_status wire_read_request(
	const void *bytes, size_t count, Troupe__Msgs__FoxgloveRequest **ret_request, struct troupe_error *error);

enum wire_kind { WIRE_BAD, WIRE_MESSAGE, WIRE_CALL, WIRE_PLAYBACK };
struct wire_binary {
	enum wire_kind kind;
	uint32_t id;          /* of the client's channel, or of the service */
	uint32_t call;        /* of a call */
	const char *encoding; /* of a call */
	size_t encoding_count;
	const char *body;
	size_t count;
	/* of a request of the playback control, whose name is the body; the speed is any number, or none */
	bool plays, seeks;
	double speed;
	uint64_t time_ns; /* of `seeks` */
};
/* The result points into bytes. */
struct wire_binary wire_read_binary(const void *bytes, size_t count);

#endif
