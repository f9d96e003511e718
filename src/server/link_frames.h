/* The frames that stand in the links of a model besides the links themselves, for the message of the scene: its
 * <frame>s (among them the links of a URDF that fixed joints have made part of another one), and the frame to which its
 * odometry is the transform. */
#ifndef SERVER_LINK_FRAMES_H
#define SERVER_LINK_FRAMES_H

#include "scene/scene.h"
#include "system/system.h"

#include <troupe/world.h>

struct link_frame {
	const char *name; /* of a <frame>: within its model, "nested::name"; of odometry: as its messages have it */
	struct troupe_pose in_link;
	bool is_odometry;
};

struct link_frames { /* of one link */
	const struct link_frame *at;
	uint32_t count;
};

/* The <frame>s of one description by the link that they are attached to. Zeroed: of none. */
struct link_frames_index {
	const struct sdf_world *of;
	uint32_t *first, *next; /* by link, by frame; SDF_NONE: no more */
};

/* Makes the index, unless it is of this description already. */
void link_frames_look(struct link_frames_index *index, const struct sdf_world *of);
void link_frames_fini(struct link_frames_index *index);

/* Those of a link of the description, in a model with these systems. The result and its names are in the arena. */
struct link_frames link_frames_of(const struct link_frames_index *index, const struct scene_model *model, uint32_t link,
	const struct system_set *set, struct arena *arena);

#endif
