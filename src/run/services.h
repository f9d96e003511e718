/* The services that change a world: one row for each. All that a service needs elsewhere follows from its row: parsing
 * and binding to a step (run/schedule.h), preparing (run/prepare.h), recordings, saved states, and the run's table of
 * topics. A new service is a row and a function in services.c. Names, types and meaning are Gazebo's where Gazebo has
 * the service: its UserCommands, LevelManager and ApplyLinkWrench. */
#ifndef RUN_SERVICES_H
#define RUN_SERVICES_H

#include "run/edit.h"
#include "topic/type.h"

struct command;
struct primary;

/* Obeys a command at its step: changes the scene, state k or the primary, or on failure nothing. command->message has
 * the service's type. *note, "" when called: one line, what was done; may stay "". Thread: the primary's, between
 * steps, after plan_begin() and before plan_step(). TROUPE_ECOMMAND, TROUPE_EWORLD, TROUPE_ELIMIT: as in run/edit.h. */
typedef troupe_status (*service_fn)(
	struct primary *primary, struct command *command, char note[EDIT_NOTE_BYTES], struct troupe_error *error);

struct command_service {
	const char *name;  /* after "/world/NAME/"; the service is also there as name/blocking */
	message_type type; /* of its request */
	message_type
		sent; /* the type that clients of Gazebo send; NULL: `type`, else one with the first fields of it */
	service_fn apply;
	/* Whether this request may be obeyed for a robot client (run/owners.h), or for a system of one of its models:
	 * it is about models on which the client may act; owner: the client. NULL: such a request is refused. */
	troupe_status (*admit)(const struct primary *primary, uint32_t owner, const ProtobufCMessage *message,
		struct troupe_error *error);
	bool is_topic; /* as in Gazebo it is also a topic: a message on it is a request without a reply */
	bool creates;  /* models; what its message names is prepared before the step */
	bool partial;  /* when it fails, a part of it may have been done */
	bool replaces; /* the whole world by the state in its message: it is taken when no secondary has anything */
	bool steps;    /* it asks for steps: a caller of name/blocking is told when they are taken */
};

/* All rows; each field but `sent` and `admit` is given. */
const struct command_service *services_list(uint32_t *ret_count);
/* The service of a topic, given the part after "/world/NAME/", with or without "/blocking". NULL: there is none. */
const struct command_service *services_find(const char *asked);

/* Obeys a command whose service is given, as apply() does, after a check of what its client may do. */
troupe_status service_obey(
	struct primary *primary, struct command *command, char note[EDIT_NOTE_BYTES], struct troupe_error *error);

/* Whether the command is going to replace the whole world: the state in its message could be read. */
bool service_replaces(const struct command *command);

static inline message_type service_sent_type(const struct command_service *service)
{
	return service->sent ? service->sent : service->type;
}

#endif
