/* One table of the elements of SDF, and of those that have an effect here. The list of ignored elements is made from
 * it (sdf_list_ignored()). */
#ifndef SDF_VOCABULARY_H
#define SDF_VOCABULARY_H

#include "sdf/sdf.h"

enum vocabulary_word {
	VOCABULARY_UNKNOWN,
	VOCABULARY_IDLE,  /* in the specification, but has no effect here */
	VOCABULARY_ASIDE, /* the same, and the motion of the models does not depend on it: pictures, sound, wall time */
	VOCABULARY_USED,
	VOCABULARY_FOREIGN, /* an extension, by its prefix */
};

struct vocabulary_entry;

#endif
