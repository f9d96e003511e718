#!/bin/sh
# Makes the worlds of worlds/generate again, with the arguments that their files name, and compares the files. It
# fails when a world was edited by hand, or when the generator changed and the worlds did not.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

made=0
for commands in "$worlds"/*.commands; do
	name=$(basename "$commands" .commands)
	arguments=$(sed -n '1s|.*Made by worlds/generate ||p' "$commands")
	[ -n "$arguments" ] || continue
	made=$((made + 1))
	# word splitting is meant: a command line
	# shellcheck disable=SC2086
	timeout "$run_limit_s" "$worlds/generate" $arguments "$scratch/$name"
	report $? "$name: worlds/generate $arguments"
	for end in sdf commands; do
		cmp "$worlds/$name.$end" "$scratch/$name.$end"
		report $? "$name.$end is as the generator makes it"
	done
done
[ "$made" -ge 5 ]
report $? "number of generated worlds: $made"
[ ! -e "$worlds/__pycache__" ]
report $? 'the folder of the worlds has no other file'
totals
