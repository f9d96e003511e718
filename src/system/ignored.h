/* Lists everything in a file that has no effect here: elements, sensors and plug-ins. `check` prints this list and
 * `run` warns from the same list, so the two cannot differ.
 *
 * Thread: any. Allocates. */
#ifndef SYSTEM_IGNORED_H
#define SYSTEM_IGNORED_H

#include "system/plugins.h"

enum ignored_kind {
	IGNORED_ELEMENTS, /* elements of one name in parents of one name */
	IGNORED_SENSORS,  /* sensors of one type */
	IGNORED_PLUGINS,  /* plug-ins of one name */
};

struct ignored { /* all things of one kind */
	enum ignored_kind kind;
	const char *what; /* "<wind> in <world> x2", "sensors of type camera x3", "plugin \"p\" x1" */
	/* Added to the text of a warning: ", which SDF does not know", or, for sensors, the first three of them by
	 * name, ": robot::base::left, robot::base::right"; "": none. */
	const char *note;
	const struct sdf_element *first; /* in the order of the loader: models before the world */
	uint32_t count;
	bool aside;  /* does not change the motion of the models: no warning */
	bool is_log; /* LogRecord or LogPlayback */
};

struct ignored_list {            /* zeroed is empty */
	VEC(struct ignored) all; /* elements, then sensors, then plug-ins */
	struct arena arena;
};

/* Says whether a sensor has an effect. NULL: none has. */
typedef bool ignored_sensor_fn(const struct sdf_sensor *sensor);

/* Appends the ignored things of the file. The sdf must live as long as the list. If the file could not be read as
 * SDF, then the list has the elements that SDF does not know. */
/* plugins: the libraries of the run; NULL: none. */
void ignored_find(
	const struct sdf *sdf, ignored_sensor_fn *simulates, struct plugins *plugins, struct ignored_list *list);
/* The text of a warning, "w.sdf:12: ignored: <wind> in <world> x2", or "w.sdf:3: ignored: sensors of type imu x1:
 * robot::base::s"; valid as long as the list. */
const char *ignored_warning(struct ignored_list *list, const struct ignored *ignored);
void ignored_fini(struct ignored_list *list);

#endif
