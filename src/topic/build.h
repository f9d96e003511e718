/* A message while it is made from one of its forms: memory, limits, and the fields on the way to the place that is
 * read. Only for the files of this folder that read a form. */
#ifndef TOPIC_BUILD_H
#define TOPIC_BUILD_H

#include "base/arena.h"
#include "topic/message.h"

struct build {
	const struct message_limits *limits;
	message_type type; /* of the whole message */
	uint32_t items;    /* elements of all lists so far */
	uint32_t depth;
	const ProtobufCFieldDescriptor *path[MESSAGE_DEPTH_MAX];
	struct arena more;
	size_t used; /* in `first` */
	/* Most messages are small: their parts find room here, and only the complete message is allocated. */
	_Alignas(16) unsigned char first[2048];
};

/* `first` is not zeroed; each part is zeroed when it is given out. */
void build_init(struct build *build, message_type type, const struct message_limits *limits);
void build_fini(struct build *build);
/* After build_init(): all parts come from `more`, which the caller may then keep instead of build_fini(). */
void build_use_arena(struct build *build);
void *build_alloc(struct build *build, size_t bytes); /* zeroed */
/* A message with defaults. */
ProtobufCMessage *build_message(struct build *build, message_type type);

/* The place for one more value of the field: a new element at the end of a list, or the only value of a field, which
 * replaces the value of another member of its oneof. The place is zeroed, but a part that exists already stays, to be
 * merged. NULL: a limit is reached, see build_full(). */
void *build_place(struct build *build, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field);
/* The part in a place that build_place() gave for a field of kind message; it is made if it does not exist. NULL as
 * above. */
ProtobufCMessage *build_part(struct build *build, void *place, const ProtobufCFieldDescriptor *field);
/* The text of the limit that is reached. */
const char *build_full(const struct build *build, char ret_text[64]);

/* Puts one more field on the path. False: nested too deeply. */
bool build_enter(struct build *build, const ProtobufCFieldDescriptor *field);
void build_leave(struct build *build);
/* "linear.x" for the path and a field, which may be NULL. */
void build_print_path(const struct build *build, const ProtobufCFieldDescriptor *field, struct text *out);

/* Stores a number in the place of a float or a double. False: it is not within the limits. */
bool build_store_number(const struct build *build, const ProtobufCFieldDescriptor *field, void *place, double number);
/* Stores an integer, given as sign and magnitude, in the place of an integer field. False: out of the field's range. */
bool build_store_integer(const ProtobufCFieldDescriptor *field, void *place, bool negative, uint64_t magnitude);
/* Stores a string or bytes. False: a string with a zero byte, or not UTF-8. */
bool build_store_string(
	struct build *build, const ProtobufCFieldDescriptor *field, void *place, const void *bytes, size_t count);

/* The expected value of the field: "a number between -1e9 and 1e9". */
void build_add_expected(const struct build *build, const ProtobufCFieldDescriptor *field, struct text *out);

#endif
