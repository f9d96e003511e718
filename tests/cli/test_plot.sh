#!/bin/sh
# Shows what `troupe plot` draws of logs and other tables, that the SVG is well-formed XML, and which input is
# refused.
. "${SOURCE_DIR:-.}/tests/cli/lib.sh"

# Prints the size of an SVG, the texts that it shows, and for each line its class, its number of points and its extent.
# Fails if the SVG is not well-formed.
cat >look.py <<'END_OF_LOOK'
import re, sys
import xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
space = "{http://www.w3.org/2000/svg}"
assert root.tag == space + "svg", root.tag
width, height = float(root.get("width")), float(root.get("height"))
print("size %g %g" % (width, height))
for text in root.iter(space + "text"):
    print("text", text.text)
    assert 0 <= float(text.get("x")) <= width and 0 <= float(text.get("y")) <= height
for path in root.iter(space + "path"):
    if not path.get("class").startswith("line l"):
        continue
    title = path.find(space + "title")
    if title is None:
        continue  # of the legend
    points = [tuple(map(float, p.split())) for p in re.findall(r"[ML]([-\d.]+ [-\d.]+)", path.get("d"))]
    assert all(-1 <= x <= width + 1 and -1 <= y <= height + 1 for x, y in points)
    print("%s: %s: points: %d, parts: %d, x %g to %g, top %g" % (path.get("class"), title.text, len(points),
        path.get("d").count("M"), points[0][0], points[-1][0], min(y for x, y in points)))
END_OF_LOOK

# draws FILE OPTION...: status 0, nothing on standard error, and an SVG in `svg`, described in `shown`
draws()
{
	timeout 60 "$troupe" plot "$@" >svg 2>err
	status=$?
	[ $status = 0 ] && [ ! -s err ] && python3 look.py svg >shown 2>err
	report $? "status $status: plot $*"
}

# has COUNT PATTERN: `shown` has COUNT lines with the pattern
has()
{
	[ "$(grep -cE -e "$2" shown)" = "$1" ]
	report $? "not $1 times /$2/: $(tr '\n' '|' <shown | cut -c1-300)"
}

# refused PATTERN ARGUMENT...: status 1, one line, no chart
refused()
{
	pattern=$1
	shift
	timeout 60 "$troupe" plot "$@" >out 2>err
	status=$?
	[ $status = 1 ] && [ ! -s out ] && [ "$(wc -l <err)" = 1 ] && grep -qE -e "^troupe plot: $pattern" err
	report $? "status $status, not 1 with /$pattern/: plot $*"
}

# --- a log ---------------------------------------------------------------------------------------------------------
awk 'BEGIN {
	print "step,time,world,kind,model,name,axis,x,y,z,position,velocity,depth,model2,name2,secondary"
	for (s = 0; s <= 20000; s += 10) {
		t = s / 1000
		for (i = 0; i < 10; i++)
			printf "%d,%.3f,w,model,cart_%d,,,%.6f,%.6f,0.1,,,,,,%d\n", s, t, i, i * t, i + (s == 5550 && i == 3 ? 9 : 0), i % 2
		printf "%d,%.3f,w,joint,arm,elbow,1,,,,%.6f,%.6f,,,,\n", s, t, sin(t), cos(t)
		printf "%d,%.3f,w,link,arm,hand,,1,2,%.6f,,,,,,\n", s, t, sin(t)
		if (s >= 6000 && s <= 7000 || s >= 15000)
			printf "%d,%.3f,w,contact,arm,hand::c,,1,2,3,,,%.6f,\"floor, <big>\",l::c,\n", s, t, 0.001
	}
}' >log.csv
: >err
draws log.csv
has 1 '^text log.csv$'
has 1 '^text 8 of 10, those that vary most'
has 1 '^text x \(m\)$'
has 1 '^text y \(m\)$'
has 1 '^text time \(s\)$'
has 16 '^line'
has 2 '^line l[0-7]: cart_3: '
has 0 'cart_0|cart_1:|elbow|hand'
[ "$(sed -n 's/^text \(cart_[0-9]\)$/\1/p' shown | tr '\n' ' ')" = 'cart_2 cart_3 cart_4 cart_5 cart_6 cart_7 cart_8 cart_9 ' ]
report $? 'the legend is not in the order of the file'
grep -q 'prefers-color-scheme:dark' svg
report $? 'no dark colours'
draws log.csv --what 'cart_3'
has 1 '^text log.csv: cart_3$'
has 2 '^line l0: cart_3: '
# 2001 samples, at most four points for a pixel, and the spike of one sample is the highest point
draws log.csv --what cart_3,y --width 500
has 1 '^line'
sed -n 's/.*points: \([0-9]*\),.*top \(.*\)/\1 \2/p' shown | awk '$1 > 4 * 500 || $2 > 100 { exit 1 }'
report $? "the spike of one sample is not drawn, or too much is: $(tail -n 1 shown)"
draws log.csv --what 'cart_*' --x x
has 1 '^text y \(m\)$'
has 1 '^text x \(m\)$'
has 8 '^line'
[ "$(grep -c 'class="begin' svg)" = 8 ] && [ "$(grep -c 'class="end' svg)" = 8 ]
report $? 'a map without where each began and ended'
draws log.csv --what joint
has 1 '^text position \(rad or m\)$'
has 1 '^line l0: arm/elbow: '
draws log.csv --what joint:arm/elbow,position,velocity
has 2 '^line l0: arm/elbow: '
draws log.csv --what arm
has 1 '^line l0: arm/elbow: '
draws log.csv --what contact
has 1 '^line l0: arm/hand::c on floor, <big>/l::c: points: [0-9]+, parts: 2,'
draws log.csv --what 'secondary:cart_?,secondary'
has 8 '^line l[0-7]: cart_'
draws log.csv --what 'model:cart_2,link:arm,z' --title 'a <title> & "more"'
has 1 '^text a <title> & "more"$'
has 1 '^line l0: model cart_2: '
has 1 '^line l1: link arm/hand: '
draws log.csv --what joint,position --from 5 --to 6
has 1 '^text 5.2$'
has 0 '^text (4|7)'
draws log.csv --width 2000 --height 900
has 1 '^size 2000 900$'
draws log.csv --x step
has 1 '^text step$'
"$troupe" plot log.csv --out chart.svg >out 2>err && "$troupe" plot log.csv >svg && cmp -s chart.svg svg && [ ! -s out ]
report $? '--out FILE'
"$troupe" plot /dev/stdin <log.csv >again 2>err && sed 's/stdin/log.csv/g' again | cmp -s - svg
report $? 'a log on standard input'
cat log.csv | "$troupe" plot --title log.csv /dev/stdin >again 2>err && cmp -s again svg
report $? 'a log through a pipe'

# worlds and axes are named where they differ, and only there
awk 'BEGIN {
	print "step,time,world,kind,model,name,axis,x,position"
	for (s = 0; s <= 100; s += 10) {
		printf "%d,%.3f,w,model,ball,,,%d,\n%d,%.3f,v,model,ball,,,%d,\n", s, s / 1000, s, s, s / 1000, 2 * s
		printf "%d,%.3f,w,joint,arm,hand,0,,%d\n%d,%.3f,w,joint,arm,hand,1,,%d\n", s, s / 1000, s, s, s / 1000, 3 * s
	}
}' >two.csv
draws two.csv --what ball,x
has 1 '^line l0: w: ball: '
has 1 '^line l1: v: ball: '
draws two.csv --what arm,position
has 1 '^line l0: arm/hand axis 0: '
has 1 '^line l1: arm/hand axis 1: '

# --- other tables --------------------------------------------------------------------------------------------------
printf 'step,kind,name,ns\n0,performer,a,10\n0,level,h,0\n100,performer,a,20\n100,level,h,0\n' >costs.csv
draws costs.csv --what performer:a
has 1 '^line l0: a: points: 2,'
has 1 '^text ns$'
printf 'week,apples,note,pears\n1,3,dry,5\n2,,wet,6\n3,4,,7\n' >plain.csv
draws plain.csv
has 1 '^text apples$'
has 1 '^text pears$'
has 1 '^text week$'
has 2 '^line'
printf 'time,v\n5,7\n' >one.csv
draws one.csv
has 1 '^line l0: : points: 1,|^line l0: None: points: 1,'
printf '\357\273\277time,v\r\n1,"2"\r\n3,4\r\n' >crlf.csv
draws crlf.csv
has 1 'points: 2,'
printf 'time,v\n1,2\n2,3\n3' >cut.csv
timeout 60 "$troupe" plot cut.csv >svg 2>err
[ $? = 0 ] && grep -q '^troupe plot: cut.csv:4: the file is cut off in this line, which is left out$' err && python3 look.py svg >shown
report $? 'a file that is cut off'
has 1 'points: 2,'
# names may be anything; the picture stays XML
printf 'time,kind,model,x,y\n1,model,"<&>""\001\177\377\303\251]]>",1,2\n2,model,"<&>""\001\177\377\303\251]]>",2,1\n' >names.csv
draws names.csv
has 2 '^line l0: <&>"\\x01\\x7f\\xff.*\]\]>: points: 2,'

# --- what is refused -----------------------------------------------------------------------------------------------
: >empty.csv
# six columns fit into one chart, but no more
echo 'step,a,b,c,d,e,f,g' >seven.csv
seq 20 | awk '{ print $1 ",1,2,3,4,5," $1 ",7" }' >>seven.csv
draws seven.csv --what a,b,c,d,e,f
has 6 '^line'
refused '--what: more than 6 columns' seven.csv --what a,b,c,d,e,f,g
refused 'empty.csv:1: nothing in it' empty.csv
refused 'missing.csv: cannot open: No such file' missing.csv
refused '.: is a folder' .
printf 'time,v\n' >head.csv
refused 'head.csv: no row after the first line$' head.csv
printf 'time,v\n1,2\n1,2,3\n' >more.csv
refused 'more.csv:3: more cells than the 2 columns of the first line$' more.csv
printf 'time,v\n1\n1,2\n' >fewer.csv
refused 'fewer.csv:2: fewer cells' fewer.csv
printf 'time,kind,model,x,y\n1,model,a,1,2\n2,model,a,abc,2\n' >word.csv
refused "word.csv:3: column 'x': 'abc': expected a number$" word.csv
printf 'time,kind,model,x,y\n1,model,a,1,2\n2,model,a,1e999,2\n' >huge.csv
refused "huge.csv:3: column 'x': '1e999': expected a number from -1e100 to 1e100$" huge.csv
printf 'time,v\nnoon,2\n' >noon.csv
refused "noon.csv:2: column 'time': 'noon': expected a number$" noon.csv
printf 'time,v\n1,\0002\n' >zero.csv
refused 'zero.csv:2: a zero byte' zero.csv
printf 'time;v\n1;2\n' >semicolon.csv
refused 'semicolon.csv:1: columns between semicolons: expected commas$' semicolon.csv
printf 'time,v\n1,"2\n' >quote.csv
head -c 1200000 /dev/zero | tr '\0' x >>quote.csv
refused 'quote.csv:2: a quote that is not closed within 1 MiB$' quote.csv
refused "log.csv: no numbers that --what 'nobody' chooses$" log.csv --what nobody
refused "log.csv:1: no column 'nope' for --x$" log.csv --x nope
refused 'log.csv: no row between --from and --to$' log.csv --from 100
refused './log.csv: cannot write: it is the file of the log and of --out' log.csv --out ./log.csv
refused 'no/chart.svg: cannot write: No such file' log.csv --out no/chart.svg
cmp -s chart.svg svg || [ -s chart.svg ]
report $? 'a chart that was there is gone'
timeout 60 "$troupe" plot --what 'a,,b' log.csv >out 2>err
[ $? = 2 ] && grep -q '^troupe plot: --what: an empty item' err
report $? 'a pattern that is wrong usage'
awk 'BEGIN { print "time,kind,model,x,y"; for (i = 0; i <= 100000; i++) print "1,model,m" i ",1,2" }' >crowd.csv
refused 'crowd.csv:100002: more than 100000 entities: choose some with --what$' crowd.csv
draws crowd.csv --what 'm1?'
has 1 '^text 8 of 10, '
# memory is bounded, however many rows there are
awk 'BEGIN { print "time,v"; for (i = 0; i < 1000000; i++) print i "," i % 97 }' >long.csv
case ${TEST_CC:-} in
*-fsanitize=*) ;; # a sanitizer needs more memory
*)
	(ulimit -v 400000 && timeout 60 "$troupe" plot long.csv >svg 2>err) && python3 look.py svg >shown
	report $? 'a million rows in 400 MB of address space'
	;;
esac
if [ -c /dev/full ]; then
	"$troupe" plot log.csv >/dev/full 2>err
	[ $? = 1 ] && grep -q ': standard output: cannot write: No space left on device$' err
	report $? 'a full device'
fi

totals
