/* The parts of which print.c makes SDF: tags with their indentation, whole elements, and values. One thread. */
#ifndef SDF_PRINT_PARTS_H
#define SDF_PRINT_PARTS_H

#include "sdf/sdf.h"

struct print {
	struct text *out;
	const struct sdf *sdf;
	const struct sdf_world *world;
	uint32_t model, link, joint, collision, visual, sensor, light, actor, frame; /* cursors: the next entries */
	const char *uri;           /* replaces an <uri> in elements printed unchanged; NULL: no change */
	const struct sdf_now *now; /* NULL: the world as in its file */
	bool away;                 /* the text will stand elsewhere: names of files must be absolute */
	int depth;
};

void print_parts_indent(struct print *print);
/* A tag: begin() with the element's attributes, but for `skip` (NULL: all), then attribute() for others, then open(),
 * which ends it and begins its content; close() is the end of the element. */
void print_parts_begin(struct print *print, const struct sdf_element *element, const char *skip);
/* The same with the attribute type, which has this value where the element has none. */
void print_parts_begin_typed(struct print *print, const struct sdf_element *element, const char *type);
void print_parts_attribute(struct print *print, const char *name, const char *value);
void print_parts_open(struct print *print);
void print_parts_close(struct print *print, const char *name);

/* The element as it stood in the file, but for print->uri. */
void print_parts_element(struct print *print, const struct sdf_element *element);
/* The same of a <material>, whose <script> libsdformat must understand. */
void print_parts_material(struct print *print, const struct sdf_element *element);

void print_parts_number(struct print *print, const char *name, double value);
void print_parts_vec3(struct print *print, struct vec3 v);
/* Nothing for the identity in the default frame of the place. relative_to: NULL: that frame. */
void print_parts_pose(struct print *print, struct pose pose, const char *relative_to);
void print_parts_light(struct print *print, const char *name, struct pose pose, const struct sdf_shine *shine);

#endif
