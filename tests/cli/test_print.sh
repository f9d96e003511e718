#!/usr/bin/env bash
# The output of `troupe print` is the same world: printed again it is the same text, and it simulates to the same
# hashes. Uses worlds/ and, if it is beside the source, a sample of a corpus of real files.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
set -u
source=${SOURCE_DIR:?}
folder=$scratch

# hashes FILE: the hashes of 50 steps, every 10 steps
hashes()
{
	timeout 60 "$troupe" run "$1" --resource-path "$2" --iterations 50 --hash-every 10 --rtf 0 --secondaries 1 2>/dev/null |
		grep -E '^hash|[0-9a-f]{16}' | grep -v steps/s
	return "${PIPESTATUS[0]}"
}

# summary FILE: the contents that `troupe check` counts; without warnings, because ignored parts are not printed
summary()
{
	timeout 60 "$troupe" check "$1" --resource-path "$2" 2>/dev/null | sed -n 's/^.*: can be run: \(.*\), warnings: .*/\1/p'
}

compare() # FILE
{
	local file=$1 near
	near=$(dirname "$1")
	timeout 60 "$troupe" print "$file" >"$folder/printed.sdf" 2>/dev/null
	report $? "$file cannot be printed"
	timeout 60 "$troupe" print --flat "$file" >"$folder/a" 2>/dev/null
	timeout 60 "$troupe" print --flat --resource-path "$near" "$folder/printed.sdf" >"$folder/b" 2>/dev/null
	cmp -s "$folder/a" "$folder/b"
	report $? "$file: printed, it means something else"
	# a world that cannot be run cannot be compared
	timeout 60 "$troupe" check "$file" >/dev/null 2>&1 || return
	summary "$file" "$near" >"$folder/a"
	summary "$folder/printed.sdf" "$near" >"$folder/b"
	[ "$(wc -l <"$folder/a")" = 1 ] && cmp -s "$folder/a" "$folder/b"
	report $? "$file: printed, it holds something else: $(diff "$folder/a" "$folder/b")"
	hashes "$file" "$near" >"$folder/a"
	hashes "$folder/printed.sdf" "$near" >"$folder/b"
	[ -s "$folder/a" ] && cmp -s "$folder/a" "$folder/b"
	report $? "$file: printed, it simulates to other hashes"
}

for file in "$source"/worlds/*.sdf; do
	compare "$file"
done
corpus=$source/../shared/corpus
if [ -d "$corpus" ]; then
	every=$([ -n "${TROUPE_TEST_FULL:-}" ] && echo 4 || echo 12) number=0
	for file in "$corpus"/gz-distributed/*.sdf "$corpus"/gz-examples/*.sdf "$corpus"/gz-test/*.sdf; do
		number=$((number + 1))
		[ $((number % every)) = 0 ] && compare "$file"
	done
else
	skip 'real files' 'the corpus is not beside the source folder'
fi

# The comparison can fail.
sed 's|<gravity>[^<]*</gravity>|<gravity>0 0 -3</gravity>|' "$folder/printed.sdf" >"$folder/other.sdf"
hashes "$folder/printed.sdf" "$folder" >"$folder/a"
hashes "$folder/other.sdf" "$folder" >"$folder/b"
! cmp -s "$folder/a" "$folder/b"
report $? 'another gravity gives the same hashes'

totals
