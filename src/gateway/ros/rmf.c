/* Open-RMF's messages (rmf_door_msgs and others) as CDR, and requests back. */
#include "gateway/ros/parts.h"
#include "gateway/ros/write.h"
#include "topic/message.h"
#include "topic/rmf.pb-c.h"

#define RMF_MESSAGE(Type) const Troupe__Msgs__##Type *m = (const Troupe__Msgs__##Type *)(const void *)base

static void rmf_put_stamp(struct cdr_out *out, const Gz__Msgs__Header *header)
{
	part_time(out, header ? header->stamp : NULL);
}

/* The sender's clock says nothing: a request counts when it is taken. */
static void rmf_skip_stamp(struct cdr_in *in)
{
	(void)cdr_get(in, 4);
	(void)cdr_get(in, 4);
}

/* --- doors -------------------------------------------------------------------------------------------------------- */

WRITE(door_state)
{
	RMF_MESSAGE(DoorState);
	(void)error;
	rmf_put_stamp(out, m->header);
	cdr_string(out, m->door_name);
	cdr_u32(out, m->current_mode);
	return TROUPE_OK;
}

WRITE(door_request)
{
	RMF_MESSAGE(DoorRequest);
	(void)error;
	rmf_put_stamp(out, m->header);
	cdr_string(out, m->requester_id);
	cdr_string(out, m->door_name);
	cdr_u32(out, m->requested_mode);
	return TROUPE_OK;
}

READ(door_request)
{
	Troupe__Msgs__DoorRequest message = TROUPE__MSGS__DOOR_REQUEST__INIT;
	rmf_skip_stamp(in);
	message.requester_id = message_string(cdr_get_string(in));
	message.door_name = message_string(cdr_get_string(in));
	message.requested_mode = (uint32_t)cdr_get(in, 4);
	message_add_bytes(bytes, &message.base);
}
