/* Open-RMF's messages (rmf_door_msgs and others) as CDR, and requests back. */
#include "base/arena.h"
#include "gateway/ros/parts.h"
#include "gateway/ros/write.h"
#include "topic/message.h"
#include "topic/rmf.pb-c.h"

#define RMF_MESSAGE(Type) const Troupe__Msgs__##Type *m = (const Troupe__Msgs__##Type *)(const void *)base

static void rmf_put_stamp(struct cdr_out *out, const Gz__Msgs__Header *header)
{
	part_time(out, header ? header->stamp : NULL);
}

/* The sender's clock says nothing: a request counts when it is taken. */
static void rmf_skip_stamp(struct cdr_in *in)
{
	(void)cdr_get(in, 4);
	(void)cdr_get(in, 4);
}

/* --- doors -------------------------------------------------------------------------------------------------------- */

WRITE(door_state)
{
	RMF_MESSAGE(DoorState);
	(void)error;
	rmf_put_stamp(out, m->header);
	cdr_string(out, m->door_name);
	cdr_u32(out, m->current_mode);
	return TROUPE_OK;
}

WRITE(door_request)
{
	RMF_MESSAGE(DoorRequest);
	(void)error;
	rmf_put_stamp(out, m->header);
	cdr_string(out, m->requester_id);
	cdr_string(out, m->door_name);
	cdr_u32(out, m->requested_mode);
	return TROUPE_OK;
}

READ(door_request)
{
	Troupe__Msgs__DoorRequest message = TROUPE__MSGS__DOOR_REQUEST__INIT;
	rmf_skip_stamp(in);
	message.requester_id = message_string(cdr_get_string(in));
	message.door_name = message_string(cdr_get_string(in));
	message.requested_mode = (uint32_t)cdr_get(in, 4);
	message_add_bytes(bytes, &message.base);
}

/* --- lifts -------------------------------------------------------------------------------------------------------- */

WRITE(lift_state)
{
	RMF_MESSAGE(LiftState);
	(void)error;
	rmf_put_stamp(out, m->header);
	cdr_string(out, m->lift_name);
	cdr_count(out, m->n_available_floors);
	for (size_t i = 0; i < m->n_available_floors; i++)
		cdr_string(out, m->available_floors[i]);
	cdr_string(out, m->current_floor);
	cdr_string(out, m->destination_floor);
	cdr_u8(out, (uint8_t)m->door_state);
	cdr_u8(out, (uint8_t)m->motion_state);
	cdr_count(out, m->n_available_modes);
	for (size_t i = 0; i < m->n_available_modes; i++)
		cdr_u8(out, (uint8_t)m->available_modes[i]);
	cdr_u8(out, (uint8_t)m->current_mode);
	cdr_string(out, m->session_id);
	return TROUPE_OK;
}

WRITE(lift_request)
{
	RMF_MESSAGE(LiftRequest);
	(void)error;
	cdr_string(out, m->lift_name);
	rmf_put_stamp(out, m->header);
	cdr_string(out, m->session_id);
	cdr_u8(out, (uint8_t)m->request_type);
	cdr_string(out, m->destination_floor);
	cdr_u8(out, (uint8_t)m->door_state);
	return TROUPE_OK;
}

READ(lift_request)
{
	Troupe__Msgs__LiftRequest message = TROUPE__MSGS__LIFT_REQUEST__INIT;
	message.lift_name = message_string(cdr_get_string(in));
	rmf_skip_stamp(in);
	message.session_id = message_string(cdr_get_string(in));
	message.request_type = (uint32_t)cdr_get(in, 1);
	message.destination_floor = message_string(cdr_get_string(in));
	message.door_state = (uint32_t)cdr_get(in, 1);
	message_add_bytes(bytes, &message.base);
}

/* --- dispensers and ingestors: their messages are alike ----------------------------------------------------------- */

#define RMF_WORKCELL_STATE(type, Type)                                                                                 \
	WRITE(type##_state)                                                                                            \
	{                                                                                                              \
		RMF_MESSAGE(Type##State);                                                                              \
		(void)error;                                                                                           \
		rmf_put_stamp(out, m->header);                                                                         \
		cdr_string(out, m->guid);                                                                              \
		cdr_u32(out, (uint32_t)m->mode);                                                                       \
		cdr_count(out, m->n_request_guid_queue);                                                               \
		for (size_t i = 0; i < m->n_request_guid_queue; i++)                                                   \
			cdr_string(out, m->request_guid_queue[i]);                                                     \
		cdr_f32(out, m->seconds_remaining);                                                                    \
		return TROUPE_OK;                                                                                      \
	}
RMF_WORKCELL_STATE(dispenser, Dispenser)
RMF_WORKCELL_STATE(ingestor, Ingestor)

#define RMF_WORKCELL_RESULT(type, Type)                                                                                \
	WRITE(type##_result)                                                                                           \
	{                                                                                                              \
		RMF_MESSAGE(Type##Result);                                                                             \
		(void)error;                                                                                           \
		rmf_put_stamp(out, m->header);                                                                         \
		cdr_string(out, m->request_guid);                                                                      \
		cdr_string(out, m->source_guid);                                                                       \
		cdr_u8(out, (uint8_t)m->status);                                                                       \
		return TROUPE_OK;                                                                                      \
	}
RMF_WORKCELL_RESULT(dispenser, Dispenser)
RMF_WORKCELL_RESULT(ingestor, Ingestor)

#define RMF_WORKCELL_REQUEST(type, Type)                                                                               \
	WRITE(type##_request)                                                                                          \
	{                                                                                                              \
		RMF_MESSAGE(Type##Request);                                                                            \
		(void)error;                                                                                           \
		rmf_put_stamp(out, m->header);                                                                         \
		cdr_string(out, m->request_guid);                                                                      \
		cdr_string(out, m->target_guid);                                                                       \
		cdr_string(out, m->transporter_type);                                                                  \
		cdr_count(out, m->n_items);                                                                            \
		for (size_t i = 0; i < m->n_items; i++) {                                                              \
			cdr_string(out, m->items[i]->type_guid);                                                       \
			cdr_u32(out, (uint32_t)m->items[i]->quantity);                                                 \
			cdr_string(out, m->items[i]->compartment_name);                                                \
		}                                                                                                      \
		return TROUPE_OK;                                                                                      \
	}
RMF_WORKCELL_REQUEST(dispenser, Dispenser)
RMF_WORKCELL_REQUEST(ingestor, Ingestor)

#define RMF_READ_WORKCELL_REQUEST(type, TYPE, Type)                                                                    \
	READ(type##_request)                                                                                           \
	{                                                                                                              \
		enum { ITEM_BYTES = 14 }; /* at least */                                                               \
		Troupe__Msgs__##Type##Request message = TROUPE__MSGS__##TYPE##_REQUEST__INIT;                          \
		struct arena arena = {0};                                                                              \
		rmf_skip_stamp(in);                                                                                    \
		message.request_guid = message_string(cdr_get_string(in));                                             \
		message.target_guid = message_string(cdr_get_string(in));                                              \
		message.transporter_type = message_string(cdr_get_string(in));                                         \
		message.n_items = cdr_get_count(in, ITEM_BYTES);                                                       \
		message.items = arena_array(&arena, Troupe__Msgs__##Type##Request__Item *, message.n_items);           \
		for (size_t i = 0; i < message.n_items; i++) {                                                         \
			message.items[i] = arena_new(&arena, Troupe__Msgs__##Type##Request__Item);                     \
			troupe__msgs__##type##_request__item__init(message.items[i]);                                  \
			message.items[i]->type_guid = message_string(cdr_get_string(in));                              \
			message.items[i]->quantity = (int32_t)cdr_get(in, 4);                                          \
			message.items[i]->compartment_name = message_string(cdr_get_string(in));                       \
		}                                                                                                      \
		message_add_bytes(bytes, &message.base);                                                               \
		arena_fini(&arena);                                                                                    \
	}
RMF_READ_WORKCELL_REQUEST(dispenser, DISPENSER, Dispenser)
RMF_READ_WORKCELL_REQUEST(ingestor, INGESTOR, Ingestor)

/* --- robots ------------------------------------------------------------------------------------------------------- */

static void rmf_put_location(struct cdr_out *out, const Troupe__Msgs__RobotLocation *location)
{
	static const Troupe__Msgs__RobotLocation none = TROUPE__MSGS__ROBOT_LOCATION__INIT;
	const Troupe__Msgs__RobotLocation *m = location ? location : &none;
	part_time(out, m->t);
	cdr_f32(out, m->x);
	cdr_f32(out, m->y);
	cdr_f32(out, m->yaw);
	cdr_u8(out, m->obey_approach_speed_limit != 0);
	cdr_f32(out, m->approach_speed_limit);
	cdr_string(out, m->level_name);
	cdr_u64(out, m->index);
}

static void rmf_put_path(struct cdr_out *out, Troupe__Msgs__RobotLocation *const *path, size_t count)
{
	cdr_count(out, count);
	for (size_t i = 0; i < count; i++)
		rmf_put_location(out, path[i]);
}

static void rmf_put_mode(struct cdr_out *out, const Troupe__Msgs__RobotMode *mode)
{
	cdr_u32(out, mode ? mode->mode : 0);
	cdr_u64(out, mode ? mode->mode_request_id : 0);
	cdr_string(out, mode ? mode->performing_action : "");
}

static void rmf_put_robot(struct cdr_out *out, const Troupe__Msgs__RobotState *m)
{
	cdr_string(out, m->name);
	cdr_string(out, m->model);
	cdr_string(out, m->task_id);
	cdr_u64(out, m->seq);
	rmf_put_mode(out, m->mode);
	cdr_f32(out, m->battery_percent);
	rmf_put_location(out, m->location);
	rmf_put_path(out, m->path, m->n_path);
}

WRITE(robot_state)
{
	RMF_MESSAGE(RobotState);
	(void)error;
	rmf_put_robot(out, m);
	return TROUPE_OK;
}

WRITE(fleet_state)
{
	RMF_MESSAGE(FleetState);
	(void)error;
	cdr_string(out, m->name);
	cdr_count(out, m->n_robots);
	for (size_t i = 0; i < m->n_robots; i++)
		rmf_put_robot(out, m->robots[i]);
	return TROUPE_OK;
}

WRITE(robot_path_request)
{
	RMF_MESSAGE(RobotPathRequest);
	(void)error;
	cdr_string(out, m->fleet_name);
	cdr_string(out, m->robot_name);
	rmf_put_path(out, m->path, m->n_path);
	cdr_string(out, m->task_id);
	return TROUPE_OK;
}

WRITE(robot_mode_request)
{
	RMF_MESSAGE(RobotModeRequest);
	(void)error;
	cdr_string(out, m->fleet_name);
	cdr_string(out, m->robot_name);
	rmf_put_mode(out, m->mode);
	cdr_string(out, m->task_id);
	cdr_count(out, m->n_parameters);
	for (size_t i = 0; i < m->n_parameters; i++) {
		cdr_string(out, m->parameters[i]->name);
		cdr_string(out, m->parameters[i]->value);
	}
	return TROUPE_OK;
}

WRITE(robot_pause_request)
{
	RMF_MESSAGE(RobotPauseRequest);
	(void)error;
	cdr_string(out, m->fleet_name);
	cdr_string(out, m->robot_name);
	cdr_u64(out, m->mode_request_id);
	cdr_u32(out, m->type);
	cdr_u32(out, m->at_checkpoint);
	return TROUPE_OK;
}

static Troupe__Msgs__RobotLocation *rmf_get_location(struct cdr_in *in, struct arena *arena)
{
	Troupe__Msgs__RobotLocation *location = arena_new(arena, Troupe__Msgs__RobotLocation);
	troupe__msgs__robot_location__init(location);
	location->t = arena_new(arena, Gz__Msgs__Time);
	gz__msgs__time__init(location->t);
	location->t->sec = (int32_t)cdr_get(in, 4);
	location->t->nsec = (int32_t)cdr_get(in, 4);
	location->x = cdr_get_f32(in);
	location->y = cdr_get_f32(in);
	location->yaw = cdr_get_f32(in);
	location->obey_approach_speed_limit = cdr_get(in, 1) != 0;
	location->approach_speed_limit = cdr_get_f32(in);
	location->level_name = message_string(cdr_get_string(in));
	location->index = cdr_get(in, 8);
	return location;
}

static void rmf_get_mode(struct cdr_in *in, Troupe__Msgs__RobotMode *mode)
{
	mode->mode = (uint32_t)cdr_get(in, 4);
	mode->mode_request_id = cdr_get(in, 8);
	mode->performing_action = message_string(cdr_get_string(in));
}

static Troupe__Msgs__RobotLocation **rmf_get_path(struct cdr_in *in, struct arena *arena, size_t *ret_count)
{
	enum { LOCATION_BYTES = 24 }; /* at least */
	size_t count = *ret_count = cdr_get_count(in, LOCATION_BYTES);
	Troupe__Msgs__RobotLocation **path = arena_array(arena, Troupe__Msgs__RobotLocation *, count);
	for (size_t i = 0; i < count; i++)
		path[i] = rmf_get_location(in, arena);
	return path;
}

READ(robot_path_request)
{
	Troupe__Msgs__RobotPathRequest message = TROUPE__MSGS__ROBOT_PATH_REQUEST__INIT;
	struct arena arena = {0};
	message.fleet_name = message_string(cdr_get_string(in));
	message.robot_name = message_string(cdr_get_string(in));
	message.path = rmf_get_path(in, &arena, &message.n_path);
	message.task_id = message_string(cdr_get_string(in));
	message_add_bytes(bytes, &message.base);
	arena_fini(&arena);
}

READ(robot_mode_request)
{
	enum { PARAMETER_BYTES = 10 }; /* at least */
	Troupe__Msgs__RobotModeRequest message = TROUPE__MSGS__ROBOT_MODE_REQUEST__INIT;
	Troupe__Msgs__RobotMode mode = TROUPE__MSGS__ROBOT_MODE__INIT;
	struct arena arena = {0};
	message.fleet_name = message_string(cdr_get_string(in));
	message.robot_name = message_string(cdr_get_string(in));
	rmf_get_mode(in, &mode);
	message.mode = &mode;
	message.task_id = message_string(cdr_get_string(in));
	message.n_parameters = cdr_get_count(in, PARAMETER_BYTES);
	message.parameters = arena_array(&arena, Troupe__Msgs__RobotModeRequest__Parameter *, message.n_parameters);
	for (size_t i = 0; i < message.n_parameters; i++) {
		message.parameters[i] = arena_new(&arena, Troupe__Msgs__RobotModeRequest__Parameter);
		troupe__msgs__robot_mode_request__parameter__init(message.parameters[i]);
		message.parameters[i]->name = message_string(cdr_get_string(in));
		message.parameters[i]->value = message_string(cdr_get_string(in));
	}
	message_add_bytes(bytes, &message.base);
	arena_fini(&arena);
}

READ(robot_pause_request)
{
	Troupe__Msgs__RobotPauseRequest message = TROUPE__MSGS__ROBOT_PAUSE_REQUEST__INIT;
	message.fleet_name = message_string(cdr_get_string(in));
	message.robot_name = message_string(cdr_get_string(in));
	message.mode_request_id = cdr_get(in, 8);
	message.type = (uint32_t)cdr_get(in, 4);
	message.at_checkpoint = (uint32_t)cdr_get(in, 4);
	message_add_bytes(bytes, &message.base);
}

static Troupe__Msgs__RobotState *rmf_get_robot(struct cdr_in *in, struct arena *arena)
{
	Troupe__Msgs__RobotState *robot = arena_new(arena, Troupe__Msgs__RobotState);
	troupe__msgs__robot_state__init(robot);
	robot->name = message_string(cdr_get_string(in));
	robot->model = message_string(cdr_get_string(in));
	robot->task_id = message_string(cdr_get_string(in));
	robot->seq = cdr_get(in, 8);
	robot->mode = arena_new(arena, Troupe__Msgs__RobotMode);
	troupe__msgs__robot_mode__init(robot->mode);
	rmf_get_mode(in, robot->mode);
	robot->battery_percent = cdr_get_f32(in);
	robot->location = rmf_get_location(in, arena);
	robot->path = rmf_get_path(in, arena, &robot->n_path);
	return robot;
}

READ(fleet_state)
{
	enum { ROBOT_BYTES = 60 }; /* at least */
	Troupe__Msgs__FleetState message = TROUPE__MSGS__FLEET_STATE__INIT;
	struct arena arena = {0};
	message.name = message_string(cdr_get_string(in));
	message.n_robots = cdr_get_count(in, ROBOT_BYTES);
	message.robots = arena_array(&arena, Troupe__Msgs__RobotState *, message.n_robots);
	for (size_t i = 0; i < message.n_robots; i++)
		message.robots[i] = rmf_get_robot(in, &arena);
	message_add_bytes(bytes, &message.base);
	arena_fini(&arena);
}
