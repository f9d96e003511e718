#!/bin/sh
# test limit: 900
# The test of the random worlds' own tools: each of their comparisons and rules must fail when the program is wrong
# in that way, even if every run is wrong in the same way. The program is wrapped in a script that changes one part
# of its output.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

random=${BUILD_DIR:-.}/tests/determinism/random_worlds
case $troupe in
*/*) real=$(cd "$(dirname "$troupe")" && pwd)/$(basename "$troupe") ;;
*) real=$troupe ;;
esac

# wrong NAME: makes a program that does the same as $real, and then runs the commands of standard input. These find the
# output in "$said", the report in ./report, the exit status in $status, and the arguments.
wrong()
{
	{
		cat <<-EOF2
			#!/bin/sh
			said=\$(mktemp)
			"$real" "\$@" >"\$said"
			status=\$?
			spoil() { sed -i "\$1" "\$2"; }
		EOF2
		cat
		cat <<-'EOF2'
			cat "$said"
			rm -f "$said"
			exit "$status"
		EOF2
	} >"$scratch/$1"
	chmod +x "$scratch/$1"
}

# finds WHAT KIND SEEDS NAME: the last wrong program fails, in worlds of this kind, for this reason. In make check each
# second one is tried.
tried=0
finds()
{
	tried=$((tried + 1))
	[ $((tried % $(amount 2 2 1))) = 0 ] || return 0
	TROUPE=$scratch/$4 SOURCE_DIR=${SOURCE_DIR:-.} timeout "$run_limit_s" "$random" --only "$2" --first 1 --count "$3" \
		--shrink 0 --keep "$scratch/kept" >"$scratch/out" 2>&1
	[ $? = 1 ] && grep -q "^FAILED: seed [0-9]* ($2) --only $2: $1" "$scratch/out"
	report $? "$4: expected '$1', found '$(sed -n 's/^FAILED: [^:]*: //p' "$scratch/out" | sort -u | tr '\n' ';')'"
	rm -rf "$scratch/kept"
}

# no fault is made, and none is found
wrong well </dev/null
TROUPE=$scratch/well SOURCE_DIR=${SOURCE_DIR:-.} timeout "$run_limit_s" "$random" --first 1 --count 3 --keep "$scratch/kept" \
	>"$scratch/out" 2>&1
report $? "a program without a fault: $(grep -m 1 FAILED "$scratch/out")"

# --- wrong in the same way in each run ---

# simulated time lacks a step, or steps before set_physics have the length of those after it
wrong time_short <<'E2'
[ ! -e report ] || awk '/"sim_time":/ { sub(/,$/, "", $2); $2 = sprintf("%.9f,", $2 - 0.0003) } { print }' report >report.new &&
	mv report.new report
E2
finds time joints 2 time_short

# after a reset an effect of the time before is left
wrong reset_rest <<'E2'
awk '/^hash / { $3 = $2 % 7 substr($3, 2) } { print }' "$said" >"$said.new" && mv "$said.new" "$said"
E2
finds reset reset 3 reset_rest

wrong infinite <<'E2'
[ ! -e report ] || spoil 's/"pose": \[[^,]*,/"pose": [nan,/' report
E2
finds finite joints 1 infinite

wrong sinking <<'E2'
[ ! -e report ] || spoil 's/\("name": "stay[^[]*\[[^,]*, [^,]*, \)[^,]*/\1-0.1/' report
E2
finds sinks floor 4 sinking

wrong touching <<'E2'
[ ! -e report ] || spoil 's/"contacts": 0,/"contacts": 1,/' report
E2
finds touch tied 1 touching

# --- wrong in some runs ---

wrong placed <<'E2'
case "$*" in *"--secondaries 0"*) ;; *) spoil 's/^\(hash 9 .*\)./\1x/' "$said" ;; esac
E2
finds hash mixed 1 placed

wrong replies <<'E2'
case "$*" in *"--secondaries 0"*) ;; *) spoil 's/^\(reply .*\)$/\1, or so/' "$said" ;; esac
E2
finds reply edits 3 replies

wrong resumed_hash <<'E2'
case "$*" in *--resume*) spoil 's/^\(hash .*\)./\1x/' "$said" ;; esac
E2
finds hash edits 2 resumed_hash

# members that the report of a resumed run has lost
for member in $(amount pose 'pose asleep' 'sim_time refused_commands pose asleep'); do
	wrong "resumed_$member" <<-E2
		case "\$*" in *--resume*) spoil 's/"$member": [^,]*/"$member": 7/' report ;; esac
	E2
	finds report levels 2 "resumed_$member"
done

wrong resumed_crash <<'E2'
case "$*" in *--resume*) status=139 ;; esac
E2
finds 'ends 139' levels 2 resumed_crash

wrong resumed_status <<'E2'
case "$*" in *--resume*) status=0 ;; esac
E2
finds 'status 0, not 1' edits 12 resumed_status

wrong replayed <<'E2'
case "$*" in replay*) status=1 ;; esac
E2
finds 'replay, status 1' joints 6 replayed

wrong later <<'E2'
case "$*" in *--until*) spoil '/^hash/{$d}' "$said" ;; esac
E2
finds until joints 8 later

# --- wrong in what it computes ---

# a window does not know where a model lay until it was hit in it
cat >"$scratch/hits" <<E2
#!/bin/sh
[ "\$1" = run ] || exec "$real" "\$@"
shift
exec "$real" run --break hits "\$@"
E2
chmod +x "$scratch/hits"
tried=1
finds hash hit 5 hits

# --- the commands that are printed with a failure show it ---

wrong placed_early <<'E2'
case "$*" in *"--secondaries 0"*) ;; *) spoil 's/^\(hash 2 .*\)./\1x/' "$said" ;; esac
E2
TROUPE=$scratch/placed_early SOURCE_DIR=${SOURCE_DIR:-.} timeout "$run_limit_s" "$random" --only edits --first 5 --count 1 --shrink 100 \
	--keep "$scratch/folder" >"$scratch/out" 2>&1
sed -n "s|^  \(cd .*\)|\1|p; s|^  \($scratch/placed_early run .*\)|\1|p" "$scratch/out" >"$scratch/commands"
sh "$scratch/commands" >"$scratch/lines" 2>/dev/null
[ "$(grep -c '^hash 2 ' "$scratch/lines")" = 2 ] && [ "$(grep '^hash 2 ' "$scratch/lines" | sort -u | wc -l)" = 2 ]
report $? "the commands of a failure show it: $(grep '^hash 2 ' "$scratch/lines" | tr '\n' ';')"
left=$(sed -n 's/^  \([0-9]*\) parts of [0-9]* are left.*/\1/p' "$scratch/out")
all=$(sed -n 's/^  [0-9]* parts of \([0-9]*\) are left.*/\1/p' "$scratch/out")
[ "${left:-1}" -lt "${all:-0}" ]
report $? "a failing world is made smaller: $left parts of $all"
totals
