/* Messages whose fields ROS 2 has, too: as CDR and back, by the definition of ROS 2's type and the descriptor of the
 * message, so that such a type is one row in ros.c. The functions of write.h are for the other types, and for those of
 * which a run publishes very many.
 *
 * A field of ROS 2 is paired with the message's field of the same name ("nsec" for "nanosec"); lists, numbers of other
 * sizes and parts likewise. A part that is paired with a number or a text has it as its only field
 * (rmf_door_msgs/DoorMode). Without a field of this name, a time is the stamp of the message's header, and another part
 * is the message itself (TwistStamped.twist).
 *
 * Stamps and frames of headers are not read: the sender's clock says nothing, a message counts when it is taken. All
 * other parts are given in a message that is read. A part that is not given is written as zeros and empty texts. */
#ifndef GATEWAY_ROS_PAIRED_H
#define GATEWAY_ROS_PAIRED_H

#include "gateway/ros/cdr.h"
#include "topic/type.h"

/* ros: the name of ROS 2's type, which has a definition. */
void paired_write(struct cdr_out *out, const char *ros, const ProtobufCMessage *message);
/* Appends the message in protobuf's form; nothing, and in->bad: the bytes are no such message, or a number has no name
 * in its enumeration. */
void paired_read(struct cdr_in *in, const char *ros, message_type type, struct text *bytes);

#endif
