/* What the files of this folder share: a system while it is being configured, and the parts of the host. */
#ifndef SYSTEM_SETUP_H
#define SYSTEM_SETUP_H

#include "base/share.h"
#include "system/system.h"

struct setup { /* of one plug-in */
	struct arena *arena;
	struct share *share;           /* of texts and fields, in the arena */
	struct arena scratch;          /* what is needed while the plug-in is configured */
	struct sdf_model const *owner; /* the model that the <plugin> stands in; NULL: the world's */
	troupe_status status;          /* TROUPE_OK so far; TROUPE_EINVAL: leave it out */
	bool passed;                   /* left out without a word */
	struct troupe_error why;
	VEC(const char *) warnings;
};

/* The system that is being configured. A plug-in that calls functions for configure() elsewhere does no harm and gets
 * no lasting effect: what it is given holds until its next such call on this thread. */
struct setup *setup_of(const struct troupe_system *self);

/* To a plug-in an element of the file is an opaque type. */
static inline const struct sdf_element *setup_element_of(const struct troupe_element *element)
{
	return (const struct sdf_element *)(const void *)element;
}

static inline const struct troupe_element *setup_as_element(const struct sdf_element *element)
{
	return (const struct troupe_element *)(const void *)element;
}

/* The functions of the host. */
extern const struct troupe_host system_host;

/* Checks the children of the element against the table of the kind. */
troupe_status setup_check(struct system *system, const struct sdf_element *plugin, struct troupe_error *error);

/* The functions of configure(). */
#define SETUP_HOST                                                                                                     \
	.refuse = setup_refuse, .leave_out = setup_leave_out, .pass = setup_pass, .warn = setup_warn,                  \
	.alloc = setup_alloc, .print = setup_print, .child = setup_child, .name_of = setup_name_of,                    \
	.text_of = setup_text_of, .attribute = setup_attribute, .number = setup_number, .boolean = setup_boolean,      \
	.text = setup_text, .vector = setup_vector, .pose = setup_pose, .inside = setup_inside,                        \
	.world_name = setup_world_name, .owner_name = setup_owner_name, .is_static = setup_is_static,                  \
	.must_move = setup_must_move, .joint = setup_joint, .link = setup_link, .find_joint = setup_find_joint,        \
	.find_link = setup_find_link, .links = setup_links, .joints = setup_joints, .frame_link = setup_frame_link,    \
	.link_name = setup_link_name, .joint_name = setup_joint_name, .joint_axes = setup_joint_axes,                  \
	.joint_child = setup_joint_child, .joint_parent = setup_joint_parent, .link_inertia = setup_link_inertia,      \
	.link_solids = setup_link_solids, .link_solid = setup_link_solid, .link_wind = setup_link_wind,                \
	.link_in_model = setup_link_in_model, .joint_in_model = setup_joint_in_model, .gravity = setup_gravity,        \
	.wind = setup_wind, .link_triangles = setup_link_triangles, .link_own_inertia = setup_link_own_inertia,        \
	.add_words = setup_add_words, .take = setup_take, .serve = setup_serve, .give = setup_give,                    \
	.field = setup_field, .read_message = setup_read_message, .sibling = setup_sibling,                            \
	.link_add_mass = setup_link_add_mass, .world = setup_world

/* A copy that lasts as long as the system. Equal texts may be one. */
const char *setup_copy(const struct setup *setup, const char *text);

bool setup_refuse(struct troupe_system *self, const struct troupe_element *at, const char *format, ...);
bool setup_leave_out(struct troupe_system *self, const struct troupe_element *at, const char *format, ...);
bool setup_pass(struct troupe_system *self);
void setup_warn(struct troupe_system *self, const struct troupe_element *at, const char *format, ...);
void *setup_alloc(struct troupe_system *self, size_t bytes);
const char *setup_print(struct troupe_system *self, const char *format, ...);
const struct troupe_element *setup_child(
	const struct troupe_element *parent, const char *name, const struct troupe_element *after);
const char *setup_name_of(const struct troupe_element *element);
const char *setup_text_of(const struct troupe_element *element);
const char *setup_attribute(const struct troupe_element *element, const char *name);
double setup_number(
	struct troupe_system *self, const struct troupe_element *parent, const char *name, double otherwise);
bool setup_boolean(struct troupe_system *self, const struct troupe_element *parent, const char *name, bool otherwise);
const char *setup_text(const struct troupe_element *parent, const char *name, const char *otherwise);
struct troupe_vec3 setup_vector(struct troupe_system *self, const struct troupe_element *parent, const char *name,
	struct troupe_vec3 otherwise);
struct troupe_pose setup_pose(struct troupe_system *self, const struct troupe_element *parent, const char *name);
const char *setup_inside(struct troupe_system *self, const struct troupe_element *element);
const struct troupe_element *setup_sibling(const struct troupe_system *self, const struct troupe_element *after);
const char *setup_world_name(const struct troupe_system *self);
const struct troupe_element *setup_world(const struct troupe_system *self);
const char *setup_owner_name(const struct troupe_system *self);
bool setup_is_static(const struct troupe_system *self);
bool setup_must_move(struct troupe_system *self);
uint32_t setup_joint(struct troupe_system *self, const struct troupe_element *at, const char *name);
uint32_t setup_link(struct troupe_system *self, const struct troupe_element *at, const char *name);
uint32_t setup_find_joint(const struct troupe_system *self, const char *name, bool any);
uint32_t setup_find_link(const struct troupe_system *self, const char *name);
uint32_t setup_links(const struct troupe_system *self, uint32_t *ret_count);
uint32_t setup_joints(const struct troupe_system *self, uint32_t *ret_count);
uint32_t setup_frame_link(const struct troupe_system *self);
const char *setup_link_name(const struct troupe_system *self, uint32_t link);
const char *setup_joint_name(const struct troupe_system *self, uint32_t joint);
uint32_t setup_joint_axes(const struct troupe_system *self, uint32_t joint);
uint32_t setup_joint_child(const struct troupe_system *self, uint32_t joint);
uint32_t setup_joint_parent(const struct troupe_system *self, uint32_t joint);
struct troupe_inertia setup_link_inertia(const struct troupe_system *self, uint32_t link);
uint32_t setup_link_solids(const struct troupe_system *self, uint32_t link);
struct troupe_solid setup_link_solid(const struct troupe_system *self, uint32_t link, uint32_t index);
bool setup_link_wind(const struct troupe_system *self, uint32_t link);
struct troupe_pose setup_link_in_model(const struct troupe_system *self, uint32_t link);
struct troupe_vec3 setup_joint_in_model(const struct troupe_system *self, uint32_t joint);
struct troupe_vec3 setup_gravity(const struct troupe_system *self);
struct troupe_vec3 setup_wind(const struct troupe_system *self);
struct troupe_vec3 *setup_link_triangles(
	struct troupe_system *self, uint32_t link, uint32_t index, uint32_t *ret_corners);
struct troupe_inertia setup_link_own_inertia(const struct troupe_system *self, uint32_t link);
bool setup_link_add_mass(
	struct troupe_system *self, const struct troupe_element *at, uint32_t link, const double matrix[36]);
uint32_t setup_add_words(struct troupe_system *self, const char *name, enum troupe_word_kind kind, uint32_t count);
bool setup_take(struct troupe_system *self, const struct troupe_element *at, const char *topic, const char *type,
	uint32_t input, uint32_t drives);
bool setup_serve(struct troupe_system *self, const struct troupe_element *at, const char *name, const char *type,
	const char *reply, uint32_t input);
bool setup_give(struct troupe_system *self, const struct troupe_element *at, const struct troupe_output *output,
	uint32_t *ret_output);
const struct troupe_field *setup_field(struct troupe_system *self, const char *type, const char *path);
const struct troupe_message *setup_read_message(struct troupe_system *self, const struct troupe_element *at,
	const char *type, const char *path, const char *text);

/* A place in messages of a type: singular parts, then the field itself. */
enum { FIELD_DEPTH_MAX = 6 };
struct troupe_field {
	message_type type;
	uint32_t depth; /* of parts */
	const ProtobufCFieldDescriptor *part[FIELD_DEPTH_MAX], *last;
};

/* The functions of messages. */
#define FIELD_HOST                                                                                                     \
	.count = field_count, .get = field_get, .get_text = field_get_text, .get_part = field_get_part,                \
	.put = field_put, .put_text = field_put_text, .put_part = field_put_part, .matches = field_matches
uint32_t field_count(const struct troupe_message *message, const struct troupe_field *field);
double field_get(const struct troupe_message *message, const struct troupe_field *field, uint32_t index);
const char *field_get_text(const struct troupe_message *message, const struct troupe_field *field, uint32_t index);
const struct troupe_message *field_get_part(
	const struct troupe_message *message, const struct troupe_field *field, uint32_t index);
void field_put(struct troupe_message *message, const struct troupe_field *field, double value);
void field_put_text(struct troupe_message *message, const struct troupe_field *field, const char *value);
struct troupe_message *field_put_part(struct troupe_message *message, const struct troupe_field *field);
bool field_matches(const struct troupe_message *message, const struct troupe_message *wanted,
	const struct troupe_field *field, double tolerance);

/* Messages that are made from now on, on this thread, lie in the arena; NULL: none may be made. */
void field_open(struct arena *arena);
/* An empty message with the time in its header, if its type has a header. */
ProtobufCMessage *field_message(message_type type, double time_s);

/* anywhere.c: functions that may be called at any time. */
double anywhere_pow(double x, double y);
double anywhere_random_uniform(const struct troupe_system *self, uint32_t sequence, uint64_t index);
double anywhere_random_normal(const struct troupe_system *self, uint32_t sequence, uint64_t index);
void anywhere_log_line(const struct troupe_system *self, const char *format, ...);
struct troupe_site anywhere_site(const struct troupe_system *self, struct troupe_vec3 point);
struct troupe_vec3 anywhere_earth_field(const struct troupe_system *self, struct troupe_vec3 point);

#define ANYWHERE_HOST                                                                                                  \
	.pow = anywhere_pow, .random = anywhere_random_uniform, .random_normal = anywhere_random_normal,               \
	.log_line = anywhere_log_line, .site = anywhere_site, .earth_field = anywhere_earth_field

#endif
