#!/bin/sh
# A controller in lockstep, written in shell, with nothing but `troupe service`: each 100 ms of simulated time it gets the
# place of a cart, and commands a twist towards the next corner of a square. The run waits for the controller, so that the
# cart's path is the same in every run.
#
#     troupe run WORLD.sdf --wait-for follow --until 60 &
#     follow.sh /model/cart
#
# The model has a DiffDrive system. TROUPE is the command to call (default: troupe). PROTOCOL.md in src/gateway/lockstep
# describes the services.
set -u
model=${1:?the name of a topic folder, as /model/cart}
troupe=${TROUPE:-troupe}

# call SERVICE TYPE REQUEST: prints the reply in text form
call()
{
	"$troupe" service call "/lockstep/$1" --reqtype "troupe.msgs.$2" --reptype troupe.msgs.LockstepToClient \
		--timeout 60000 --req "$3"
}

# number NAME: prints this number of the Step in $reply
number()
{
	printf '%s\n' "$reply" | sed -n "s/^  $1: //p"
}

# Reads a Step; prints the next corner, the place of the cart, and the twist.
steer()
{
	printf '%s\n' "$reply" | awk -v corner="$corner" '
		function part(text, from) { return match(text, from "\\{[^}]*\\}") ? substr(text, RSTART, RLENGTH) : "" }
		function value(text, name) { return match(text, "[{ ]" name ": [^ }]*") ? substr(text, RSTART + 4, RLENGTH - 4) + 0 : 0 }
		/^    content: / {
			position = part($0, "pose [{]position "); turn = part($0, "orientation ")
			x = value(position, "x"); y = value(position, "y"); yaw = 2 * atan2(value(turn, "z"), value(turn, "w"))
		}
		END {
			split("1 1 0 0", to_x); split("0 1 1 0", to_y)
			dx = to_x[corner] - x; dy = to_y[corner] - y
			if (dx * dx + dy * dy < 0.01) {
				corner = corner % 4 + 1
				dx = to_x[corner] - x; dy = to_y[corner] - y
			}
			pi = atan2(0, -1)
			aside = atan2(dy, dx) - yaw
			while (aside > pi) aside -= 2 * pi
			while (aside < -pi) aside += 2 * pi
			forward = aside > -0.3 && aside < 0.3 ? 0.5 : 0
			angle = aside > 0.6 ? 1.2 : aside < -0.6 ? -1.2 : 2 * aside
			printf "%d linear{x:%.9g}angular{z:%.9g} %.9g %.9g\n", corner, forward, angle, x, y
		}'
}

# The run may still be loading: the call waits for the service.
reply=$(call join LockstepJoin "version: 1 name: 'follow' period_ns: 100000000 failure: END text_form: true
	subscribe {topic: '$model/odometry' rate_hz: 10}") || exit 1
case $reply in
refused*) echo "$reply" >&2; exit 1 ;;
esac
corner=1
turn="name: 'follow'"
while reply=$(call step LockstepTurn "$turn"); do
	case $reply in
	step*) ;;
	*failed:\ true*) echo "$reply" >&2; exit 1 ;;
	*) exit 0 ;;
	esac
	read -r next twist x y <<-END
		$(steer)
	END
	[ "$next" = "$corner" ] || echo "corner $next: x $x y $y"
	corner=$next
	step=$(number step)
	turn="name: 'follow' done {step: ${step:-0} message {topic: '$model/cmd_vel' content: '$twist'}}"
done
echo 'follow: the run does not answer' >&2
exit 1
