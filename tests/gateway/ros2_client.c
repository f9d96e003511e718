/* A client of services and of the action in DDS, on Cyclone DDS, in the way of rmw_cyclonedds_cpp. Its types are code
 * that Cyclone's compiler makes of ros2_services.idl, so nothing here is troupe's. Each argument is one order; they are
 * done one after the other, and each prints a line, which begins with the order.
 *
 *   domain:N                          the domain; first
 *   features                          GetSimulatorFeatures
 *   entities[:FILTER]                 GetEntities
 *   spawn:NAME:X[:URI]                SpawnEntity: a ball, or URI
 *   delete:NAME, state:NAME           DeleteEntity, GetEntityState
 *   set:NAME:X:Y:Z                    SetEntityState, with an orientation about x and a twist
 *   info:NAME:CATEGORY:TAG            SetEntityInfo, with a description
 *   told:NAME, tagged:TAG             GetEntityInfo, GetEntities with a filter by a tag
 *   poses[:TAG], bounds:NAME          GetNamedPoses, GetNamedPoseBounds
 *   spawnables[:SOURCE]               GetSpawnables
 *   worlds[:SOURCE]                   GetAvailableWorlds
 *   mode, mode:STATE                  GetSimulationState, SetSimulationState
 *   step:N, reset:SCOPE, hash         StepSimulation, ResetSimulation, GetHash
 *   many:COUNT:NAME                   COUNT times GetEntityState: how many were answered with the state of this entity
 *   late:S                            GetHash, by a client whose reader of replies comes S seconds after the request
 *   leave:N                           StepSimulation, and ends at once
 *   goal:N[:CANCEL]                   SimulateSteps; cancelled after CANCEL messages of feedback
 *   start:N                           SimulateSteps, and ends when the first feedback comes
 *   graph                             whether ros_discovery_info has both ends of get_entities as ends of a node
 *   wait:S                            sleeps */
#include "ros2_services.h"

#include "ros2_calls.h"

#define SRV(variable, Type, topic, ...) CALL(variable, simulation_interfaces_srv_dds_, Type, topic, __VA_ARGS__)

static void say_result(const simulation_interfaces_msg_dds__Result_ *result)
{
	printf("%s result=%u text='%s'", words[0], result->result, result->error_message);
}

static void say_strings(const dds_sequence_string *list)
{
	for (uint32_t i = 0; i < list->_length; i++)
		printf(" %s", list->_buffer[i]);
}

/* --- orders ------------------------------------------------------------------------------------------------------- */

static void features(void)
{
	SRV(r, GetSimulatorFeatures, "get_simulator_features", .number = 0);
	printf("features");
	for (uint32_t i = 0; i < r->features.features._length; i++)
		printf(" %u", r->features.features._buffer[i]);
	say_strings(&r->features.spawn_formats);
	printf(" '%s'\n", r->features.custom_info);
}

static void entities(void)
{
	SRV(r, GetEntities, "get_entities", .filters = {.filter = (char *)word(1)});
	say_result(&r->result);
	say_strings(&r->entities);
	printf("\n");
}

static dds_sequence_string one_string(const char **text)
{
	return (dds_sequence_string){1, **text != 0, (char **)text, false};
}

static void tagged(void)
{
	const char *tag = words[1];
	SRV(r, GetEntities, "get_entities", .filters = {.filter = "", .tags = {.tags = one_string(&tag)}});
	say_result(&r->result);
	say_strings(&r->entities);
	printf("\n");
}

static void set_info(void)
{
	const char *tag = words[3];
	SRV(r, SetEntityInfo, "set_entity_info", .entity = words[1],
		.info = {.category = {(uint8_t)atoi(words[2])}, .description = "of brick", .tags = one_string(&tag)});
	say_result(&r->result);
	printf("\n");
}

static void told(void)
{
	SRV(r, GetEntityInfo, "get_entity_info", .entity = words[1]);
	say_result(&r->result);
	printf(" category=%u description='%s'", r->info.category.category, r->info.description);
	say_strings(&r->info.tags);
	printf("\n");
}

static void poses(void)
{
	const char *tag = word(1);
	SRV(r, GetNamedPoses, "get_named_poses", .tags = {.tags = one_string(&tag)});
	say_result(&r->result);
	for (uint32_t i = 0; i < r->poses._length; i++) {
		const simulation_interfaces_msg_dds__NamedPose_ *pose = &r->poses._buffer[i];
		printf(" %s[%s]=%.1f,%.1f,%.1f", pose->name, pose->tags._length ? pose->tags._buffer[0] : "",
			pose->pose.position.x, pose->pose.position.y, pose->pose.position.z);
	}
	printf("\n");
}

static void bounds(void)
{
	SRV(r, GetNamedPoseBounds, "get_named_pose_bounds", .name = words[1]);
	say_result(&r->result);
	printf(" type=%u", r->bounds.type);
	for (uint32_t i = 0; i < r->bounds.points._length; i++)
		printf(" %.1f,%.1f,%.1f", r->bounds.points._buffer[i].x, r->bounds.points._buffer[i].y,
			r->bounds.points._buffer[i].z);
	printf("\n");
}

static void spawnables(void)
{
	const char *source = word(1);
	SRV(r, GetSpawnables, "get_spawnables", .sources = one_string(&source));
	say_result(&r->result);
	for (uint32_t i = 0; i < r->spawnables._length; i++)
		printf(" %s", r->spawnables._buffer[i].entity_resource.uri);
	printf("\n");
}

static void worlds(void)
{
	const char *source = word(1);
	SRV(r, GetAvailableWorlds, "get_available_worlds", .additional_sources = one_string(&source));
	say_result(&r->result);
	for (uint32_t i = 0; i < r->worlds._length; i++)
		printf(" %s", r->worlds._buffer[i].name);
	printf("\n");
}

static void spawn(void)
{
	static char ball[] =
		"<sdf version='1.9'><model name='x'><link name='l'><inertial><mass>1</mass></inertial><collision "
		"name='c'><geometry><sphere><radius>0.25</radius></sphere></geometry></collision></link></model></sdf>";
	SRV(r, SpawnEntity, "spawn_entity", .name = words[1],
		.entity_resource = {.uri = (char *)word(3), .resource_string = *word(3) ? "" : ball},
		.initial_pose = {.pose = {.position = {.x = atof(word(2)), .z = 3}, .orientation = {.w = 1}}});
	say_result(&r->result);
	printf(" %s\n", r->entity_name);
}

static void delete (void)
{
	SRV(r, DeleteEntity, "delete_entity", .entity = words[1]);
	say_result(&r->result);
	printf("\n");
}

static void state(void)
{
	SRV(r, GetEntityState, "get_entity_state", .entity = words[1]);
	const geometry_msgs_msg_dds__Pose_ *pose = &r->state.pose;
	say_result(&r->result);
	printf(" frame=%s at=%.6f,%.6f,%.6f turned=%.6f,%.6f,%.6f,%.6f moving=%.6f spinning=%.6f\n",
		r->state.header.frame_id, pose->position.x, pose->position.y, pose->position.z, pose->orientation.x,
		pose->orientation.y, pose->orientation.z, pose->orientation.w, r->state.twist.linear.x,
		r->state.twist.angular.z);
}

static void set(void)
{
	SRV(r, SetEntityState, "set_entity_state", .entity = words[1],
		.state = {.pose = {.position = {atof(word(2)), atof(word(3)), atof(word(4))},
				  .orientation = {.x = 0.6, .w = 0.8}},
			.twist = {.linear = {.x = 1.5}, .angular = {.z = -2}}},
		.set_pose = true, .set_twist = true);
	say_result(&r->result);
	printf("\n");
}

static void mode(void)
{
	if (word_count > 1) {
		SRV(r, SetSimulationState, "set_simulation_state", .state = {(uint8_t)atoi(words[1])});
		say_result(&r->result);
		printf("\n");
	} else {
		SRV(r, GetSimulationState, "get_simulation_state", .number = 0);
		say_result(&r->result);
		printf(" state=%u\n", r->state.state);
	}
}

static void step(void)
{
	SRV(r, StepSimulation, "step_simulation", .steps = strtoull(words[1], NULL, 10));
	say_result(&r->result);
	printf("\n");
}

static void reset(void)
{
	SRV(r, ResetSimulation, "reset_simulation", .scope = (uint8_t)atoi(words[1]));
	say_result(&r->result);
	printf("\n");
}

static void hash(void)
{
	CALL(r, troupe_interfaces_srv_dds_, GetHash, "troupe/get_hash", .number = 0);
	say_result(&r->result);
	printf(" step=%llu hash=%s\n", (unsigned long long)r->step, r->hash);
}

/* Without a pause between the answer and the next request. */
static void many(void)
{
	simulation_interfaces_srv_dds__GetEntityState_Request_ request = {.entity = words[2]};
	struct ends ends = open_ends("get_entity_state", &simulation_interfaces_srv_dds__GetEntityState_Request__desc,
		&simulation_interfaces_srv_dds__GetEntityState_Response__desc);
	int good = 0;
	for (int i = 0; i < atoi(words[1]); i++) {
		int64_t number = send_request(&ends, &request);
		simulation_interfaces_srv_dds__GetEntityState_Response_ *r = await_reply(&ends, number);
		void *sample[1] = {r};
		good += r->result.result == 1 || strstr(r->result.error_message, words[2]);
		dds_return_loan(ends.reader, sample, 1);
	}
	printf("many %d\n", good);
}

static void late(void)
{
	troupe_interfaces_srv_dds__GetHash_Request_ request = {.client = 0};
	struct ends ends = open_ends("troupe/get_hash", &troupe_interfaces_srv_dds__GetHash_Request__desc, NULL);
	int64_t number = send_request(&ends, &request);
	dds_sleepfor((dds_duration_t)(atof(words[1]) * 1e9));
	ends.reader = make_reader(
		"rr/troupe/get_hashReply", &troupe_interfaces_srv_dds__GetHash_Response__desc, ends.id, false);
	troupe_interfaces_srv_dds__GetHash_Response_ *r = await_reply(&ends, number);
	say_result(&r->result);
	printf("\n");
}

static void leave(void)
{
	simulation_interfaces_srv_dds__StepSimulation_Request_ request = {.steps = strtoull(words[1], NULL, 10)};
	struct ends ends = open_ends("step_simulation", &simulation_interfaces_srv_dds__StepSimulation_Request__desc,
		&simulation_interfaces_srv_dds__StepSimulation_Response__desc);
	(void)send_request(&ends, &request);
	dds_sleepfor(DDS_MSECS(200)); /* until it has gone out */
	printf("leave\n");
}

/* --- the action --------------------------------------------------------------------------------------------------- */

#define ACTION(Type) simulation_interfaces_action_dds__SimulateSteps_##Type

static void cancel_goal(const unique_identifier_msgs_msg_dds__UUID_ *id)
{
	CALL(r, action_msgs_srv_dds_, CancelGoal, "simulate_steps/_action/cancel_goal", .goal_info = {.goal_id = *id});
	printf("cancel code=%d goals=%u same=%d\n", r->return_code, r->goals_canceling._length,
		r->goals_canceling._length && !memcmp(&r->goals_canceling._buffer[0].goal_id, id, sizeof *id));
}

/* The feedback of this goal that waits; the last in *last. */
static int take_feedback(dds_entity_t reader, const unique_identifier_msgs_msg_dds__UUID_ *id, ACTION(Feedback_) * last)
{
	void *samples[10] = {NULL};
	dds_sample_info_t infos[10];
	int found = 0, count = dds_take(reader, samples, infos, 10, 10);
	for (int i = 0; i < count; i++) {
		const ACTION(FeedbackMessage_) *message = samples[i];
		if (!infos[i].valid_data || memcmp(&message->goal_id, id, sizeof *id) != 0)
			continue;
		*last = message->feedback;
		found++;
	}
	if (count > 0)
		dds_return_loan(reader, samples, count);
	return found;
}

static int status_of(dds_entity_t reader, const unique_identifier_msgs_msg_dds__UUID_ *id)
{
	static int last = -1;
	void *samples[1] = {NULL};
	dds_sample_info_t info;
	while (dds_take(reader, samples, &info, 1, 1) == 1) {
		const action_msgs_msg_dds__GoalStatusArray_ *list = samples[0];
		for (uint32_t i = 0; info.valid_data && i < list->status_list._length; i++)
			if (!memcmp(&list->status_list._buffer[i].goal_info.goal_id, id, sizeof *id))
				last = list->status_list._buffer[i].status;
		dds_return_loan(reader, samples, 1);
	}
	return last;
}

static void goal(void)
{
	static unique_identifier_msgs_msg_dds__UUID_ id;
	ACTION(SendGoal_Request_) request = {.goal = {strtoull(words[1], NULL, 10)}};
	int cancel_after = word_count > 2 ? atoi(words[2]) : -1, heard = 0, turns = 0;
	bool leaves = !strcmp(words[0], "start");
	ACTION(Feedback_) last = {0, 0};
	dds_guid_t guid;
	dds_get_guid(participant, &guid);
	memcpy(id.uuid, guid.v, sizeof id.uuid);
	id.uuid[15]++; /* another goal */
	id.uuid[14] = (uint8_t)(id.uuid[14] + dds_time() % 251);
	request.goal_id = id;
	dds_entity_t feedback =
		make_reader("rt/simulate_steps/_action/feedback", &ACTION(FeedbackMessage__desc), NULL, false);
	dds_entity_t status = make_reader(
		"rt/simulate_steps/_action/status", &action_msgs_msg_dds__GoalStatusArray__desc, NULL, true);
	struct ends watch = {.writer = 0, .reader = feedback};
	dds_subscription_matched_status_t matched = {0};
	for (dds_time_t begin = dds_time(); !matched.current_count && waits(begin, &turns);)
		dds_get_subscription_matched_status(watch.reader, &matched);
	struct ends send = open_ends(
		"simulate_steps/_action/send_goal", &ACTION(SendGoal_Request__desc), &ACTION(SendGoal_Response__desc));
	int64_t number = send_request(&send, &request);
	const ACTION(SendGoal_Response_) *accepted = await_reply(&send, number);
	printf("accepted=%d\n", accepted->accepted);
	number = send_request(&send, &request);
	accepted = await_reply(&send, number);
	printf("again=%d\n", accepted->accepted);
	for (dds_time_t begin = dds_time(); (leaves || cancel_after > 0) && heard < (leaves ? 1 : cancel_after);) {
		heard += take_feedback(feedback, &id, &last);
		if (!waits(begin, &turns))
			break;
	}
	if (leaves)
		return;
	if (cancel_after >= 0)
		cancel_goal(&id);
	ACTION(GetResult_Request_) ask = {.goal_id = id};
	struct ends get = open_ends("simulate_steps/_action/get_result", &ACTION(GetResult_Request__desc),
		&ACTION(GetResult_Response__desc));
	number = send_request(&get, &ask);
	const ACTION(GetResult_Response_) *r = await_reply(&get, number);
	dds_sleepfor(DDS_MSECS(100)); /* the topics are other ways */
	heard += take_feedback(feedback, &id, &last);
	printf("goal status=%d told=%d result=%u text='%s' heard=%d completed=%llu remaining=%llu\n", r->status,
		status_of(status, &id), r->result.result.result, r->result.result.error_message, heard,
		(unsigned long long)last.completed_steps, (unsigned long long)last.remaining_steps);
	if (cancel_after >= 0)
		cancel_goal(&id); /* which is over */
	id.uuid[0]++;
	ask.goal_id = id;
	number = send_request(&get, &ask);
	r = await_reply(&get, number);
	printf("unknown goal status=%d\n", r->status);
	cancel_goal(&id);
}

/* --- the graph ---------------------------------------------------------------------------------------------------- */

/* The id of the only peer of an end, as ros_discovery_info has it, and the id of its service. */
static void peer_of(dds_entity_t end, bool writes, dds_guid_t *ret_guid, char ret_service[64])
{
	dds_instance_handle_t peer;
	void *data = NULL;
	size_t count = 0;
	dds_return_t found =
		writes ? dds_get_matched_subscriptions(end, &peer, 1) : dds_get_matched_publications(end, &peer, 1);
	if (found != 1)
		fail("peers of get_entities", found);
	dds_builtintopic_endpoint_t *endpoint =
		writes ? dds_get_matched_subscription_data(end, peer) : dds_get_matched_publication_data(end, peer);
	*ret_guid = endpoint->key;
	if (!dds_qget_userdata(endpoint->qos, &data, &count) || !data)
		fail("user data", DDS_RETCODE_NO_DATA);
	snprintf(ret_service, 64, "%.*s", (int)strcspn(data, ";"), (const char *)data);
	dds_free(data);
	dds_builtintopic_free_endpoint(endpoint);
}

static bool has_gid(uint32_t count, const rmw_dds_common_msg_dds__Gid_ *gids, const dds_guid_t *guid)
{
	bool found = false;
	for (uint32_t i = 0; i < count; i++)
		found |= !memcmp(gids[i].data, guid->v, sizeof guid->v);
	return found;
}

static void graph(void)
{
	dds_guid_t request, reply;
	char ids[2][64];
	void *sample[1] = {NULL};
	dds_sample_info_t info;
	dds_time_t begin = dds_time();
	int turns = 0;
	struct ends ends = open_ends("get_entities", &simulation_interfaces_srv_dds__GetEntities_Request__desc,
		&simulation_interfaces_srv_dds__GetEntities_Response__desc);
	dds_entity_t reader =
		make_reader("ros_discovery_info", &rmw_dds_common_msg_dds__ParticipantEntitiesInfo__desc, NULL, true);
	peer_of(ends.writer, true, &request, ids[0]);
	peer_of(ends.reader, false, &reply, ids[1]);
	while (dds_take(reader, sample, &info, 1, 1) != 1)
		if (!waits(begin, &turns))
			fail("ros_discovery_info", DDS_RETCODE_TIMEOUT);
	const rmw_dds_common_msg_dds__ParticipantEntitiesInfo_ *said = sample[0];
	for (uint32_t i = 0; info.valid_data && i < said->node_entities_info_seq._length; i++) {
		const rmw_dds_common_msg_dds__NodeEntitiesInfo_ *node = &said->node_entities_info_seq._buffer[i];
		printf("graph node=%s%s request=%d reply=%d ids=%d same=%d\n", node->node_namespace, node->node_name,
			has_gid(node->reader_gid_seq._length, node->reader_gid_seq._buffer, &request),
			has_gid(node->writer_gid_seq._length, node->writer_gid_seq._buffer, &reply),
			!strncmp(ids[0], "serviceid=", 10) && strlen(ids[0]) > 30, !strcmp(ids[0], ids[1]));
	}
}

static void sleep_some(void)
{
	dds_sleepfor((dds_duration_t)(atof(words[1]) * 1e9));
}

int main(int argc, char **argv)
{
	static const struct order orders[] = {{"features", features, 1}, {"entities", entities, 1}, {"spawn", spawn, 3},
		{"delete", delete, 2}, {"state", state, 2}, {"set", set, 5}, {"mode", mode, 1}, {"step", step, 2},
		{"reset", reset, 2}, {"hash", hash, 1}, {"many", many, 3}, {"late", late, 2}, {"leave", leave, 2},
		{"goal", goal, 2}, {"start", goal, 2}, {"graph", graph, 1}, {"wait", sleep_some, 2},
		{"tagged", tagged, 2}, {"info", set_info, 4}, {"told", told, 2}, {"poses", poses, 1},
		{"bounds", bounds, 2}, {"spawnables", spawnables, 1}, {"worlds", worlds, 1}, {NULL, NULL, 0}};
	return obey(argc, argv, orders);
}
