/* Messages in protobuf's text form, as gz topic's -p takes them: `linear: {x: 4.0} angular {z: -0.5}`. Only the fields
 * that a schema names are accepted; everything else is refused with its place.
 *
 * A message becomes numbers: each leaf of the schema has a slot. Slots not named in the text hold the default 0 and are
 * marked as not given. */
#ifndef SYSTEM_MESSAGE_H
#define SYSTEM_MESSAGE_H

#include "base/base.h"

enum { MESSAGE_SLOTS_MAX = 16, MESSAGE_BYTES_MAX = 4096 };

enum message_kind {
	MESSAGE_DOUBLE, /* finite, |value| <= 1e9 */
	MESSAGE_BOOL,
	MESSAGE_UINT, /* up to 2^32 - 1 */
};

struct message_field {
	const char *path; /* "linear.x"; one slot each, in this order */
	enum message_kind kind;
};

struct message_schema {
	const char *type; /* "gz.msgs.Twist" */
	const struct message_field *fields;
	uint32_t field_count; /* <= MESSAGE_SLOTS_MAX */
};

struct message {
	double value[MESSAGE_SLOTS_MAX]; /* bools as 0 and 1 */
	uint32_t given;                  /* bit i: slot i stood in the text */
};

extern const struct message_schema message_twist;  /* linear.x .y .z, angular.x .y .z */
extern const struct message_schema message_double; /* data */
extern const struct message_schema message_bool;   /* data */
extern const struct message_schema
	message_world_control; /* pause, step, multi_step, reset.all .time_only .model_only, seed */

/* Fields may be separated by blanks, commas or semicolons, a colon before `{` may be left out, <...> may stand for
 * {...}, # starts a comment. Numbers are decimal. A field given twice: the last counts, as in protobuf for numbers.
 * TROUPE_ECOMMAND with "column N: what is wrong, what was expected" otherwise. */
troupe_status message_parse(
	const struct message_schema *schema, const char *text, struct message *ret_message, struct troupe_error *error);

#endif
