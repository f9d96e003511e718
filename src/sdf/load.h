/* The loader's internal header, shared by the files that read worlds, models, links and joints.
 *
 * A world is read in three passes, because names may be used before they are declared:
 *   declare   elements in file order -> arrays of struct sdf_world, and every name into the pose graph
 *   resolve   the pose graph
 *   place     everything that refers to names: poses relative to other frames, joints' links and axes, world poses
 * A problem is reported and reading goes on with a default value, so that one run shows many problems. */
#ifndef SDF_LOAD_H
#define SDF_LOAD_H

#include "base/share.h"
#include "mesh/importer.h"
#include "sdf/frames.h"
#include "sdf/places.h"

enum {
	LOAD_FILES_MAX = 100000,
	LOAD_INCLUDES_MAX = 100000, /* includes followed, not those written: files that include each other twice
				     * double at each level */
	LOAD_COPIES_MAX = 4000000,  /* elements copied to expand includes */
};

struct load_file {
	const char *path;
	const struct sdf_element *root; /* NULL: could not be read, and the error was reported */
	uint32_t version;               /* 1.6: 106 */
	bool open;                      /* being read now: an include of it makes a cycle */
};

enum load_placed { LOAD_COLLISION, LOAD_VISUAL, LOAD_SENSOR, LOAD_LIGHT, LOAD_ACTOR, LOAD_CAMERA };

/* A pose relative to a frame that may not be declared yet. */
struct load_placing {
	enum load_placed kind;
	uint32_t index; /* in the world's array of that kind; camera: of its sensor */
	uint32_t scope;
	const char *relative_to;
	const struct sdf_element *element;
	struct pose *pose; /* camera: the pose */
};

struct load {
	struct sdf *sdf;
	const struct sdf_options *options;
	struct files *disk; /* that of the options; own_files if they have none */
	struct files own_files;
	struct files_places own_places;
	const char *refused;  /* a file that was looked for, and that may not be read; NULL: none */
	troupe_status status; /* of the first error */
	struct troupe_error first;
	struct map warned; /* kinds of warnings that are given only once */
	struct map file_names;
	struct places places;
	struct importer *importer; /* that of the options, or own_importer; NULL until a mesh or image is read */
	struct importer *own_importer;
	struct importer_losses losses;
	struct share shared;   /* what is stored once: load_share() */
	struct map far_models; /* static models that levels name, and no performer: candidates for struct sdf_far */
	bool far;              /* the model that is being read is one */
	VEC(struct sdf_far *) fars;
	struct map far_files;      /* path and scale -> index in fars, or SDF_NONE: it must be read */
	struct map meshes, images; /* files that were read, or failed: path, part and scale -> index in sdf, or
				    * SDF_NONE */
	/* textures that were read, or failed: path, or path and number of an image in a mesh file -> index in sdf, or
	 * SDF_NONE; mesh files whose materials are known -> index in finishes */
	struct map textures, finish_names;
	VEC(const struct load_finish *) finishes;
	size_t texture_bytes;
	bool poses_only;   /* shapes are not needed */
	const char *owner; /* the model whose links are being read */
	VEC(struct load_file) files;
	uint32_t version; /* of the file that is being read */
	uint32_t depth;   /* of models and includes */
	uint32_t includes, copies;

	/* the world that is being read */
	struct sdf_world *world;
	struct frames frames;
	VEC(struct load_placing) placings;
	VEC(uint32_t) model_frames, link_frames, joint_frames, frame_frames; /* model, link, ... -> frame */
	VEC(uint8_t) joint_dropped;
	VEC(struct sdf_axis) axes; /* two of each joint, until they are placed */
};

void load_fini(struct load *load); /* not the sdf */

/* The one copy of data, which lives as long as the sdf. */
const void *load_share(struct load *load, const void *bytes, size_t count);

/* --- messages and values: load_value.c ------------------------------------------------------------------------- */

/* Adds "file:line: ..." as an error, or a warning, to the messages. */
void load_error(struct load *load, const struct sdf_element *element, const char *format, ...) TROUPE_PRINTF(3, 4);
void load_limit(struct load *load, const struct sdf_element *element, const char *format, ...) TROUPE_PRINTF(3, 4);
void load_warn(struct load *load, const struct sdf_element *element, const char *format, ...) TROUPE_PRINTF(3, 4);
/* The same, unless a warning of that kind was given before. */
void load_warn_once(struct load *load, const char *kind, const struct sdf_element *element, const char *format, ...)
	TROUPE_PRINTF(4, 5);
/* Whether no warning of that kind was given before. The caller gives it now. */
bool load_is_new(struct load *load, const char *kind);

/* Adds an error, or a warning, whose text begins with "file:line: " already: of the functions that read values. */
void load_report_value(struct load *load, const struct troupe_error *error, enum sdf_severity severity);

/* Like sdf_child_...(), but an error is reported, and *value then does not change. */
void load_double(
	struct load *load, const struct sdf_element *parent, const char *name, double lo, double hi, double *value);
void load_bool(struct load *load, const struct sdf_element *parent, const char *name, bool *value);
void load_vec3(struct load *load, const struct sdf_element *parent, const char *name, double lo, double hi,
	struct vec3 *value);
/* A whole number, decimal or hexadecimal. */
void load_uint(struct load *load, const struct sdf_element *parent, const char *name, uint32_t *value);
/* Bits: the same, or a negative number, of which the two's complement counts (-1: all bits). */
void load_mask(struct load *load, const struct sdf_element *parent, const char *name, uint32_t *value);
/* The text of a child; NULL if it is missing, empty or "__default__". */
const char *load_text(const struct sdf_element *parent, const char *name);
/* A whole number in [lo, hi]. */
void load_count(struct load *load, const struct sdf_element *parent, const char *name, uint32_t lo, uint32_t hi,
	uint32_t *value);

struct load_word {
	const char *text;
	int value;
};

/* The value of one of the words; of another word a warning says that the first word of value `fallback` is used. `what`
 * names it in the warning. */
int load_word(struct load *load, const struct sdf_element *at, const char *what, const char *text,
	const struct load_word *words, size_t count, int fallback);
/* The same for the text of a child. */
int load_word_of(struct load *load, const struct sdf_element *parent, const char *name, const struct load_word *words,
	size_t count, int fallback);
void load_colour(struct load *load, const struct sdf_element *parent, const char *name, struct sdf_colour *value);

/* The <pose> of parent; *ret_relative_to is NULL if the pose names no frame; ret_relative_to may be NULL. */
struct pose load_pose(struct load *load, const struct sdf_element *parent, const char **ret_relative_to);
/* The name attribute, never NULL; an error if it is missing, reserved or contains "::". */
const char *load_name(struct load *load, const struct sdf_element *element);
/* An attribute's value; NULL if it is missing or empty, or, with an error, if it is "__root__". */
const char *load_reference(struct load *load, const struct sdf_element *element, const char *attribute);
/* False, with an error: one more element of this kind would be too many. */
bool load_room(struct load *load, const struct sdf_element *element, uint32_t count);

/* files and includes */
troupe_status load_read(
	struct load *load, const char *text, size_t bytes, const char *path, const struct sdf_element **ret_root);
uint32_t load_version_of(const struct load *load, const struct sdf_element *element);

/* declare */
void load_world(struct load *load, const struct sdf_element *element);
/* Begins to read a world; messages about the world name the line of element. */
void load_begin(struct load *load, struct sdf_world *world, const struct sdf_element *element);
/* The pose of a frame of a model, relative to the model, as if the model stood alone. False: the model has no frame
 * of that name. Messages are not kept, because the model is read again in its real place. */
bool load_pose_inside(struct load *load, const struct sdf_element *model, const char *name, struct pose *ret_pose);
/* Reads a world that holds only a model, light or actor, the element. */
void load_bare(struct load *load, const struct sdf_element *element);
void load_model(struct load *load, const struct sdf_element *element, uint32_t parent, uint32_t scope, bool is_static);
void load_frame(struct load *load, const struct sdf_element *element, uint32_t model, uint32_t scope);
void load_link(struct load *load, const struct sdf_element *element, uint32_t model, uint32_t scope);
void load_sensor(struct load *load, const struct sdf_element *element, uint32_t link, uint32_t joint, uint32_t scope);
void load_light(struct load *load, const struct sdf_element *element, uint32_t link, uint32_t scope);
void load_joint(struct load *load, const struct sdf_element *element, uint32_t model, uint32_t scope);
void load_plugin(struct load *load, const struct sdf_element *element, uint32_t model, uint32_t link);
/* Adds a name to the pose graph; a name that is taken is reported. Returns the frame. */
uint32_t load_declare(struct load *load, struct frames_frame frame);
/* Stores a pose that is relative to another frame than its owner's, for the pass `place`. */
void load_defer(struct load *load, struct load_placing placing);

/* sensors, and what can be seen */
/* The <noise> of parent; a <noise> without a type is of the kind `fallback`. */
void load_noise(
	struct load *load, const struct sdf_element *parent, enum sdf_noise_kind fallback, struct sdf_noise *noise);
/* The cameras of the sensor that is the next in the world's array. */
void load_cameras(struct load *load, const struct sdf_element *sensor, enum sdf_sensor_kind kind, uint32_t scope,
	struct sdf_settings *settings);
/* The elements troupe:... of a lidar, whose element may be NULL (lidar.c). range: has the limits of <range>; a named
 * pattern gives those of its data sheet if there is no <range>. */
void load_lidar(struct load *load, const struct sdf_sensor *sensor, const struct sdf_element *element,
	struct sdf_lidar *lidar, struct sdf_signal *range);
/* Warns of names of collisions that the sensor's link does not have. */
void load_check_contact(struct load *load, const struct sdf_sensor *sensor);
/* Warns of sensors of the world that publish on one topic. */
void load_check_topics(struct load *load);
/* Warns of a Label with a wrong label; other plug-ins are left alone. */
void load_check_label(struct load *load, const struct sdf_element *plugin);
/* The same of Thermal and its temperature. */
void load_check_temperature(struct load *load, const struct sdf_element *plugin);
/* Everything of a visual but its place and shape. */
void load_looks(struct load *load, struct sdf_visual *visual);
/* physics: the chosen profile. Both elements may be NULL: defaults. */
void load_surroundings(struct load *load, const struct sdf_element *world, const struct sdf_element *physics,
	struct sdf_surroundings *to);

/* parts of links */
struct sdf_shape load_shape(struct load *load, const struct sdf_element *geometry);
/* Finds the models of the world whose meshes may be left unread (far.c). */
void load_find_far(struct load *load, const struct sdf_element *world);
/* Whether the meshes of this model, which stands in the world, may be left unread. */
bool load_is_far(struct load *load, const struct sdf_element *model, const char *name, bool is_static);
/* Leaves the mesh or heightmap of a collision unread, if that is possible. */
const struct sdf_far *load_leave_far(
	struct load *load, const struct sdf_element *element, const struct sdf_shape *shape);
/* Reads the data that a shape needs: a mesh, an image, a polyline (solid.c). collides: it is that of a collision. */
void load_solid(struct load *load, bool collides, struct sdf_shape *shape);
/* The importer that reads meshes and images for this load. */
struct importer *load_importer(struct load *load);
/* What the visual's shape is painted with: textures, and the materials of a mesh file. After load_solid(). */
void load_finish(struct load *load, const struct sdf_visual *visual, struct sdf_shape *shape);
/* The cube map of the sky; NULL: none. */
const struct texture *load_finish_sky(struct load *load, const struct sdf_sky *sky);
/* All three for the world, if the options ask for it. */
void load_visual_solids(struct load *load);
void load_solids_fini(struct sdf *sdf);
const struct sdf_surface *load_surface(struct load *load, const struct sdf_element *collision, uint32_t *max_contacts);
const struct sdf_inertial *load_inertial(struct load *load, const struct sdf_element *link, bool is_static);
/* Mass properties of an auto="true" link, from its collisions. Called after the collisions were placed. */
void load_inertial_auto(struct load *load, struct sdf_link *link);

/* place */
void load_place(struct load *load);
void load_place_joints(struct load *load);
/* The scope of a model (SDF_NONE: the world). */
static inline uint32_t load_scope_of(uint32_t model)
{
	return model == SDF_NONE ? FRAMES_WORLD : model + 1;
}
/* The world pose of a frame. */
struct pose load_world_pose(const struct load *load, uint32_t frame);

/* An element that is being built: a copy of another element, without its children, to which children are added.
 * Edited trees are made this way. */
struct load_builder {
	struct sdf_element *element, *last;
};
struct load_builder load_build(struct load *load, const struct sdf_element *element);
void load_build_add(struct load *load, struct load_builder *builder, const struct sdf_element *child);
/* Adds a last child, and behind it others that another element has, as they are; nothing may be added then. */
void load_build_end(struct load *load, struct load_builder *builder, const struct sdf_element *child,
	const struct sdf_element *rest);
void load_build_attribute(struct load *load, struct load_builder *builder, const char *name, const char *value);
/* A <pose> element that reads back to the same bits; its file and line are those of owner. */
struct sdf_element *load_build_pose(struct load *load, const struct sdf_element *owner, struct pose pose);

#endif
