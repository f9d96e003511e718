/* The pose graph of one world: who has which name, relative to what, attached to which link.
 *
 * A scope is the inside of the world or of a model. A name is looked up in the scope where it is used and, after each
 * "::", in the model that stands before it; a scope never sees outwards. So the pose of a frame in its own scope does
 * not depend on where the scope's model is, and every pose is computed once. */
#ifndef SDF_FRAMES_H
#define SDF_FRAMES_H

#include "base/map.h"
#include "sdf/sdf.h"

enum frames_kind {
	FRAMES_ROOT, /* the world, or __model__ inside a model */
	FRAMES_MODEL,
	FRAMES_LINK,
	FRAMES_JOINT,
	FRAMES_FRAME,
	FRAMES_MISSING, /* an include that was left out; stands for everything in it */
};

struct frames_frame {
	enum frames_kind kind;
	const char *name;
	const struct sdf_element *element; /* for messages */
	uint32_t scope;                    /* where the name lives */
	uint32_t inner;                    /* model: its scope */
	uint32_t link;                     /* link: its number */
	const char *relative_to;           /* NULL: the default of its kind */
	const char *attached_to;           /* frame: as written, NULL for the root; joint: its child */
	const char *placement;             /* model: placement_frame or NULL */
	struct pose raw;                   /* as written */
	struct pose in_scope;              /* by frames_resolve() */
	uint32_t target, placement_target; /* what raw is relative to; whose pose raw is; SDF_NONE: none */
	uint32_t attached;                 /* a frame; SDF_NONE: not attached to any */
	uint32_t end;                      /* the link (see frames_link), once known */
	uint8_t state, end_state;
};

struct frames_scope {
	uint32_t parent, model_frame, root; /* scope, frame in parent, frame in this scope; SDF_NONE for the world's */
	uint32_t canonical;                 /* link that __model__ is attached to; SDF_NONE: none */
	bool missing;                       /* an include of it, or of a model in it, was left out */
	struct map names;
};

struct frames {
	VEC(struct frames_frame) frames;
	VEC(struct frames_scope) scopes;
};

enum { FRAMES_WORLD = 0 }; /* the first scope */

/* Told of each problem, with the element to blame. */
typedef void (*frames_report_fn)(void *ctx, const struct sdf_element *element, const char *text);

/* Opens the inside of a model, or of the world (model_frame SDF_NONE). Returns the scope. */
uint32_t frames_open(struct frames *frames, uint32_t parent, uint32_t model_frame, const struct sdf_element *element);
/* False when the name is taken; the frame is then kept, but nobody can refer to it. */
bool frames_add(struct frames *frames, struct frames_frame frame, uint32_t *ret_frame);
/* SDF_NONE when nothing has that name. */
uint32_t frames_find(const struct frames *frames, uint32_t scope, const char *name);
/* Resolves all names, poses and attachments. To be called once, when all frames are there and the scopes have their
 * canonical links, and before what follows. */
void frames_resolve(struct frames *frames, frames_report_fn report, void *ctx);
/* Pose of a frame in a scope that its own scope is or lies in. */
struct pose frames_pose(const struct frames *frames, uint32_t frame, uint32_t scope);
/* The link a frame is finally attached to. False: none (the world, a model without links), *ret_missing tells whether
 * that is because of an include that was left out. A cycle counts as none; frames_resolve() has reported it. */
bool frames_link(const struct frames *frames, uint32_t frame, uint32_t *ret_link, bool *ret_missing);
void frames_fini(struct frames *frames);

#endif
