# Shared by the tests of systems, which each make a world of their own: a system's memory, noise and commands must not
# depend on who simulates its model. This file sources lib.sh. The script sets:
#   world         the SDF file
#   orders        the commands to its systems; "-" for none
#   steps         the length of each run
#   hash_every    how many steps lie between two hashes that are compared
#   record_every  how many steps lie between two hashes of a recording
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
orders=-
hash_every=1
record_every=50

# plugin NAME PARAMETERS: the element of a system
plugin()
{
	echo "<plugin name='gz::sim::systems::$1' filename='x'>$2</plugin>"
}

# go OPTION...: runs all steps, with the hashes in $scratch/other
go()
{
	rm -f "$scratch/other"
	run "$scratch/all" "$world" "$orders" "$steps" --hash-every "$hash_every" "$@" || return 1
	grep '^hash' "$scratch/all" >"$scratch/other"
}

# same WHAT [EXPECTED]: $scratch/other has the hashes of EXPECTED, or of the first run
same()
{
	cmp -s "${2:-$scratch/reference}" "$scratch/other"
	report $? "$1: $(diff "${2:-$scratch/reference}" "$scratch/other" 2>&1 | sed -n '2p')"
}

# first OPTION...: the run without secondaries, each step by itself, which all other runs must repeat; its hashes are
# $scratch/reference
first()
{
	go --secondaries 0 --window 1 "$@"
	report $? "runs: $(tail -n 1 "$scratch/all.err")"
	cp "$scratch/other" "$scratch/reference"
	[ "$(wc -l <"$scratch/reference")" -ge "$((steps / hash_every))" ]
	report $? 'a hash of every step'
}

# other WHAT OPTION...: with these options, or with other $orders, the hashes must differ from those of the first run
other()
{
	what=$1
	shift
	go --secondaries 0 "$@"
	report $? "runs: $what"
	cmp -s "$scratch/reference" "$scratch/other"
	[ $? = 1 ]
	report $? "$what"
}

# matters WHAT COMMANDS: the run must differ from the first one if it has only these commands
matters()
{
	all_orders=$orders orders=$2
	other "$1 makes a difference"
	orders=$all_orders
}

# placements OPTIONS...: the same hashes with each of these, which begin with a number of secondaries
placements()
{
	for options; do
		# shellcheck disable=SC2086
		go --secondaries $options
		same "--secondaries $options"
	done
}

# resume STATE AT OPTIONS...: the same hashes after step AT when the state that was saved then goes on, with each of
# these options, which begin with a number of secondaries
resume()
{
	state=$1 at=$2
	shift 2
	awk -v at="$at" '$2 > at' "$scratch/reference" >"$scratch/rest"
	[ -s "$scratch/rest" ]
	report $? "hashes after step $at"
	for options; do
		# shellcheck disable=SC2086
		timeout "$run_limit_s" "$troupe" run --resume "$state" --rtf 0 -v 0 --iterations "$steps" \
			--hash-every "$hash_every" --secondaries $options 2>&1 | grep '^hash' >"$scratch/other"
		same "resumed at $at with --secondaries $options" "$scratch/rest"
	done
}

# save_and_resume AT...: for each of these steps: saves the state there, and resumes
save_and_resume()
{
	for save_at; do
		go --secondaries 2 --chaos 5 --save-at "$save_at" "$scratch/saved"
		same "saved at $save_at"
		resume "$scratch/saved" "$save_at" '3 --chaos 6'
	done
}

# replay RECORDING OPTIONS...: a replay finds all the hashes of a recording, with each of these options, which begin
# with a number of secondaries
replay()
{
	recording=$1
	shift
	for options; do
		# shellcheck disable=SC2086
		timeout "$run_limit_s" "$troupe" replay "$recording" -v 0 --secondaries $options >"$scratch/out" 2>&1
		report $? "replay --secondaries $options: $(tail -n 1 "$scratch/out")"
		grep -q "^$steps steps, $((steps / record_every + 1)) hashes compared: all the same\$" "$scratch/out"
		report $? "replay --secondaries $options compares all: $(tail -n 1 "$scratch/out")"
	done
}

# record_and_replay OPTIONS...: records a run, and replays it with each of these options
record_and_replay()
{
	go --secondaries 2 --chaos 8 --record "$scratch/recording" --record-every "$record_every"
	same 'recorded'
	replay "$scratch/recording" "$@"
}
