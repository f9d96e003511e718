#!/bin/sh
# test limit: 300
# Arms of ros2_control over DDS: clients on Cyclone DDS, with types that Cyclone's compiler makes of IDL files, do what the
# spawner of controllers and MoveIt do, as rmw_cyclonedds_cpp does it: services of the controller managers, and goals, for
# twenty arms in namespaces, also after a reset, for an arm that is removed, and one that comes later. What they do becomes
# commands, so a recording repeats it.
# optional commands: cc gcc idlc
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "${SOURCE_DIR:-.}/tests/gateway/ros2.sh"
needs_node 'arms over DDS' ball.sdf
cc=$(command -v cc || command -v gcc) || cc=
# program NAME IDL SOURCE OPTIONS...: ./NAME
program()
{
	name=$1 idl=$2 from=$3
	shift 3
	idlc -l c -t "$@" "$source/tests/gateway/$idl.idl" >compiled 2>&1 &&
		"$cc" -O0 -I. "$@" "$source/tests/gateway/$from.c" "$idl.c" -o "$name" -lddsc >compiled 2>&1
}
[ -n "$cc" ] && command -v idlc >/dev/null && program arms ros2_arms ros2_arms &&
	program humble ros2_arms ros2_arms -D HUMBLE && program client ros2_services ros2_client || {
	skip 'arms over DDS' "no C compiler, cyclonedds-tools or cyclonedds-dev: $(head -n 1 compiled 2>/dev/null)"
	totals
	exit
}
cp "$source/tests/data/ros_robots/arm.urdf" "$source/tests/data/ros_robots/arm.yaml" .
count=20
. "$source/tests/gateway/arms.sh"
arms_world $count >w.sdf

# arms ORDERS..., humble ORDERS...: what it prints in `said`
arms()
{
	timeout 120 ./arms domain:$domain "$@" >said 2>&1
	report $? "a client: $(tail -n 1 said)"
}
humble()
{
	timeout 120 ./humble domain:$domain "$@" >said 2>&1
	report $? "a client of Humble: $(tail -n 1 said)"
}
# says LINE PATTERN: whether the LINEth line that was printed is the pattern
says()
{
	sed -n "$1p" said | grep -Eqx "$2"
	report $? "line $1, '$2': $(sed -n "$1p" said)"
}

begin --record run.rec --secondaries 2
mine=joint_trajectory_controller
arms list:arm3 interfaces:arm3 spawn:arm3:$mine spawn:arm3:none off:arm3:none:2 off:arm3:joint_state_broadcaster:2
says 1 "list $mine=active,2 joint_state_broadcaster=active,0 wrist_controller=active,1"
says 2 'interfaces shoulder/position=1 elbow/position=1 wrist/velocity=1 grip/effort=0 grip/position=0 states=5'
says 3 "spawn loaded=1 load=1 configure=1 on=1 ''"
says 4 "spawn loaded=0 load=0 configure=0 on=0 'there is no controller 'none': .*'"
says 5 "off ok=0 'there is no controller 'none': .*'"
says 6 "off ok=0 'controller 'joint_state_broadcaster' cannot be deactivated: .*'"
arms all:$count
says 1 "all $count"
arms goal:arm3:0.4:0.5 cancel:arm3 replace:arm3 goal:arm3:1.9:0.05:0.01 goal:arm3:-1.9:0.05 off:arm3:$mine:2 list:arm3 \
	goal:arm3:0.4:0.5 spawn:arm3:$mine goal:arm3:0.4:0.5
says 1 "goal status=4 code=0 '' heard=1"
says 2 'cancel accepted=1 code=0 goals=1'
says 3 "cancel status=5 code=0 'the goal was cancelled' heard=1"
says 4 'replace accepted=1'
says 5 "replace status=5 code=0 'another goal has come' heard=.*"
says 6 "replace status=4 code=0 '' heard=1"
says 7 "goal status=6 code=-4 'path tolerance: joint 'shoulder' .*' heard=.*"
says 8 "goal status=6 code=-5 'goal tolerance: joint 'shoulder' .*' heard=1"
says 9 "off ok=1 ''"
says 10 "list $mine=inactive,0 joint_state_broadcaster=active,0 wrist_controller=active,1"
says 11 'goal refused'
grep -q 'ROS 2: /arm3/.*/follow_joint_trajectory: a goal is refused: the controller is not active' err
report $? "the run says why a goal is refused: $(cat err)"
says 12 "spawn loaded=1 load=1 configure=1 on=1 ''"
says 13 "goal status=4 code=0 '' heard=1"
arms unload:arm3:$mine unload:arm3:wrist_controller off:arm3:$mine:2 unload:arm3:$mine unload:arm3:$mine list:arm3 \
	off:arm3:$mine:2 goal:arm3:0.4:0.5 spawn:arm3:$mine list:arm3 goal:arm3:0.4:0.5
says 1 'unload ok=0'
says 2 'unload ok=0'
says 3 "off ok=1 ''"
says 4 'unload ok=1'
says 5 'unload ok=0'
says 6 'list joint_state_broadcaster=active,0 wrist_controller=active,1'
says 7 "off ok=0 'controller '$mine' is unloaded: expected load_controller and configure_controller first'"
says 8 'goal refused'
says 9 "spawn loaded=0 load=1 configure=1 on=1 ''"
says 10 "list $mine=active,2 joint_state_broadcaster=active,0 wrist_controller=active,1"
says 11 "goal status=4 code=0 '' heard=1"

timeout 60 ./client domain:$domain reset:255 >said 2>&1
says 1 "reset result=1 text=''"
arms all:$count
says 1 "all $count"

# --- an arm that is removed while it has a goal, and one that comes -----------------------------------------------------
timeout 120 ./arms domain:$domain gone:arm4 >gone 2>&1 &
going=$!
for _ in $(seq 1200); do
	grep -q '^gone$' gone && break
	sleep 0.05
done
timeout 60 ./client domain:$domain delete:arm4 "spawn:late:-4:$PWD/arm.urdf" >said 2>&1
says 1 "delete result=1 text=''"
says 2 "spawn result=1 text='' late"
wait $going
report $? "the client of the arm that was removed has an answer: $(cat gone)"
cp gone said
says 2 "gone status=6 code=-1 'the controller is there no more' heard=1"
arms list:late goal:late:0.4:0.5 goal:arm5:0.4:0.5
says 1 "list $mine=active,2 joint_state_broadcaster=active,0 wrist_controller=active,1"
says 2 "goal status=4 code=0 '' heard=1"
says 3 "goal status=4 code=0 '' heard=1"
end
report $? "the run ends well: $ended $(cat err)"
replays_equal run.rec

# --- the same for nodes of Humble, whose messages have other fields -----------------------------------------------------
begin --ros2-distro humble --record humble.rec
humble list:arm3 interfaces:arm3 spawn:arm3:$mine spawn:arm3:none off:arm3:none:2 off:arm3:$mine:2 list:arm3 unload:arm3:$mine \
	list:arm3 spawn:arm3:$mine list:arm3 goal:arm3:0.4:0.5
says 1 "list $mine=active,2 joint_state_broadcaster=active,0 wrist_controller=active,1"
says 2 'interfaces shoulder/position=1 elbow/position=1 wrist/velocity=1 grip/effort=0 grip/position=0 states=5'
says 3 "spawn loaded=1 load=1 configure=1 on=1 '-'"
says 4 "spawn loaded=0 load=0 configure=0 on=0 '-'"
says 5 "off ok=0 '-'"
says 6 "off ok=1 '-'"
says 7 "list $mine=inactive,0 joint_state_broadcaster=active,0 wrist_controller=active,1"
says 8 'unload ok=1'
says 9 'list joint_state_broadcaster=active,0 wrist_controller=active,1'
says 10 "spawn loaded=0 load=1 configure=1 on=1 '-'"
says 11 "list $mine=active,2 joint_state_broadcaster=active,0 wrist_controller=active,1"
says 12 "goal status=4 code=0 '' heard=1"
end
report $? "the run for Humble ends well: $ended $(cat err)"
replays_equal humble.rec
totals
