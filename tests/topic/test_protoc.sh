#!/bin/sh
# test_protoc.sh: protobuf's own compiler reads and writes random messages of every type, as text and as bytes, and both
# are what troupe reads and writes. It encodes with the descriptors that troupe gives out, and decodes with the .proto
# files. Skipped where there is no protoc (Debian: protobuf-compiler).
# optional commands: protoc
set -u
passed=0
failed=0
if ! command -v protoc >/dev/null; then
	echo "skipped: messages beside protoc's: no protoc here"
	echo '0 passed, 0 failed, 1 skipped'
	exit 0
fi
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
messages=$BUILD_DIR/tests/topic/messages
cd "$SOURCE_DIR/src" || exit 1
seeds=1
[ -z "${TROUPE_TEST_FULL:-}" ] || seeds='1 2 3 4 5 6'

# ends_well WHAT FILE: the file has no line
ends_well()
{
	if [ -s "$2" ]; then
		failed=$((failed + 1))
		echo "FAILED: seed $seed: $1"
		head -n 5 "$2"
	else
		passed=$((passed + 1))
	fi
}

for seed in $seeds; do
	"$messages" make "$seed" "$folder" >"$folder/types" || exit 1
	: >"$folder/encode"
	while read -r type; do
		protoc --descriptor_set_in="$folder/$type.files" --encode="$type" <"$folder/$type.text" 2>&1 >"$folder/theirs" |
			grep -v 'is unused' >>"$folder/encode"
		cmp -s "$folder/theirs" "$folder/$type.bytes" || echo "$type: other bytes" >>"$folder/encode"
		protoc --decode="$type" topic/*.proto <"$folder/$type.bytes" >"$folder/$type.read" 2>&1
	done <"$folder/types"
	ends_well 'protoc makes other bytes of our text' "$folder/encode"
	"$messages" same "$folder" >"$folder/same"
	ends_well 'the text that protoc prints means another message' "$folder/same"
done
types=$(wc -l <"$folder/types")
echo "$types types"
[ "$types" -gt 100 ] || failed=$((failed + 1))
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
