/* The pose graph of one world: the name of each frame, the frame that it is relative to, the link that it is attached
 * to.
 *
 * A scope is the inside of the world or of a model. A name is looked up in the scope where it is used and, after each
 * "::", in the model whose name precedes it; a lookup never goes from a scope to the scope around it. So the pose of
 * a frame in its own scope does not depend on the pose of the scope's model, and every pose is computed once. */
#ifndef SDF_FRAMES_H
#define SDF_FRAMES_H

#include "base/map.h"
#include "base/near.h"
#include "sdf/sdf.h"

enum frames_kind {
	FRAMES_ROOT, /* the world, or __model__ inside a model */
	FRAMES_MODEL,
	FRAMES_LINK,
	FRAMES_JOINT,
	FRAMES_FRAME,
	FRAMES_MISSING, /* an include that was left out; it stands for every part of it */
};

struct frames_frame {
	enum frames_kind kind;
	const char *name;
	const struct sdf_element *element; /* for messages */
	uint32_t scope;                    /* scope of the name */
	uint32_t inner;                    /* model: its scope */
	uint32_t link;                     /* link: its number */
	const char *relative_to;           /* NULL: the default of its kind */
	const char *attached_to;           /* frame: as written, NULL for the root; joint: its child */
	const char *placement;             /* model: placement_frame or NULL */
	struct pose raw;                   /* as written */
	struct pose in_scope;              /* by frames_resolve() */
	uint32_t target, placement_target; /* frame that raw is relative to; frame whose pose raw is; SDF_NONE: none */
	uint32_t attached;                 /* a frame; SDF_NONE: not attached to any */
	uint32_t end;                      /* the link (see frames_link), once known */
	uint8_t state, end_state;
};

struct frames_scope {
	uint32_t parent, model_frame, root; /* scope around, frame in that scope, frame in this scope; SDF_NONE for
					     * the world */
	uint32_t canonical;                 /* link that __model__ is attached to; SDF_NONE: none */
	bool missing;                       /* an include in it, or in a model in it, was left out */
	struct map names;
};

struct frames {
	VEC(struct frames_frame) frames;
	VEC(struct frames_scope) scopes;
	uint32_t searches; /* by frames_such_as() */
};

enum {
	FRAMES_WORLD = 0, /* the first scope */
	FRAMES_SEARCHES_MAX = 100,
};

/* Is called for each problem, with the element that causes it. */
typedef void (*frames_report_fn)(void *ctx, const struct sdf_element *element, const char *text);

/* Creates the scope of a model, or of the world (model_frame SDF_NONE). Returns the scope. */
uint32_t frames_open(struct frames *frames, uint32_t parent, uint32_t model_frame, const struct sdf_element *element);
/* False: the name is taken; the frame is kept, but no name finds it. */
bool frames_add(struct frames *frames, struct frames_frame frame, uint32_t *ret_frame);
/* SDF_NONE: no frame has that name. */
uint32_t frames_find(const struct frames *frames, uint32_t scope, const char *name);
/* How a message goes on that says that a scope has no such name (near_such_as()); "" after FRAMES_SEARCHES_MAX calls,
 * because each one compares many names. The text lies in *near. */
const char *frames_such_as(struct frames *frames, uint32_t scope, const char *name, struct near *near);
/* Resolves all names, poses and attachments. Called once, after all frames were added and the scopes have their
 * canonical links, and before the functions below. */
void frames_resolve(struct frames *frames, frames_report_fn report, void *ctx);
/* The pose of a frame relative to `scope`, which is the frame's own scope or a scope around it. */
struct pose frames_pose(const struct frames *frames, uint32_t frame, uint32_t scope);
/* The link that a frame is attached to, directly or through other frames. False: none (the world, a model without
 * links); *ret_missing: the reason is an include that was left out. A cycle counts as no link; frames_resolve() has
 * reported it. */
bool frames_link(const struct frames *frames, uint32_t frame, uint32_t *ret_link, bool *ret_missing);
void frames_fini(struct frames *frames);

#endif
