#!/bin/sh
# The whole demo: every cart is upright, where its odometry and the plan put it, and touched no other cart; levels
# load and unload, and carts move between secondaries, in each third of the run; each secondary has its share of the
# carts in each tenth.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

world=$worlds/warehouse.sdf
commands=$worlds/warehouse.commands
steps=$(sed -n '1s/.*--steps //p' "$commands")
near_m=0.01       # carts come within 3 mm of both
near_rad=0.005    # and 0.6 mrad
carts=$(grep -c 'stands at' "$commands")
aisles=$(grep -c '<level name="aisle_' "$world")
tenths=10
share=1.15 # on the average of a tenth of the run, one secondary has at most this many times as many carts as another

demo() { run "$scratch/trace.$1" "$world" "$commands" "$steps" --report "$scratch/report.$1" --trace --secondaries "$@"; }

several=$(amount 2 2 '2 4' '2 3 4')
one_each=$(amount "" "" "$carts") # a secondary for each cart: many for two cores
for secondaries in 0 $several $one_each; do
	demo "$secondaries"
	report $? "--secondaries $secondaries: runs, and every command is obeyed"
	hash=$(member "$scratch/report.$secondaries" state_hash)
	[ -n "$hash" ] && [ "$hash" = "$(member "$scratch/report.0" state_hash)" ]
	report $? "--secondaries $secondaries: the same hash: $hash"
done

# ends WHAT LIMIT FILE: lines "CART VALUE", one for each cart; no value is beyond the limit
ends()
{
	[ "$(wc -l <"$3")" = "$carts" ]
	report $? "$1: of $carts carts"
	far=$(awk -v limit="$2" '!($2 <= limit && $2 >= -limit)' "$3")
	[ -z "$far" ]
	report $? "$1 is within $2: $(echo "$far" | tr '\n' ',')"
}

grep '"name": "cart_' "$scratch/report.0" >"$scratch/carts"
for what in position yaw tilt; do
	sed -n "s/.*\"name\": \"\(cart_[0-9]*\)\".*\"drift\": {[^}]*\"$what\": \([^,}]*\).*/\1 \2/p" "$scratch/carts" >"$scratch/$what"
	ends "drift, $what" "$([ $what = position ] && echo $near_m || echo $near_rad)" "$scratch/$what"
done
sed -n 's/.*"name": "\(cart_[0-9]*\)", "pose": \[\([^]]*\)\].*/\1 \2/p' "$scratch/carts" | tr -d , >"$scratch/poses"
sed -n 's/^# at [0-9]*: \(cart_[0-9]*\) stands at \([^ ]*\) \([^ ]*\), yaw \(.*\)/\1 \2 \3 \4/p' "$commands" |
	awk 'NR == FNR { x[$1] = $2; y[$1] = $3; yaw[$1] = $4; next }
		{ print $1, sqrt(($2 - x[$1]) ^ 2 + ($3 - y[$1]) ^ 2), sin(2 * atan2($8, $5) - yaw[$1]) >"/dev/stdout" }' \
		- "$scratch/poses" >"$scratch/goals"
ends 'distance from the planned place' $near_m "$scratch/goals"
awk '{ print $1, $3 }' "$scratch/goals" >"$scratch/headings"
ends 'turned from the planned heading' $near_rad "$scratch/headings"

# With a secondary for each cart, every contact of two carts, or of a cart and another's tote, is a meeting.
if [ -n "$one_each" ]; then
	[ "$(member "$scratch/report.$carts" meetings)" = 0 ]
	report $? "no cart touches another: $(member "$scratch/report.$carts" meetings) meetings"
fi
[ "$(member "$scratch/report.0" waiting_commands)" = 0 ] && [ "$(member "$scratch/report.0" refused_commands)" = 0 ]
report $? 'no command waits or was refused'
[ "$(member "$scratch/report.0" created)" -ge "$carts" ] && [ "$(member "$scratch/report.0" created)" = "$(member "$scratch/report.0" removed)" ]
report $? "as many totes are created as removed: $(member "$scratch/report.0" created)"

# The greatest number of aisles that are loaded at a time, after the levels that begin near a cart have been unloaded.
most=$(awk '$3 ~ /^aisle_/ && $1 == "load" { loaded++ } $3 ~ /^aisle_/ && $1 == "unload" { loaded-- }
	$2 > 0 && loaded > most { most = loaded } END { print most + 0 }' "$scratch/trace.2")
[ "$most" -gt 0 ] && [ "$most" -lt "$aisles" ]
report $? "at any time a part of the aisles is not loaded: $most of $aisles are"

for secondaries in $several; do
	for third in 0 1 2; do
		for event in 'move' 'load' 'unload'; do
			count=$(awk -v event=$event -v steps="$steps" -v third=$third '$1 == event && $2 > 0 &&
				(event != "move" || $3 ~ /^cart_/) && int(3 * $2 / steps) == third' "$scratch/trace.$secondaries" | wc -l)
			[ "$count" -ge 3 ]
			report $? "--secondaries $secondaries: $count times $event in third $third of the run"
		done
	done
	# The report has the secondary of each cart at the end; backwards from there, the moves in the trace give the
	# others.
	awk -v steps="$steps" -v tenths=$tenths -v secondaries=$secondaries -v share=$share '
		function pass(from, to, tenth, low, high, cart)
		{
			for (tenth = 0; tenth < tenths; tenth++) {
				low = steps * tenth / tenths
				high = low + steps / tenths
				low = from > low ? from : low
				high = to < high ? to : high
				for (cart in whose)
					sum[tenth, whose[cart]] += high > low ? high - low : 0
			}
		}
		NR == FNR && /^    {"secondary": / {
			split($0, lists, /"performers": \[/)
			count = split(lists[2], names, /"/)
			for (i = 2; i <= count && names[i] != "], "; i += 2)
				if (names[i] ~ /^cart_/)
					whose[names[i]] = substr($2, 1, length($2) - 1)
		}
		NR != FNR && $1 == "move" && $3 ~ /^cart_/ { step[++moves] = $2; name[moves] = $3; from[moves] = $4 }
		END {
			now = steps
			for (; moves; moves--) {
				pass(step[moves], now)
				now = step[moves]
				whose[name[moves]] = from[moves]
			}
			pass(0, now)
			for (tenth = 0; tenth < tenths; tenth++) {
				least = most = sum[tenth, 1]
				for (s = 2; s <= secondaries; s++) {
					least = sum[tenth, s] < least ? sum[tenth, s] : least
					most = sum[tenth, s] > most ? sum[tenth, s] : most
				}
				print tenth, least / steps * tenths, most / steps * tenths, !(least > 0 && most <= share * least)
			}
		}' "$scratch/report.$secondaries" "$scratch/trace.$secondaries" >"$scratch/shares"
	[ "$(wc -l <"$scratch/shares")" = $tenths ]
	report $? "--secondaries $secondaries: shares of $tenths tenths"
	while read -r tenth least most uneven; do
		report "$uneven" "--secondaries $secondaries: in tenth $tenth one has $least carts and another $most"
	done <"$scratch/shares"
done
totals
