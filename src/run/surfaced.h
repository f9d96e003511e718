/* The surfaces of static models that systems control in one step, as bytes: in steps for copies of the world, and in
 * the saved state of a step that was decided but not taken.
 *
 * Thread: the one that owns the control of static models, between steps. */
#ifndef RUN_SURFACED_H
#define RUN_SURFACED_H

#include "base/indices.h"
#include "geom/pack.h"
#include "scene/control.h"

struct surfaced_geom {
	uint32_t geom;
	struct surface_control control;
};

/* Packs all that is asked of the surfaces of these models, and an end. */
void surfaced_pack(const struct scene *scene, const struct control *control, const indices *models, struct text *out);
/* Unpacks one geom, without a look at the world. False: the end, or in->bad. */
bool surfaced_unpack(struct unpack *in, struct surfaced_geom *ret_geom);
/* Sets the control, and adds the model to the list when it has none yet. False: the geom is none of a static model, or
 * a number is beyond its limits. */
bool surfaced_set(
	const struct scene *scene, const struct control *control, const struct surfaced_geom *geom, indices *models);
/* The control holds for one step: clears it, and the list. */
void surfaced_clear(const struct scene *scene, const struct control *control, indices *models);

#endif
