/* What the files of rays share: the visuals as rays see them. rays.c keeps them, rays_tree.c puts them into trees,
 * rays_cast.c casts rays at them, and rays_shape.c computes their normals and outlines. Thread: as rays.h says for each
 * function. */
#ifndef SENSOR_RAYS_INTERNAL_H
#define SENSOR_RAYS_INTERNAL_H

#include "sensor/rays.h"

#include "sensor/surface.h"

#include "base/ranges.h"

/* A visual at its place. */
struct seen {
	double turn[3][3]; /* rows: the axes of the visual's frame, in the world */
	struct vec3 at, size;
	enum sdf_shape_kind kind; /* SDF_EMPTY: this place is free, or the visual cannot be seen */
	uint32_t flags;
	uint64_t id; /* of the model */
	uint32_t model, visual;
	struct surface *surface;
	bool both_sides, shadow;
	bool *both_of; /* of a mesh with both kinds of materials, by number; owned; otherwise NULL */
	uint32_t both_count;
	bool moves; /* during a sweep: with these velocities of its body, about the centre of this */
	struct vec3 v, w, centre;
	struct rays_label label;
	double heat_K;

	/* for rays_follow() */
	uint32_t body; /* SCENE_NONE: static */
	uint32_t link;
	struct pose in_link;
	struct vec3 reach; /* half edges of its box, in its own frame, about `middle` */
	struct vec3 middle;
	uint32_t rested; /* for how many builds of the trees it has been where it is */
};

struct rays_twist { /* of a body, m/s and rad/s */
	struct vec3 v, w;
};

struct known {           /* the model at a place of the scene */
	uint64_t serial; /* 0: none */
	uint32_t first, count;
	struct pose at; /* of a static model */
	bool hidden;    /* it stays as it was until it is seen again */
};

struct kept_surface {
	const void *of; /* mesh or image */
	struct vec3 size, shift;
	struct surface *surface; /* NULL: free */
	uint32_t users;
};

/* A tree, of boxes relative to the middle. */
struct rays_tree {
	struct tree *tree;
	VEC(uint32_t) items; /* of the tree -> place in seen */
	struct aabb all;     /* of the boxes, without their margin */
};

struct packet;

struct rays {
	const struct scene *scene;
	/* by the CPU */
	void (*meet_box)(struct packet *p, uint32_t place, const int32_t *valid, float *far);
	void (*cut)(struct packet *p, const int32_t *valid, struct tree_rays *to);
	const bool *hidden; /* by model; NULL: none is */
	bool boxes_only;    /* no ray is cast: the trees are not built */
	struct tree_maker *maker;
	struct seen *seen;
	struct ranges places;
	uint32_t room, count;
	VEC(struct known) known;
	uint64_t census;               /* of the models that exist, when they were numbered last */
	bool labels;                   /* some of these models has one */
	VEC(struct pose) poses;        /* by body */
	VEC(struct rays_twist) twists; /* the same; 0 while sweep_s is 0 */
	double sweep_s, built_sweep_s; /* built_sweep_s: for which the tree was built */
	uint32_t moving;               /* visuals that move during a sweep */
	VEC(struct kept_surface) surfaces;
	/* rays_tree.c: what moves, and what stands */
	struct rays_tree moving_tree, standing_tree;
	bool *stands;           /* by place: it is in the tree of what stands */
	uint32_t gone;          /* items of that tree that are no more in it */
	uint32_t rested;        /* of the other tree: visuals that could stand there */
	uint32_t paid;          /* of the last builds: how often two trees were the cheaper way */
	double reach;           /* for which the boxes of that tree have their margin */
	bool counts;            /* rays are counted: the world is large enough for two trees */
	_Atomic uint64_t *cast; /* rays since the last build */
	VEC(uint32_t) loose;    /* places */
	VEC(struct tree_box) boxes;
	struct vec3 middle;
	bool has_middle;
	struct vec3 half; /* of the box of all items of both trees, about `hub` */
	struct vec3 hub;
};

/* A vector of the world in the axes of the visual's frame, and back. */
static inline struct vec3 seen_turned(const struct seen *seen, struct vec3 v)
{
	return (struct vec3){seen->turn[0][0] * v.x + seen->turn[0][1] * v.y + seen->turn[0][2] * v.z,
		seen->turn[1][0] * v.x + seen->turn[1][1] * v.y + seen->turn[1][2] * v.z,
		seen->turn[2][0] * v.x + seen->turn[2][1] * v.y + seen->turn[2][2] * v.z};
}

static inline struct vec3 seen_turned_back(const struct seen *seen, struct vec3 v)
{
	return (struct vec3){seen->turn[0][0] * v.x + seen->turn[1][0] * v.y + seen->turn[2][0] * v.z,
		seen->turn[0][1] * v.x + seen->turn[1][1] * v.y + seen->turn[2][1] * v.z,
		seen->turn[0][2] * v.x + seen->turn[1][2] * v.y + seen->turn[2][2] * v.z};
}

/* The box in the world of all that is seen from the beginning of a sweep to its end. */
struct aabb rays_swept_box(const struct rays *rays, const struct seen *seen);

/* --- rays_tree.c ----------------------------------------------------------------------------------------------------
 */

void rays_tree_init(struct rays *rays);
void rays_tree_fini(struct rays *rays);
/* The visual at this place is set to another place, or goes: it is not among those that stand. */
void rays_tree_take_out(struct rays *rays, uint32_t place);
/* Builds the trees of the visuals where they are now. */
void rays_tree_build(struct rays *rays);

/* Chooses the functions for this CPU. avx: it has AVX2, and the tree uses it. */
void rays_choose(struct rays *rays, bool avx);

#endif
