/* Declarations that the files of the generator share. */
#ifndef RANDOM_MAKE_INTERNAL_H
#define RANDOM_MAKE_INTERNAL_H

#include "dice.h"
#include "geom/geom.h"
#include "make.h"

enum topic_kind { TOPIC_TWIST, TOPIC_ENABLE, TOPIC_VELOCITY, TOPIC_POSITION, TOPIC_FORCE, TOPIC_MESSAGE };

struct topic {
	const char *name;
	enum topic_kind kind;
	/* TOPIC_MESSAGE: the message; each $ in it stands for a random number from low to high */
	const char *message;
	double low, high;
	bool lasts; /* a reset does not undo it */
};

struct made { /* a model of the file, or one that a command creates */
	const char *name;
	uint32_t world;
	bool is_static, is_actor, is_created, tours, in_wind;
	uint64_t from_step;     /* the step at which a command creates it */
	struct vec3 at;         /* its place at the start */
	const char *first_link; /* scoped by the model: "l0" */
	struct part *part;      /* NULL: no plug-in is added to it later */
	VEC(struct topic) topics;
};

enum { PLACES = 6 };

struct maker {
	struct scenario *scenario;
	struct arena *arena;
	struct dice dice;
	struct dice sensor_dice;    /* of its own, so that the world is the same with and without sensors */
	struct dice system_dice;    /* says which worlds have systems, so that the others stay as they are */
	struct dice link_dice;      /* the same for ties across levels and conveyors */
	struct dice sight_dice;     /* the same for what sensors see, and how */
	uint32_t world;             /* the world that is being made */
	double region_m;            /* most models are within this distance of the origin */
	double speed_max;           /* m/s: such a model crosses the region a few times in the run */
	struct vec3 places[PLACES]; /* places at which several models are put */
	VEC(struct made) models;
	VEC(struct vec3) level_places; /* of the last world that was made */
	uint32_t named;                /* counts names */
	uint32_t in_a_herd;            /* percent of the models that listen to a common topic */
};

enum model_kind {
	MODEL_SOLID,     /* one link, or two welded ones */
	MODEL_MECHANISM, /* links with joints of all kinds */
	MODEL_GEARS,     /* two shafts, a gearbox, and a joint that mimics another */
	MODEL_CART,      /* DiffDrive */
	MODEL_STATIC,
	MODEL_PLANE,
	MODEL_DRIVEN, /* by any of the other systems */
};

/* Adds a model and its entry in maker->models; returns its index there. at: NULL when the SDF shall have no place. */
uint32_t make_model(
	struct maker *maker, struct part *parent, enum model_kind kind, const char *name, const struct vec3 *at);
uint32_t make_actor(struct maker *maker, struct part *parent, const char *name, struct vec3 at);
/* A performer without weight, which is sent from level to level. */
void make_tourist(struct maker *maker, struct part *world, const char *name, struct vec3 at);
/* A joint of the world between a link of each of two models, or, when parent is NULL, between the world and a model. */
void make_world_joint(struct maker *maker, struct part *parent_part, const char *name, const struct made *parent,
	const struct made *child, const char *type);
/* make_systems.c: what is made only where scenario.has_systems is true.
 * A model that a system drives, or a kinematic link: */
void make_driven(struct maker *maker, struct part *model, struct made *made);
/* Adds none, or some, of the systems that any model may have. */
void make_systems(struct maker *maker, struct part *model, struct made *made);
/* A belt on a static model. */
void make_conveyor(struct maker *maker, struct made *made);
/* A detachable joint from a link of the one model to a link of the other. */
void make_tie(struct maker *maker, struct made *parent, const struct made *child);
/* Systems of the world; its models have been made. */
void make_world_systems(struct maker *maker, struct part *world);
/* An actor that follows a model; returns its index. */
uint32_t make_walker(struct maker *maker, struct part *parent, const char *name, struct vec3 at);
/* An element that is closed by its own name. */
struct part *make_element(struct maker *maker, struct part *parent, enum part_kind kind, const char *name);
/* <name>text</name>, an optional part. */
void make_value(struct maker *maker, struct part *parent, const char *name, const char *format, ...)
	TROUPE_PRINTF(4, 5);
void make_pose(struct maker *maker, struct part *parent, enum part_kind kind, struct vec3 at, bool turned);
/* A command for maker->world, or, when topic does not begin with "/world/", for this topic. */
struct part *make_command(struct maker *maker, uint64_t step, enum command_kind kind, double value, const char *format,
	...) TROUPE_PRINTF(5, 6);
struct vec3 make_place(struct maker *maker);
/* All commands of a scenario; their number and kinds depend on the scenario's kind. */
void make_commands(struct maker *maker);
const char *make_name(struct maker *maker, const char *stem);
/* Worlds for rules that need a layout of their own. */
void make_floor(struct maker *maker, struct part *world, struct part *levels);
void make_tied(struct maker *maker, struct part *world, struct part *levels);
/* make_hit.c: models that are hit while they sleep. */
void make_hits(struct maker *maker, struct part *world);
/* A level and its box; the caller adds the refs. */
struct part *make_level(
	struct maker *maker, struct part *levels, const char *name, struct vec3 at, struct vec3 size, double buffer_m);
void make_performer(struct maker *maker, struct part *levels, const char *model, struct vec3 size);
/* make_sight.c: where scenario.senses is true, else nothing. */
void make_sight_visuals(struct maker *maker, struct part *link, double size);
void make_sight_lights(struct maker *maker, struct part *world);
void make_sight_lidar(struct maker *maker, struct part *lidar);
void make_sight_camera(struct maker *maker, struct part *camera, struct part *image);
/* Adds a file that the scenario needs, once: a copy of a file of the source folder, or (copy_of NULL) one whose text
 * the caller adds to the part. NULL: the scenario has it already. */
struct part *make_file(struct maker *maker, const char *name, const char *copy_of);
/* The same with a name as result. */
const char *make_mesh(struct maker *maker);
const char *make_image(struct maker *maker);
/* One of the images in worlds/models/shapes. */
const char *make_image_named(struct maker *maker, const char *name);

#endif
