/* What adapters of Open-RMF do, over DDS: a delivery through a building. It is a program on Cyclone DDS, with types
 * that Cyclone's compiler makes of rmf_msgs.idl, so nothing here is troupe's.
 *
 * usage: rmf_fleet DOMAIN
 *
 * Each stage repeats its request, as adapters do, until the states say that it was obeyed; it prints a line for each
 * stage that fails, and the totals. */
#include "rmf_msgs.h"

#include <dds/dds.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAGE_S = 60, REPEAT_MS = 500, OPEN = 2, CLOSED = 0, DOCKING = 7, PAUSED = 3, AGV = 1, SUCCESS = 1 };

static dds_entity_t participant;
static int passed, failed;

/* What was heard last, and how often each. */
static struct {
	struct {
		unsigned mode, count;
	} door;
	struct {
		char floor[16], session[16];
		unsigned door, floors, count;
	} lift;
	struct {
		double x, y, battery;
		unsigned mode, count, path;
		unsigned long long request;
		char task[32], level[16];
	} robot;
	struct {
		unsigned states, results, status;
		char request[32];
	} dispenser, ingestor;
} heard;

static dds_entity_t must(dds_entity_t entity, const char *what)
{
	if (entity < 0) {
		printf("%s: %s\n", what, dds_strretcode(entity));
		exit(3);
	}
	return entity;
}

static dds_entity_t open_end(const char *name, const dds_topic_descriptor_t *type, bool writes)
{
	dds_qos_t *qos = dds_create_qos();
	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(1));
	dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 10);
	dds_entity_t topic = must(dds_create_topic(participant, type, name, NULL, NULL), name);
	dds_entity_t end = must(writes ? dds_create_writer(participant, topic, qos, NULL)
				       : dds_create_reader(participant, topic, qos, NULL),
		name);
	dds_delete_qos(qos);
	return end;
}

#define HEAR(name, type) static void hear_##name(const type *m)
#define COPY(to, from) (void)snprintf(to, sizeof(to), "%s", from)

HEAR(door, rmf_door_msgs_msg_dds__DoorState_)
{
	if (strcmp(m->door_name, "main_door") != 0)
		return;
	heard.door.mode = m->current_mode.value;
	heard.door.count++;
}

HEAR(lift, rmf_lift_msgs_msg_dds__LiftState_)
{
	COPY(heard.lift.floor, m->current_floor);
	COPY(heard.lift.session, m->session_id);
	heard.lift.door = m->door_state;
	heard.lift.floors = m->available_floors._length;
	heard.lift.count++;
}

HEAR(robot, rmf_fleet_msgs_msg_dds__RobotState_)
{
	if (strcmp(m->name, "car") != 0)
		return;
	heard.robot.x = m->location.x;
	heard.robot.y = m->location.y;
	heard.robot.battery = m->battery_percent;
	heard.robot.mode = m->mode.mode;
	heard.robot.request = m->mode.mode_request_id;
	heard.robot.path = m->path._length;
	COPY(heard.robot.task, m->task_id);
	COPY(heard.robot.level, m->location.level_name);
	heard.robot.count++;
}

#define HEAR_WORKCELL(kind, Kind, Name)                                                                                \
	HEAR(kind, rmf_##kind##_msgs_msg_dds__##Kind##State_)                                                          \
	{                                                                                                              \
		heard.kind.states += !strcmp(m->guid, Name) && m->mode == 0 && !m->request_guid_queue._length;         \
	}                                                                                                              \
	HEAR(kind##_result, rmf_##kind##_msgs_msg_dds__##Kind##Result_)                                                \
	{                                                                                                              \
		if (strcmp(m->source_guid, Name) != 0)                                                                 \
			return;                                                                                        \
		COPY(heard.kind.request, m->request_guid);                                                             \
		heard.kind.status = m->status;                                                                         \
		heard.kind.results++;                                                                                  \
	}
HEAR_WORKCELL(dispenser, Dispenser, "pantry")
HEAR_WORKCELL(ingestor, Ingestor, "hardware")

static struct {
	dds_entity_t door, lift, robot, dispenser, dispenser_result, ingestor, ingestor_result;
} in;
static struct {
	dds_entity_t door, lift, path, mode, pause, fleet, dispenser, ingestor;
} out;

#define TAKE(name)                                                                                                     \
	do {                                                                                                           \
		void *sample[1] = {NULL};                                                                              \
		dds_sample_info_t info;                                                                                \
		while (dds_take(in.name, sample, &info, 1, 1) == 1) {                                                  \
			if (info.valid_data)                                                                           \
				hear_##name(sample[0]);                                                                \
			(void)dds_return_loan(in.name, sample, 1);                                                     \
		}                                                                                                      \
	} while (0)

static void take_all(void)
{
	TAKE(door);
	TAKE(lift);
	TAKE(robot);
	TAKE(dispenser);
	TAKE(dispenser_result);
	TAKE(ingestor);
	TAKE(ingestor_result);
}

/* Asks again and again until it is so. ask: NULL: nothing is asked. */
static void stage(const char *what, void (*ask)(void), bool (*is_so)(void))
{
	dds_time_t begun = dds_time(), asked = 0;
	while (!is_so() && dds_time() - begun < DDS_SECS(STAGE_S)) {
		if (ask && dds_time() - asked > DDS_MSECS(REPEAT_MS)) {
			ask();
			asked = dds_time();
		}
		dds_sleepfor(DDS_MSECS(5));
		take_all();
	}
	bool good = is_so();
	passed += good;
	failed += !good;
	if (!good)
		printf("FAILED: %s: door %u, lift '%s' %u '%s', robot %.2f %.2f '%s' mode %u, results '%s' %u '%s' "
		       "%u\n",
			what, heard.door.mode, heard.lift.floor, heard.lift.door, heard.lift.session, heard.robot.x,
			heard.robot.y, heard.robot.task, heard.robot.mode, heard.dispenser.request,
			heard.dispenser.status, heard.ingestor.request, heard.ingestor.status);
}

/* --- stages ------------------------------------------------------------------------------------------------------- */

static bool all_are_heard(void)
{
	return heard.door.count && heard.lift.count && heard.robot.count && heard.dispenser.states &&
	       heard.ingestor.states && heard.lift.floors == 2 && heard.robot.battery == 100 &&
	       !strcmp(heard.robot.level, "L1");
}

static void ask_door(void)
{
	rmf_door_msgs_msg_dds__DoorRequest_ m = {
		.requester_id = "rmf", .door_name = "main_door", .requested_mode.value = OPEN};
	(void)dds_write(out.door, &m);
}

static bool door_is_open(void)
{
	return heard.door.mode == OPEN;
}

static void ask_lift(void)
{
	rmf_lift_msgs_msg_dds__LiftRequest_ m = {.lift_name = "Lift1",
		.session_id = "s1",
		.request_type = AGV,
		.destination_floor = "L2",
		.door_state = OPEN};
	(void)dds_write(out.lift, &m);
}

static bool lift_is_up(void)
{
	return !strcmp(heard.lift.floor, "L2") && heard.lift.door == OPEN && !strcmp(heard.lift.session, "s1");
}

static void tell_fleet(void)
{
	rmf_fleet_msgs_msg_dds__Location_ place = {.level_name = "L2"};
	rmf_fleet_msgs_msg_dds__RobotState_ robots[2] = {{.name = "nobody",
								 .model = "",
								 .task_id = "",
								 .mode.performing_action = "",
								 .location.level_name = "L1"},
		{.name = "car",
			.model = "m",
			.task_id = "t",
			.mode.performing_action = "a",
			.location.level_name = "L1"}};
	robots[0].path._length = robots[0].path._maximum = 1;
	robots[0].path._buffer = &place;
	rmf_fleet_msgs_msg_dds__FleetState_ m = {.name = "tiny"};
	m.robots._length = m.robots._maximum = 2;
	m.robots._buffer = robots;
	(void)dds_write(out.fleet, &m);
}

#define ASK_WORKCELL(kind, Kind, Name)                                                                                 \
	static void ask_##kind(void)                                                                                   \
	{                                                                                                              \
		rmf_##kind##_msgs_msg_dds__##Kind##RequestItem_ items[2] = {                                           \
			{.type_guid = "coke", .quantity = 1, .compartment_name = "top"},                               \
			{.type_guid = "", .compartment_name = ""}};                                                    \
		rmf_##kind##_msgs_msg_dds__##Kind##Request_ m = {                                                      \
			.request_guid = #kind "1", .target_guid = Name, .transporter_type = "tiny"};                   \
		m.items._length = m.items._maximum = 2;                                                                \
		m.items._buffer = items;                                                                               \
		tell_fleet();                                                                                          \
		dds_sleepfor(DDS_MSECS(100)); /* so that the fleet is known */                                         \
		(void)dds_write(out.kind, &m);                                                                         \
	}                                                                                                              \
	static bool kind##_is_done(void)                                                                               \
	{                                                                                                              \
		return !strcmp(heard.kind.request, #kind "1") && heard.kind.status == SUCCESS;                         \
	}
ASK_WORKCELL(dispenser, Dispenser, "pantry")
ASK_WORKCELL(ingestor, Ingestor, "hardware")

static void ask_path(void)
{
	rmf_fleet_msgs_msg_dds__Location_ places[3] = {{.x = 0.3f, .level_name = "L1"},
		{.x = 2,
			.obey_approach_speed_limit = true,
			.approach_speed_limit = 0.4f,
			.level_name = "L1",
			.index = 1},
		{.x = 4, .level_name = "L2", .index = 2}};
	rmf_fleet_msgs_msg_dds__PathRequest_ m = {.fleet_name = "tiny", .robot_name = "car", .task_id = "delivery"};
	m.path._length = m.path._maximum = 3;
	m.path._buffer = places;
	(void)dds_write(out.path, &m);
}

static bool robot_is_there(void)
{
	return fabs(heard.robot.x - 4) < 0.05 && !heard.robot.path && !strcmp(heard.robot.task, "delivery") &&
	       !strcmp(heard.robot.level, "L2") && heard.robot.battery < 100;
}

static void ask_mode(void)
{
	rmf_fleet_msgs_msg_dds__ModeParameter_ parameter = {.name = "docking", .value = "d1"};
	rmf_fleet_msgs_msg_dds__ModeRequest_ m = {.fleet_name = "tiny",
		.robot_name = "car",
		.mode = {.mode = DOCKING, .mode_request_id = 11, .performing_action = ""},
		.task_id = "delivery"};
	m.parameters._length = m.parameters._maximum = 1;
	m.parameters._buffer = &parameter;
	(void)dds_write(out.mode, &m);
}

static bool robot_docks(void)
{
	return heard.robot.mode == DOCKING && heard.robot.request == 11;
}

static void ask_pause(void)
{
	rmf_fleet_msgs_msg_dds__PauseRequest_ m = {.fleet_name = "tiny", .robot_name = "car", .mode_request_id = 12};
	(void)dds_write(out.pause, &m);
}

static bool robot_pauses(void)
{
	return heard.robot.mode == PAUSED && heard.robot.request == 12;
}

#define READER(topic, package, type) open_end("rt/" topic, &package##_msg_dds__##type##__desc, false)
#define WRITER(topic, package, type) open_end("rt/" topic, &package##_msg_dds__##type##__desc, true)

static void open_ends(void)
{
	in.door = READER("door_states", rmf_door_msgs, DoorState);
	in.lift = READER("lift_states", rmf_lift_msgs, LiftState);
	in.robot = READER("robot_state", rmf_fleet_msgs, RobotState);
	in.dispenser = READER("dispenser_states", rmf_dispenser_msgs, DispenserState);
	in.dispenser_result = READER("dispenser_results", rmf_dispenser_msgs, DispenserResult);
	in.ingestor = READER("ingestor_states", rmf_ingestor_msgs, IngestorState);
	in.ingestor_result = READER("ingestor_results", rmf_ingestor_msgs, IngestorResult);
	out.door = WRITER("door_requests", rmf_door_msgs, DoorRequest);
	out.lift = WRITER("lift_requests", rmf_lift_msgs, LiftRequest);
	out.path = WRITER("robot_path_requests", rmf_fleet_msgs, PathRequest);
	out.mode = WRITER("robot_mode_requests", rmf_fleet_msgs, ModeRequest);
	out.pause = WRITER("robot_pause_requests", rmf_fleet_msgs, PauseRequest);
	out.fleet = WRITER("fleet_states", rmf_fleet_msgs, FleetState);
	out.dispenser = WRITER("dispenser_requests", rmf_dispenser_msgs, DispenserRequest);
	out.ingestor = WRITER("ingestor_requests", rmf_ingestor_msgs, IngestorRequest);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	participant = must(dds_create_participant((dds_domainid_t)atoi(argv[1]), NULL, NULL), "a participant");
	open_ends();
	stage("all tell their states", NULL, all_are_heard);
	stage("a door opens", ask_door, door_is_open);
	stage("a lift comes", ask_lift, lift_is_up);
	stage("an item is dispensed", ask_dispenser, dispenser_is_done);
	stage("the robot drives there", ask_path, robot_is_there);
	stage("the item is ingested", ask_ingestor, ingestor_is_done);
	stage("a mode is taken", ask_mode, robot_docks);
	stage("a pause is taken", ask_pause, robot_pauses);
	printf("%d passed, %d failed\n", passed, failed);
	dds_delete(DDS_CYCLONEDDS_HANDLE);
	return failed != 0;
}
