# The determinism suite: the cases of ./cases, each run in many ways that must not matter. Sourced, after lib.sh, by
# test_hashes.sh (a sample), long (all of it) and update_golden.
source_dir=${SOURCE_DIR:-.}
corpus=$source_dir/../shared/corpus
golden=$source_dir/tests/data/golden
fingerprint=$("$troupe" --version | sed -n 's/^fingerprint //p')
# The names that the program lists, so that a new policy is tested at once.
policies=$("$troupe" run --distribution '' - 2>&1 | sed -n 's/.*--distribution: .* expected //p' | sed 's/^one of //; s/ or / /g; s/,//g')
first_policy=${policies%% *}
last_policy=${policies##* }

# for_each_case FUNCTION [NAME...]: FUNCTION sees $name, $world, $commands, $steps, $moves, $meetings, $saves and $what.
for_each_case()
{
	each=$1
	shift
	while read -r name world commands steps moves meetings saves what <&3; do
		case $name in '' | \#*) continue ;; esac
		[ $# = 0 ] || printf '%s\n' "$@" | grep -qx "$name" || continue
		world=$(place "$world")
		commands=$(place "$commands")
		saves=$(echo "$saves" | tr ',' ' ')
		"$each"
	done 3<"$source_dir/tests/determinism/cases"
}

place()
{
	case $1 in
	-) echo - ;;
	corpus/*) echo "$corpus/${1#corpus/}" ;;
	*) echo "$source_dir/$1" ;;
	esac
}

# Whether this build can run the case on this machine; if not, $missing says why.
runnable()
{
	missing=
	[ -e "$world" ] || missing='Gazebo'\''s own worlds are not here'
	[ "$name" != shapes ] || grep -q 'define HAVE_MESHES' "${BUILD_DIR:-.}/config.h" || missing='built without meshes'
	[ -z "$missing" ]
}

# compare WHAT EXPECTED FOUND: the message has the first step that differs
compare()
{
	cmp -s "$2" "$3"
	report $? "$1: $(diff "$2" "$3" 2>&1 | sed -n '2p')"
}

# Makes $reference, the run with which all others are compared, and checks that the comparison can mean something.
run_reference()
{
	reference=$scratch/$name.reference
	run "$reference" "$world" "$commands" "$steps" --hash-every 100 --secondaries 0
	report $? "$name: runs"
	[ "$(grep -c '^hash ' "$reference")" = $((steps / 100)) ]
	report $? "$name: a hash every 100 steps"
	[ "$(sed 's/.* //' "$reference" | sort -u | wc -l)" -gt 1 ]
	report $? "$name: the hashes change"
}

# holds_here FINGERPRINT: whether golden hashes of this fingerprint are to be found on this machine
holds_here()
{
	[ "$1" = "$fingerprint" ] && return
	[ "$(grep -cE "^($1|$fingerprint) " "$source_dir/tests/determinism/fingerprints")" = 2 ]
}

# On arm64, where Debian's ODE has other bits than that of x86-64: hashes of its own, of the first steps, because they
# are computed under qemu. The 18th byte of a program names its processor.
golden_steps=
if [ "$(od -An -tx1 -j18 -N1 "$troupe" 2>&1)" = ' b7' ] &&
	! holds_here "$(sed -n '1s/^# fingerprint //p' "$golden/heap")"; then
	golden=${golden}_arm64
	golden_steps=200
fi

# golden_verdict FILE FOUND: 0: the hashes found are those in the file; 1: they are not; 2: the file is of a fingerprint
# that says nothing here. A run that is shorter is compared as far as it went.
golden_verdict()
{
	holds_here "$(sed -n '1s/^# fingerprint //p' "$1" 2>&1)" || { [ -e "$1" ] && return 2; }
	sed 1d "$1" 2>/dev/null | head -n "$(wc -l <"$2")" | cmp -s - "$2"
}

compare_golden()
{
	head -n $((${golden_steps:-$steps} / 100)) "$reference" >"$scratch/first"
	golden_verdict "$golden/$name" "$scratch/first"
	case $? in
	2) skip "$name: golden hashes" "they are of another fingerprint than $fingerprint" ;;
	0) report 0 "$name: golden" ;;
	*) report 1 "$name: golden: not as in $golden/$name from step $(sed 1d "$golden/$name" | diff - "$reference" |
		sed -n '2s/^[<>] hash \([0-9]*\) .*/\1/p') on; if that is meant: make update-golden" ;;
	esac
}

# one_way OPTION...: with these options the case must equal the reference; its report is in $report
one_way()
{
	report=$scratch/report
	run "$scratch/other" "$world" "$commands" "$steps" --hash-every 100 --report "$report" "$@"
	compare "$name $*" "$reference" "$scratch/other"
}

# shorten STEPS: from here on the case and its reference have only this number of steps
shorten()
{
	[ "$1" -lt "$steps" ] || return 0
	steps=$1
	head -n $((steps / 100)) "$reference" >"$scratch/shorter" # the reference may be $scratch/kept itself
	mv "$scratch/shorter" "$scratch/kept"
	reference=$scratch/kept
}

# save_at OPTION...: saves the states of the case in a run with these options; run_reference must have been called
# before
save_at()
{
	for at in $saves; do
		[ "$at" -ge "$steps" ] || set -- "$@" --save-at "$at" "$scratch/$name.saved.$at"
	done
	one_way "$@"
}

# resume_at STEP OPTION...: resumes the state saved at this step
resume_at()
{
	at=$1
	shift
	[ "$at" -lt "$steps" ] || return 0
	awk -v at="$at" '$2 > at' "$reference" >"$scratch/rest"
	[ -s "$scratch/rest" ]
	report $? "$name resumed at $at: something is left to compare"
	timeout "$run_limit_s" "$troupe" run --resume "$scratch/$name.saved.$at" --rtf 0 -v 0 --iterations "$steps" \
		--hash-every 100 "$@" >"$scratch/other" 2>"$scratch/other.err" || sed 's/^/    /' "$scratch/other.err"
	compare "$name resumed at $at $*" "$scratch/rest" "$scratch/other"
}

# Whether the last run had as many moves and meetings as the case must show.
counts_reached()
{
	[ "$(member "$report" moves)" -ge "$moves" ] && [ "$(member "$report" meetings)" -ge "$meetings" ]
}

# The run must have had enough moves and meetings, otherwise the case shows nothing.
check_counts()
{
	found_moves=$(member "$report" moves) found_meetings=$(member "$report" meetings)
	echo "$name: $steps steps, $found_moves moves, $found_meetings meetings"
	[ "$found_moves" -ge "$moves" ]
	report $? "$name: at least $moves moves"
	[ "$found_meetings" -ge "$meetings" ]
	report $? "$name: at least $meetings contacts of models that began on different secondaries"
}

# The table, the worlds and the golden files must agree.
check_table()
{
	[ -n "$policies" ] && [ "${policies#*round-robin}" != "$policies" ]
	report $? "the policies are known: '$policies'"
	cases=$(sed '/^#/d; /^$/d' "$source_dir/tests/determinism/cases")
	names=$(echo "$cases" | awk '{ print $1 }' | sort)
	[ "$names" = "$(echo "$names" | uniq)" ]
	report $? 'no two cases of one name'
	[ "$names" = "$(ls "$golden" | sort)" ]
	report $? "each case has a golden file, each golden file a case: $(ls "$golden" | sort | tr '\n' ' ')"
	[ "$names" = "$(ls "${golden%_arm64}_arm64" | sort)" ]
	report $? "the same for arm64: $(ls "${golden%_arm64}_arm64" | sort | tr '\n' ' ')"
	for file in "$source_dir"/worlds/*.sdf "$source_dir"/worlds/*.commands; do
		echo "$cases" | awk -v file="worlds/${file##*/}" '$2 == file || $3 == file { found = 1 } END { exit !found }'
		report $? "${file##*/} is in the table"
	done
}
