#!/bin/sh
# The tools of the tests themselves: a hang, a crash, and an end without totals must not count as success.
set -u
tests=$SOURCE_DIR/tests
passed=0
failed=0
# expect WHAT WANTED GOT
expect()
{
	if [ "$2" = "$3" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'FAILED: %s\n  wanted: %s\n  got:    %s\n' "$1" "$2" "$3"
	fi
}
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
unset TROUPE_TEST_FULL TROUPE_TEST_LONG

# result NAME RESULT LOG-TEXT: makes the files that automake leaves of a test
result() { printf ':test-result: %s\n' "$2" >"$1.trs"; printf '%s\n' "$3" >"$1.log"; }
# totals NAME...: prints the last line and the exit status of the summary over these logs
totals()
{
	"$tests/summary" "$@" >out
	status=$?
	echo "$(tail -n 1 out) / $status"
}
result good PASS '[====] Synthesis: Tested: 6 | Passing: 6 | Failing: 0 | Crashing: 0 '
result bad FAIL '[====] Synthesis: Tested: 6 | Passing: 4 | Failing: 2 | Crashing: 1 '
result unit PASS 'skipped: some files: they are not here
[====] Synthesis: Tested: 5 | Passing: 5 | Failing: 0 | Crashing: 0 '
result script PASS 'skipped: this: no such thing here
3 passed, 0 failed, 1 skipped'
result quiet PASS '3 passed, 0 failed, 1 skipped'
result uncounted PASS 'skipped: this: no such thing here
3 passed, 0 failed'
result dead FAIL 'Segmentation fault'
result silent PASS 'all is well'
result empty PASS '[====] Synthesis: Tested: 0 | Passing: 0 | Failing: 0 | Crashing: 0 '
result late FAIL '2 passed, 0 failed'
result absent SKIP 'no tool'
expect 'Criterion' '6 passed, 0 failed / 0' "$(totals good.log)"
expect 'Criterion, a crash counted once' '4 passed, 2 failed / 1' "$(totals bad.log)"
expect 'Criterion, with skips' '5 passed, 0 failed, 1 skipped / 0' "$(totals unit.log)"
expect 'script with skips' '9 passed, 0 failed, 1 skipped / 0' "$(totals good.log script.log)"
expect 'a reason for each skip' 'skipped: script: this: no such thing here' "$(totals script.log >last; grep '^skipped' out)"
expect 'a skip without a reason' '3 passed, 1 failed, 1 skipped / 1' "$(totals quiet.log)"
expect 'a skip that is not counted' '3 passed, 1 failed / 1' "$(totals uncounted.log)"
expect 'died without totals' '6 passed, 1 failed / 1' "$(totals good.log dead.log)"
expect 'ended early, quietly' '0 passed, 1 failed / 1' "$(totals silent.log)"
expect 'ran nothing' '0 passed, 1 failed / 1' "$(totals empty.log)"
expect 'failed after its totals' '2 passed, 1 failed / 1' "$(totals late.log)"
expect 'never started' '6 passed, 1 failed / 1' "$(totals good.log nowhere.log)"
expect 'skipped whole' '6 passed, 0 failed, 1 skipped / 0' "$(totals good.log absent.log)"
expect 'no tests at all' '0 passed, 0 failed / 1' "$(totals)"
expect 'the failed ones are named, with their logs' "failed: bad: 2 failed; see $PWD/bad.log
failed: dead: 1 failed, ended without totals (FAIL); see $PWD/dead.log
7 passed, 3 failed, 1 skipped" "$(totals bad.log script.log dead.log >last; sed -n '/^failed/,$p' out)"

cat >hang <<'EOF'
#!/bin/sh
# test limit: 1
sleep 60
EOF
cat >smoke <<'EOF'
#!/bin/sh
[ "$*" = --smoke ]
EOF
cat >broken <<'EOF'
#!/bin/sh
exit 3
EOF
chmod +x hang smoke broken
"$tests/limit" ./hang >said
expect 'a hang is a failure' 1 $?
expect 'a hang has a name' 'limit: ./hang was still running after 1 s' "$(head -n 1 said)"
"$tests/limit" ./broken >said
expect 'a status is handed on' 3 $?
TEST_LIMIT_S=1 "$tests/limit" sleep 60 >said
expect 'the limit can be set' 'limit: sleep was still running after 1 s' "$(head -n 1 said)"
TROUPE_TEST_FULL=1 TEST_LIMIT_S=1 "$tests/limit" sleep 60 >said
expect 'all of a test has more time' 'limit: sleep was still running after 3 s' "$(head -n 1 said)"
result slow PASS "1 passed, 0 failed
limit: took 75 s
0m0.000000s 0m0.010000s
1m2.250000s 0m0.500000s"
expect 'how long it took is shown' '1 passed 0 failed 75 s 62.8' \
	"$(totals slow.log >last; sed -n 's/^ *slow *//p' out | tr -s ' ')"
# shellcheck disable=SC2016
printf '#!/bin/sh\ni=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; echo "1 passed, 0 failed"\n' >busy
chmod +x busy
"$tests/limit" ./busy >busy.log
echo ':test-result: PASS' >busy.trs
totals busy.log >last
expect 'and how much processor time' 'time' \
	"$(awk '$1 == "busy" { print ($6 >= 0 && $6 < 900 && $8 > 0 ? "time" : $0) }' out)"
for at_a_time in 1 3; do
	EACH_JOBS=$at_a_time "$tests/each" broken hang smoke --smoke smoke >out
	expect "each fails when one fails, $at_a_time at a time" 1 $?
	expect "each counts, $at_a_time at a time" '1 passed, 3 failed' "$(tail -n 1 out)"
	expect "each names, $at_a_time at a time" \
		'FAIL: broken (status 3, N s),FAIL: hang (status 1, N s),FAIL: smoke (status 1, N s),PASS: smoke (N s)' \
		"$(grep -E '^(PASS|FAIL)' out | sed 's/[0-9]* s)/N s)/' | LC_ALL=C sort | paste -sd,)"
done
# tests of real time, which pass at the second try; one of them has found a fault
mkdir -p tests/gateway tests/determinism
for name in tests/gateway/late.sh tests/determinism/late.sh tests/gateway/fault.sh; do
	cat >"$name" <<'EOF'
#!/bin/sh
[ -e "$0.once" ] && exit 0
touch "$0.once"
case $0 in *fault.sh) echo 'SUMMARY: ThreadSanitizer: data race' ;; esac
exit 1
EOF
	chmod +x "$name"
done
EACH_JOBS=3 "$tests/each" tests/gateway/late.sh tests/determinism/late.sh tests/gateway/fault.sh >out
expect 'a test of real time gets a second try, others do not' '1 passed, 2 failed, once more, alone: tests/gateway/late.sh' \
	"$(tail -n 1 out), $(grep 'once more' out)"
for name in 1 2 3 4; do
	printf '#!/bin/sh\nexit 1\n' >"tests/gateway/$name.sh"
	chmod +x "tests/gateway/$name.sh"
done
"$tests/each" tests/gateway/[1-4].sh >out
expect 'where many fail, none gets one' '0 passed, 4 failed, 0' "$(tail -n 1 out), $(grep -c 'once more' out)"

# in processes of their own: they count for themselves, and remove their own files
cat >counts <<'EOF'
. "$SOURCE_DIR/tests/determinism/lib.sh"
need sh && need no_such_tool >"$scratch/out"
[ "$(cat "$scratch/out")" = 'FAILED: no_such_tool is missing: see the packages in bootstrap' ] && totals
EOF
expect 'a tool that is missing is a failure' '0 passed, 1 failed' "$(sh ./counts)"
cat >family <<'EOF'
. "$SOURCE_DIR/tests/determinism/lib.sh"
. "$SOURCE_DIR/tests/fault/processes.sh"
sleep 60 &
one=$!
sleep 60 &
two=$!
for child in $(children $$); do
	case $child in $one | $two) kill "$child" && echo child ;; esac
done
wait
EOF
expect 'the processes of another are found' 'child child' "$(sh ./family | paste -sd' ')"

# What tests/mutate draws: each rule finds what a person would call by its name, and nothing in an assert, in a directive or
# in what gives memory back.
cat >sample.c <<'EOF'
#define SAMPLE_MAX (4 + 1)
enum sample_kind { SAMPLE_ONE, SAMPLE_TWO };
struct sample {
	double low, high;
};
static int sample_sum(const struct sample *sample, int first, int second)
{
	int sum = first - sample_at[0];
	if (sample->low < 1.5 && first != second)
		sum = sample->high ? sample_kind(SAMPLE_ONE) : 3;
	sample_note(first, second);
	assert(sum == 6 - first);
	free(sample_at[7]);
	return sum;
}
EOF
cat >rules.py <<'EOF'
import sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import mutation_rules as rules
with open("sample.c", encoding="ascii") as file:
    source = rules.Source(file.read(), [])
[body] = source.bodies
for rule in rules.RULES:
    found = [f'[{body.text_of(change.first, change.end)} => {change.new}]' for change in rule(body, source)]
    print(rule.__name__, *found)
EOF
python3 rules.py "$tests" >out
expect 'what the rules find' 'comparison [< => <=] [< => >=] [&& => ||] [!= => ==]
sign [- => +]
index [0 => 1]
constant [1.5 => (1.5 * 2)] [3 => 4] [3 => 2]
operand [- sample_at [ 0 ] => ] [&& first != second => ] [sample -> low < 1.5 && => ]
arguments [first , second => second, first]
statement [sum = sample -> high ? sample_kind ( SAMPLE_ONE ) : 3 ; => ;] [sample_note ( first , second ) ; => ;]
early_return [sample_note => return 0; sample_note]' "$(head -n 8 out)"
for one in '3 : sample_kind ( SAMPLE_ONE )' 'low => high' 'SAMPLE_ONE => SAMPLE_TWO' 'first => second'; do
	expect "among branches and variables: $one" 1 "$(tail -n 2 out | grep -cF -e "$one]")"
done
draws() { SOURCE_DIR=${tests%/tests} "$tests/mutate" --list --module level "$@"; }
draws --seed 5 --count 4 >first
expect 'the same seed draws the same' "$(sed -n 3,4p first)" "$(draws --seed 5 --first 2 --count 2)"
expect 'and another seed does not' 0 "$(draws --seed 6 --count 4 | grep -cFf first)"
expect 'of one module' 4 "$(grep -c ': src/level/[a-z]*\.c:[0-9]*: ' first)"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
