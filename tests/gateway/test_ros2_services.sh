#!/bin/sh
# Services and the action of simulation_interfaces over DDS: a client on Cyclone DDS, with types that Cyclone's compiler
# makes of an IDL file, calls them as rmw_cyclonedds_cpp does, and one on Fast DDS sends what is no request. What they do
# becomes commands, so a recording repeats it.
# optional commands: cc gcc c++ g++ idlc
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "${SOURCE_DIR:-.}/tests/gateway/ros2.sh"
needs_node 'services over DDS' ball.sdf
cc=$(command -v cc || command -v gcc) || cc=
[ -n "$cc" ] && command -v idlc >/dev/null && idlc -l c -t "$source/tests/gateway/ros2_services.idl" >compiled 2>&1 &&
	"$cc" -O0 -I. "$source/tests/gateway/ros2_client.c" ros2_services.c -o client -lddsc >compiled 2>&1 || {
	skip 'services over DDS' "no C compiler, cyclonedds-tools or cyclonedds-dev: $(head -n 1 compiled 2>/dev/null)"
	totals
	exit
}

# client ORDERS...: what it prints in `said`
client()
{
	timeout 90 ./client domain:$domain "$@" >said 2>&1
}

# says LINE PATTERN: whether the LINEth line that was printed is the pattern
says()
{
	sed -n "$1p" said | grep -Eqx "$2"
	report $? "line $1, '$2': $(sed -n "$1p" said)"
}

echo '<sdf version="1.9"><model name="box"><static>true</static><link name="l"/></model></sdf>' >box.sdf
unset GZ_SIM_RESOURCE_PATH SDF_PATH IGN_GAZEBO_RESOURCE_PATH AMENT_PREFIX_PATH ROS_PACKAGE_PATH MENGE_RESOURCE_PATH

# --- the services ----------------------------------------------------------------------------------------------------
begin --paused --seed 5 --secondaries 2 --record run.rec
client features entities entities:^b spawn:new:1.5 spawn:new:1 spawn:far:1:/nowhere.sdf entities set:new:1:2:3 state:new state:none \
	step:5 step:0 state:new hash delete:new delete:new mode mode:7 graph
report $? "a client: $(tail -n 1 said)"
says 1 "features( [0-9]+)+ sdf urdf 'troupe [0-9.]+'"
for feature in 0 1 10 11 20 31 33; do
	head -n 1 said | grep -q " $feature "
	report $? "feature $feature is there"
done
says 2 "entities result=1 text='' ball ground wall"
says 3 "entities result=1 text='' ball"
says 4 "spawn result=1 text='' new"
says 5 "spawn result=101 text='name 'new': there is such an entity.*' "
says 6 "spawn result=107 text='.+' "
[ "$(sed -n 7p said | tr ' ' '\n' | sort | tr '\n' ' ')" = "ball entities ground new result=1 text='' wall " ]
report $? "all entities: $(sed -n 7p said)"
says 8 "set result=1 text=''"
says 9 "state result=1 text='' frame=world at=1.000000,2.000000,3.000000 turned=0.600000,0.000000,0.000000,0.800000 moving=1.500000 spinning=-2.000000"
says 10 "state result=2 text='entity 'none': .*' frame= at=0.000000.*"
says 11 "step result=1 text=''"
says 12 "step result=4 text='steps 0: expected 1 to 4294967295'"
# five steps of 0.01 s at 1.5 m/s, and what a command took to come in steps
sed -n 13p said | awk '{ split($5, at, "[=,]"); exit !(at[2] > 1.0749 && at[2] < 1.2 && at[4] < 3) }'
report $? "it has moved: $(sed -n 13p said)"
says 14 "hash result=1 text='' step=[0-9]+ hash=[0-9a-f]{16}"
says 15 "delete result=1 text=''"
says 16 "delete result=2 text='entity 'new': .*'"
says 17 "mode result=1 text='' state=[02]"
says 18 "mode result=103 text='state 7: .*'"
says 19 "graph node=/troupe request=1 reply=1 ids=1 same=1"

client info:wall:1:red info:none:1:red tagged:red tagged:blue told:wall poses poses:level bounds:room bounds:dock bounds:none
report $? "places, and what entities are: $(tail -n 1 said)"
says 1 "info result=1 text=''"
says 2 "info result=2 text='entity 'none': .*'"
says 3 "tagged result=1 text='' wall"
says 4 "tagged result=1 text=''"
says 5 "told result=1 text='' category=1 description='of brick' red"
says 6 "poses result=1 text='' dock\[frame\]=1.0,2.0,3.0 room\[level\]=0.0,0.0,0.0"
says 7 "poses result=1 text='' room\[level\]=0.0,0.0,0.0"
says 8 "bounds result=1 text='' type=1 50.0,50.0,10.0 -50.0,-50.0,-10.0"
says 9 "bounds result=1 text='' type=0"
says 10 "bounds result=2 text='pose 'none': .*' type=0"

client spawnables spawnables:/etc worlds:/etc worlds
report $? "lists of files: $(tail -n 1 said)"
says 1 "spawnables result=1 text='' model://box.sdf"
says 2 "spawnables result=4 text='source '/etc': expected a folder .*'"
says 3 "worlds result=4 text='source '/etc': .*'"
says 4 "worlds result=1 text='' (.* )?w( .*)?"

# --- several clients -------------------------------------------------------------------------------------------------
# Numbers of requests begin with 1 in each; each must get the answers to its own. One more leaves before its answer.
count=$(amount 50 200 400 1000)
timeout 90 ./client domain:$domain many:$count:ball >first 2>&1 &
first=$!
timeout 90 ./client domain:$domain many:$count:nothing >second 2>&1 &
second=$!
client leave:300 many:$count:wall
report $? "a third client: $(tail -n 1 said)"
wait $first $second
[ "$(cat first second)" = "many $count
many $count" ] && grep -qx "many $count" said
report $? "each has its own answers: $(tr '\n' ' ' <first) $(tr '\n' ' ' <second) $(tr '\n' ' ' <said)"
client late:0.7 mode:2 mode
report $? "an answer waits for its reader: $(tail -n 1 said)"
says 1 "late result=1 text=''"
says 3 "mode result=1 text='' state=2"

# --- the action ------------------------------------------------------------------------------------------------------
client goal:5 goal:100000000:3 mode
report $? "the action: $(tail -n 1 said)"
says 1 accepted=1
says 2 again=0
says 3 "goal status=4 told=4 result=1 text='' heard=5 completed=5 remaining=0"
says 4 'unknown goal status=0'
says 5 'cancel code=2 goals=0 same=0'
says 6 accepted=1
says 8 'cancel code=0 goals=1 same=1'
says 9 "goal status=5 told=5 result=4 text='cancelled after [0-9]+ of 100000000 steps' heard=.*"
says 10 'cancel code=3 goals=0 same=0'
client start:100000000
report $? "a client starts the action and goes: $(tail -n 1 said)"
# the world is paused, and other steps are possible, soon after that
for _ in $(seq 100); do
	client step:2
	grep -qx "step result=1 text=''" said && break
	sleep 0.1
done
says 1 "step result=1 text=''"
client goal:0 mode:1 goal:5 mode:2 reset:255 entities
report $? "goals that cannot be done: $(tail -n 1 said)"
says 3 "goal status=6 told=6 result=4 text='steps 0: .*' heard=0 .*"
says 9 "goal status=6 told=6 result=3 text='the simulation is playing.*' heard=0 .*"
says 13 "reset result=1 text=''"
says 14 "entities result=1 text='' ball ground wall"

# --- what is no request ----------------------------------------------------------------------------------------------
if compile_peer; then
	head=00010000efbeadde0000000007000000000000 # and a byte of the number
	be=0000000000000000deadbeef0000000000000008
	pkg=simulation_interfaces/srv
	id=636c69656e7469643d61622e63643b # "clientid=ab.cd;"
	least=
	for service in get_entities delete_entity spawn_entities step_simulation set_entity_state; do
		least="$least least:rr/${service}Reply:1"
	done
	# shellcheck disable=SC2086 # words
	timeout 150 ./peer domain:$domain for:4 $least data:$id sub:rr/get_entitiesReply:$pkg/GetEntities_Response \
		sub:rr/delete_entityReply:$pkg/DeleteEntity_Response sub:rr/spawn_entitiesReply:$pkg/SpawnEntities_Response \
		sub:rr/step_simulationReply:$pkg/StepSimulation_Response sub:rr/set_entity_stateReply:$pkg/SetEntityState_Response \
		raw:rq/get_current_worldRequest:$pkg/GetCurrentWorld_Request:0001000000112233445566 \
		raw:rq/get_entitiesRequest:$pkg/GetEntities_Request:${head}00 \
		raw:rq/delete_entityRequest:$pkg/DeleteEntity_Request:${head}00ffffffff6162 \
		raw:rq/spawn_entitiesRequest:$pkg/SpawnEntities_Request:${head}0000ffffff0000000000000000 \
		raw:rq/step_simulationRequest:$pkg/StepSimulation_Request:${be}ffffffffffffffff \
		raw:rq/set_entity_stateRequest:$pkg/SetEntityState_Request:${head}0003000000c3280000 \
		raw:rq/reset_simulationRequest:std_msgs/Float64:${head}000000000000f03f >said 2>&1
	report $? "what is no request: $(tail -n 1 said)"
	for service in get_entities:GetEntities delete_entity:DeleteEntity spawn_entities:SpawnEntities \
		set_entity_state:SetEntityState; do
		grep -q "^rr/${service%%:*}Reply client=deadbeef number=7 result=4 text='not a message of $pkg/${service##*:}_Request in CDR'" said
		report $? "$service: $(grep -m 1 "^rr/${service%%:*}" said)"
	done
	grep -q "^rr/step_simulationReply client=deadbeef number=8 result=4 text='a number is too large" said
	report $? "big-endian, and too large: $(grep -m 1 '^rr/step' said)"
	[ "$(grep -c 'get_current_world: 1[0-9] bytes are refused.*expected clients with RMW_IMPLEMENTATION=rmw_cyclonedds_cpp' err)" = 1 ]
	report $? "a request that is too short is told of once: $(cat err)"
	# a client without an id, as of another middleware, could mean another request
	timeout 60 ./peer domain:$domain for:2 sub:rr/get_entity_infoReply:$pkg/GetEntityInfo_Response \
		raw:rq/get_entity_infoRequest:$pkg/GetEntityInfo_Request:${head}0005000000$(printf ball | od -An -tx1 | tr -d ' ')00 >said 2>&1
	report "$(grep -q Reply said; echo $((! $?)))" "a client without an id: $(tail -n 1 said)"
	timeout 150 ./peer domain:$domain for:2 least:rr/get_entity_infoReply:1 data:$id sub:rr/get_entity_infoReply:$pkg/GetEntityInfo_Response \
		raw:rq/get_entity_infoRequest:$pkg/GetEntityInfo_Request:${head}0005000000$(printf ball | od -An -tx1 | tr -d ' ')00 >said 2>&1
	report "$(grep -q 'Reply .* result=1' said; echo $?)" "the same with one: $(tail -n 1 said)"
	timeout 60 ./peer domain:$domain for:2 data:$id rawflood:rq/get_entitiesRequest:$pkg/GetEntities_Request:${head}00 >flooded 2>&1 &
	flood=$!
	wait $flood
	report $? "a flood of them: $(cat flooded)"
	client entities
	says 1 "entities result=1 text='' ball ground wall"
fi
client hash
says 1 "hash result=1 text='' step=[0-9]+ hash=[0-9a-f]{16}"
end
[ $ended -le 1 ]
report $? "the run ends well, with or without refused commands: $ended $(cat err)"
replays_equal run.rec

# --- the end ---------------------------------------------------------------------------------------------------------
begin --paused
client mode:3
says 1 "mode result=1 text=''"
for _ in $(seq 1200); do
	kill -0 "$run" 2>/dev/null || break
	sleep 0.05
done
kill -0 "$run" 2>/dev/null
report $((! $?)) 'quitting ends the run'
kill -KILL "$run" 2>/dev/null
wait "$run" 2>/dev/null
run=
totals
