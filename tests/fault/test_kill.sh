#!/bin/sh
# A process that is killed while it saves leaves a whole state: the old one or the new one.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

times=$(amount 20 20 40 100)
state=$scratch/state
"$troupe" run "$worlds/warehouse.sdf" --rtf 0 -v 0 --iterations 1 --save-at 1 "$state"
report $? 'saves'
i=0
killed=0
longer=1 # a busy machine needs more time for a step
while [ $i -lt $times ]; do
	"$troupe" run --resume "$state" --rtf 0 -v 0 --save-every 1 "$state" >"$scratch/out" 2>&1 &
	pid=$!
	sleep "$(awk "BEGIN { srand($i); printf \"%.3f\", (0.04 + rand() * 0.2) * $longer }")"
	kill -9 $pid && killed=$((killed + 1))
	wait $pid 2>"$scratch/wait"
	"$troupe" run --resume "$state" --rtf 0 -v 0 --iterations 1 --report "$scratch/report" >"$scratch/out" 2>"$scratch/err"
	report $? "resumes after kill $i: $(head -n 1 "$scratch/err")"
	[ "$(member "$scratch/report" iterations)" -gt 1 ] || [ $longer -ge 64 ] || longer=$((longer * 2))
	i=$((i + 1))
done
[ "$killed" = "$times" ]
report $? "$killed of $times runs could be killed"
"$troupe" run --resume "$state" --rtf 0 -v 0 --iterations 1 --report "$scratch/report"
[ "$(member "$scratch/report" iterations)" -gt 1 ]
report $? "states were saved meanwhile: step $(member "$scratch/report" iterations)"
totals
