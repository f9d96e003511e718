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

WRITE(robot_state)
{
	RMF_MESSAGE(RobotState);
	(void)error;
	cdr_string(out, m->name);
	cdr_string(out, m->model);
	cdr_string(out, m->task_id);
	cdr_u64(out, m->seq);
	rmf_put_mode(out, m->mode);
	cdr_f32(out, m->battery_percent);
	rmf_put_location(out, m->location);
	rmf_put_path(out, m->path, m->n_path);
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

READ(robot_path_request)
{
	enum { LOCATION_BYTES = 24 }; /* at least */
	Troupe__Msgs__RobotPathRequest message = TROUPE__MSGS__ROBOT_PATH_REQUEST__INIT;
	struct arena arena = {0};
	message.fleet_name = message_string(cdr_get_string(in));
	message.robot_name = message_string(cdr_get_string(in));
	message.n_path = cdr_get_count(in, LOCATION_BYTES);
	message.path = arena_array(&arena, Troupe__Msgs__RobotLocation *, message.n_path);
	for (size_t i = 0; i < message.n_path; i++)
		message.path[i] = rmf_get_location(in, &arena);
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
	mode.mode = (uint32_t)cdr_get(in, 4);
	mode.mode_request_id = cdr_get(in, 8);
	mode.performing_action = message_string(cdr_get_string(in));
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
