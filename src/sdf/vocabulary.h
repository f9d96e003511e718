/* Which elements there are, and which of them do anything here: one table, from which the list of ignored elements is
 * made (sdf_list_ignored()). */
#ifndef SDF_VOCABULARY_H
#define SDF_VOCABULARY_H

#include "sdf/sdf.h"

enum vocabulary_word {
	VOCABULARY_UNKNOWN,
	VOCABULARY_IDLE,  /* in the specification, but nothing reads it here */
	VOCABULARY_ASIDE, /* the same, and the motion of the models does not depend on it: pictures, sound, wall time */
	VOCABULARY_USED,
	VOCABULARY_FOREIGN, /* somebody's own, by its prefix */
};

struct vocabulary_entry;

/* What may stand in an element of that name inside of an element of another ("" where that does not matter); NULL when
 * the table does not say. */
const struct vocabulary_entry *vocabulary_find(const char *around, const char *name);
enum vocabulary_word vocabulary_look(const struct vocabulary_entry *entry, const char *name);

#endif
