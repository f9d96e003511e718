/* The schemas, and the functions that read the contents of a message. message_parse.c parses messages. */
#include "system/message.h"

#include "system/message_more.h"

#include <math.h>
#include <stdlib.h>

static const double quaternion_length_min = 1e-6;

/* --- schemas ------------------------------------------------------------------------------------------------------ */

#define FIELDS(array) .fields = (array), .field_count = ARRAY_LEN(array)
#define OTHERS(array) .others = (array), .other_count = ARRAY_LEN(array)
#define POSE_FIELDS(slot, path)                                                                                        \
	[(slot)] = {path "position.x", MESSAGE_DOUBLE}, [(slot) + 1] = {path "position.y", MESSAGE_DOUBLE},            \
	[(slot) + 2] = {path "position.z", MESSAGE_DOUBLE}, [(slot) + 3] = {path "orientation.x", MESSAGE_DOUBLE},     \
	[(slot) + 4] = {path "orientation.y", MESSAGE_DOUBLE}, [(slot) + 5] = {path "orientation.z", MESSAGE_DOUBLE},  \
	[(slot) + 6] = {path "orientation.w", MESSAGE_DOUBLE}
#define VECTOR_FIELDS(slot, path)                                                                                      \
	[(slot)] = {path "x", MESSAGE_DOUBLE}, [(slot) + 1] = {path "y", MESSAGE_DOUBLE},                              \
	[(slot) + 2] = {path "z", MESSAGE_DOUBLE}

static const struct message_field twist_fields[] = {
	{"linear.x", MESSAGE_DOUBLE},
	{"linear.y", MESSAGE_DOUBLE},
	{"linear.z", MESSAGE_DOUBLE},
	{"angular.x", MESSAGE_DOUBLE},
	{"angular.y", MESSAGE_DOUBLE},
	{"angular.z", MESSAGE_DOUBLE},
};
static const struct message_field double_fields[] = {{"data", MESSAGE_DOUBLE}};
static const struct message_field bool_fields[] = {{"data", MESSAGE_BOOL}};
static const struct message_field world_control_fields[] = {
	[MESSAGE_CONTROL_PAUSE] = {"pause", MESSAGE_BOOL},
	[MESSAGE_CONTROL_STEP] = {"step", MESSAGE_BOOL},
	[MESSAGE_CONTROL_MULTI_STEP] = {"multi_step", MESSAGE_UINT},
	[MESSAGE_CONTROL_RESET_ALL] = {"reset.all", MESSAGE_BOOL},
	[MESSAGE_CONTROL_RESET_TIME] = {"reset.time_only", MESSAGE_BOOL},
	[MESSAGE_CONTROL_RESET_MODELS] = {"reset.model_only", MESSAGE_BOOL},
	[MESSAGE_CONTROL_SEED] = {"seed", MESSAGE_UINT},
	[MESSAGE_CONTROL_RUN_TO_SEC] = {"run_to_sim_time.sec", MESSAGE_UINT},
	[MESSAGE_CONTROL_RUN_TO_NSEC] = {"run_to_sim_time.nsec", MESSAGE_UINT},
};
static const struct message_field actuators_fields[] = {
	[MESSAGE_ACTUATORS_POSITION] = {"position", MESSAGE_NUMBERS},
	[MESSAGE_ACTUATORS_VELOCITY] = {"velocity", MESSAGE_NUMBERS},
	[MESSAGE_ACTUATORS_NORMALIZED] = {"normalized", MESSAGE_NUMBERS},
};
static const struct message_field entity_factory_fields[] = {
	[MESSAGE_FACTORY_SDF] = {"sdf", MESSAGE_STRING},
	[MESSAGE_FACTORY_SDF_FILENAME] = {"sdf_filename", MESSAGE_STRING},
	[MESSAGE_FACTORY_CLONE_NAME] = {"clone_name", MESSAGE_STRING},
	[MESSAGE_FACTORY_NAME] = {"name", MESSAGE_STRING},
	[MESSAGE_FACTORY_ALLOW_RENAMING] = {"allow_renaming", MESSAGE_BOOL},
	[MESSAGE_FACTORY_RELATIVE_TO] = {"relative_to", MESSAGE_STRING},
	POSE_FIELDS(MESSAGE_FACTORY_POSE, "pose."),
};
static const struct message_field entity_factory_others[] = {{"pose.name", MESSAGE_ANY}, {"pose.id", MESSAGE_ANY}};
static const struct message_field entity_factory_v_others[] = {{"data", MESSAGE_ITEM}};
static const struct message_field entity_fields[] = {
	[MESSAGE_ENTITY_ID] = {"id", MESSAGE_UINT},
	[MESSAGE_ENTITY_NAME] = {"name", MESSAGE_STRING},
	[MESSAGE_ENTITY_TYPE] = {"type", MESSAGE_ENUM},
};
static const char *const entity_types[] = {
	[MESSAGE_ENTITY_TYPE_NONE] = "NONE",
	[MESSAGE_ENTITY_TYPE_LIGHT] = "LIGHT",
	[MESSAGE_ENTITY_TYPE_MODEL] = "MODEL",
	[MESSAGE_ENTITY_TYPE_LINK] = "LINK",
	[MESSAGE_ENTITY_TYPE_VISUAL] = "VISUAL",
	[MESSAGE_ENTITY_TYPE_COLLISION] = "COLLISION",
	[MESSAGE_ENTITY_TYPE_SENSOR] = "SENSOR",
	[MESSAGE_ENTITY_TYPE_JOINT] = "JOINT",
	[MESSAGE_ENTITY_TYPE_ACTOR] = "ACTOR",
	[MESSAGE_ENTITY_TYPE_WORLD] = "WORLD",
	[MESSAGE_ENTITY_TYPES] = NULL,
};
static const struct message_field pose_fields[] = {
	[MESSAGE_POSE_NAME] = {"name", MESSAGE_STRING},
	[MESSAGE_POSE_ID] = {"id", MESSAGE_UINT},
	POSE_FIELDS(MESSAGE_POSE_POSE, ""),
};
static const struct message_field pose_v_others[] = {{"pose", MESSAGE_ITEM}};
static const struct message_field physics_fields[] = {
	[MESSAGE_PHYSICS_MAX_STEP_SIZE] = {"max_step_size", MESSAGE_DOUBLE},
	[MESSAGE_PHYSICS_REAL_TIME_FACTOR] = {"real_time_factor", MESSAGE_DOUBLE},
	[MESSAGE_PHYSICS_GRAVITY_X] = {"gravity.x", MESSAGE_DOUBLE},
	[MESSAGE_PHYSICS_GRAVITY_Y] = {"gravity.y", MESSAGE_DOUBLE},
	[MESSAGE_PHYSICS_GRAVITY_Z] = {"gravity.z", MESSAGE_DOUBLE},
	[MESSAGE_PHYSICS_REAL_TIME_UPDATE_RATE] = {"real_time_update_rate", MESSAGE_DOUBLE},
};
static const struct message_field physics_others[] = {
	{"type", MESSAGE_ANY},
	{"solver_type", MESSAGE_STRING},
	{"profile_name", MESSAGE_STRING},
	{"enable_physics", MESSAGE_BOOL},
	{"min_step_size", MESSAGE_DOUBLE},
	{"precon_iters", MESSAGE_DOUBLE},
	{"iters", MESSAGE_DOUBLE},
	{"sor", MESSAGE_DOUBLE},
	{"cfm", MESSAGE_DOUBLE},
	{"erp", MESSAGE_DOUBLE},
	{"contact_max_correcting_vel", MESSAGE_DOUBLE},
	{"contact_surface_layer", MESSAGE_DOUBLE},
	{"magnetic_field.x", MESSAGE_DOUBLE},
	{"magnetic_field.y", MESSAGE_DOUBLE},
	{"magnetic_field.z", MESSAGE_DOUBLE},
};
static const struct message_field string_fields[] = {[MESSAGE_STRING_DATA] = {"data", MESSAGE_STRING}};
static const struct message_field performer_fields[] = {
	[MESSAGE_PERFORMER_DATA] = {"data", MESSAGE_STRING},
	[MESSAGE_PERFORMER_SIZE_X] = {"size.x", MESSAGE_DOUBLE},
	[MESSAGE_PERFORMER_SIZE_Y] = {"size.y", MESSAGE_DOUBLE},
	[MESSAGE_PERFORMER_SIZE_Z] = {"size.z", MESSAGE_DOUBLE},
	[MESSAGE_PERFORMER_REMOVE] = {"remove", MESSAGE_BOOL},
	[MESSAGE_PERFORMER_SECONDARY] = {"secondary", MESSAGE_UINT},
};
static const struct message_field velocity_fields[] = {
	[MESSAGE_VELOCITY_NAME] = {"name", MESSAGE_STRING},
	[MESSAGE_VELOCITY_ID] = {"id", MESSAGE_UINT},
	VECTOR_FIELDS(MESSAGE_VELOCITY_LINEAR, "linear."),
	VECTOR_FIELDS(MESSAGE_VELOCITY_ANGULAR, "angular."),
};
static const struct message_field joint_fields[] = {
	[MESSAGE_JOINT_NAME] = {"name", MESSAGE_STRING},
	[MESSAGE_JOINT_ID] = {"id", MESSAGE_UINT},
	[MESSAGE_JOINT_JOINT] = {"joint", MESSAGE_STRING},
	[MESSAGE_JOINT_AXIS] = {"axis", MESSAGE_UINT},
	[MESSAGE_JOINT_POSITION] = {"position", MESSAGE_DOUBLE},
	[MESSAGE_JOINT_VELOCITY] = {"velocity", MESSAGE_DOUBLE},
};
static const struct message_field wrench_fields[] = {
	[MESSAGE_WRENCH_ID] = {"entity.id", MESSAGE_UINT},
	[MESSAGE_WRENCH_NAME] = {"entity.name", MESSAGE_STRING},
	[MESSAGE_WRENCH_TYPE] = {"entity.type", MESSAGE_ENUM},
	VECTOR_FIELDS(MESSAGE_WRENCH_FORCE, "wrench.force."),
	VECTOR_FIELDS(MESSAGE_WRENCH_TORQUE, "wrench.torque."),
	VECTOR_FIELDS(MESSAGE_WRENCH_OFFSET, "wrench.force_offset."),
};
_Static_assert(ARRAY_LEN(entity_factory_fields) == MESSAGE_FACTORY_SLOTS, "");
_Static_assert(ARRAY_LEN(velocity_fields) == MESSAGE_VELOCITY_SLOTS, "");
_Static_assert(ARRAY_LEN(wrench_fields) == MESSAGE_WRENCH_SLOTS, "");
_Static_assert(ARRAY_LEN(pose_fields) == MESSAGE_POSE_END, "");
_Static_assert((int)MESSAGE_FACTORY_SLOTS <= (int)MESSAGE_SLOTS_MAX, "the longest schema");

const struct message_schema message_twist = {.type = "gz.msgs.Twist", FIELDS(twist_fields)};
const struct message_schema message_double = {.type = "gz.msgs.Double", FIELDS(double_fields)};
const struct message_schema message_bool = {.type = "gz.msgs.Boolean", FIELDS(bool_fields)};
const struct message_schema message_world_control = {
	.type = "gz.msgs.WorldControl", FIELDS(world_control_fields), .headers = true};
const struct message_schema message_actuators = {
	.type = "gz.msgs.Actuators", FIELDS(actuators_fields), .headers = true};

const struct message_schema message_entity_factory = {
	.type = "gz.msgs.EntityFactory",
	FIELDS(entity_factory_fields),
	OTHERS(entity_factory_others),
	.headers = true,
	.bytes_max = MESSAGE_LONG_BYTES_MAX,
};
const struct message_schema message_entity_factory_v = {
	.type = "gz.msgs.EntityFactory_V",
	OTHERS(entity_factory_v_others),
	.item = &message_entity_factory,
	.headers = true,
	.bytes_max = MESSAGE_LONG_BYTES_MAX,
};
const struct message_schema message_entity = {
	.type = "gz.msgs.Entity",
	FIELDS(entity_fields),
	.enum_names = entity_types,
	.headers = true,
};
const struct message_schema message_pose = {.type = "gz.msgs.Pose", FIELDS(pose_fields), .headers = true};
const struct message_schema message_pose_v = {
	.type = "gz.msgs.Pose_V",
	OTHERS(pose_v_others),
	.item = &message_pose,
	.headers = true,
	.bytes_max = MESSAGE_LONG_BYTES_MAX,
};
const struct message_schema message_physics = {
	.type = "gz.msgs.Physics",
	FIELDS(physics_fields),
	OTHERS(physics_others),
	.headers = true,
};
const struct message_schema message_string_msg = {.type = "gz.msgs.StringMsg", FIELDS(string_fields), .headers = true};
const struct message_schema message_set_performer = {
	.type = "gz.msgs.StringMsg", FIELDS(performer_fields), .headers = true};
const struct message_schema message_set_velocity = {
	.type = "troupe.msgs.SetVelocity", FIELDS(velocity_fields), .headers = true};
const struct message_schema message_set_joint = {.type = "troupe.msgs.SetJoint", FIELDS(joint_fields), .headers = true};
const struct message_schema message_entity_wrench = {
	.type = "gz.msgs.EntityWrench", FIELDS(wrench_fields), .enum_names = entity_types, .headers = true};

/* --- what is in a message ----------------------------------------------------------------------------------------- */

void message_fini(struct message *message)
{
	struct message_more *more = message->more;
	if (!more)
		return;
	for (uint32_t i = 0; i < more->item_count; i++)
		message_fini(&more->items[i]); /* an item has no items */
	free(more->items);
	free(more->numbers);
	free(more);
	message->more = NULL;
}

const char *message_string(const struct message *message, uint32_t slot)
{
	return message->more ? message->more->bytes + message->more->string_at[slot] : "";
}

const double *message_numbers(const struct message *message, uint32_t slot)
{
	return message->more && message->more->numbers ? message->more->numbers + message->more->number_at[slot] : NULL;
}

uint32_t message_item_count(const struct message *message)
{
	return message->more ? message->more->item_count : 0;
}

const struct message *message_item(const struct message *message, uint32_t i)
{
	return &message->more->items[i];
}

size_t message_more_bytes(const struct message *message)
{
	const struct message_more *more = message->more;
	if (!more)
		return 0;
	size_t bytes = sizeof *more + more->byte_count + more->number_count * sizeof *more->numbers +
		       more->item_count * sizeof *more->items;
	for (uint32_t i = 0; i < more->item_count; i++)
		bytes += message_more_bytes(&more->items[i]);
	return bytes;
}

troupe_status message_pose_of(
	const struct message *message, uint32_t slot, struct pose *ret_pose, struct troupe_error *error)
{
	const double *value = &message->value[slot];
	struct pose pose = {{value[0], value[1], value[2]}, QUAT_IDENTITY};
	if (message->given >> (slot + 3) & 0xf) {
		struct quat q = {.x = value[3], .y = value[4], .z = value[5], .w = value[6]};
		if (!(sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z) >= quaternion_length_min))
			return fail(error, TROUPE_ECOMMAND,
				"orientation (x y z w) %g %g %g %g: expected a quaternion that is not zero", q.x, q.y,
				q.z, q.w);
		pose.q = quat_unit(q);
	}
	if (!pose_finite(pose))
		return fail(error, TROUPE_ECOMMAND, "pose: expected finite numbers");
	*ret_pose = pose;
	return TROUPE_OK;
}
