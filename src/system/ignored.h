/* Everything that a file holds and that does nothing here: elements, sensors and plug-ins. There is one list, from
 * which `check` prints and `run` warns, so that the two cannot differ.
 *
 * Thread: any. Allocates. */
#ifndef SYSTEM_IGNORED_H
#define SYSTEM_IGNORED_H

#include "sdf/sdf.h"

enum ignored_kind {
	IGNORED_ELEMENTS, /* of one name in elements of one name */
	IGNORED_SENSORS,  /* of one type */
	IGNORED_PLUGINS,  /* of one name */
};

struct ignored { /* all things of one kind */
	enum ignored_kind kind;
	const char *what;                /* "<wind> in <world> x2", "sensors of type camera x3", "plugin \"p\" x1" */
	const char *note;                /* to be added behind the place: ", which SDF does not know"; "": none */
	const struct sdf_element *first; /* in the order of the loader: models before the world */
	uint32_t count;
	bool aside; /* the motion of the models does not depend on it: no reason for a warning */
};

struct ignored_list {            /* zeroed is empty */
	VEC(struct ignored) all; /* elements, then sensors, then plug-ins */
	struct arena arena;
};

/* Appends what is ignored of the file. The sdf must live as long as the list. Of a file that could not be read as SDF:
 * the elements that SDF does not know. */
void ignored_find(const struct sdf *sdf, struct ignored_list *list);
/* The line of a warning, "w.sdf:12: ignored: <wind> in <world> x2"; as long as the list. */
const char *ignored_warning(struct ignored_list *list, const struct ignored *ignored);
void ignored_fini(struct ignored_list *list);

#endif
