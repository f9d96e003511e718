/* Numbers of messages as text; for the files of this folder that print. */
#ifndef TOPIC_NUMBER_H
#define TOPIC_NUMBER_H

#include "topic/type.h"

/* Appends the number of a field in decimal: with the fewest digits that give the same float or double again; "inf",
 * "-inf" and "nan" as such. Not for bools and enums. */
void number_add(struct text *out, const ProtobufCFieldDescriptor *field, const void *value);

#endif
