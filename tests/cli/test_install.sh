#!/bin/sh
# Installs into a temporary folder, and looks for every file. Compiles, links and runs programs against the installed
# files, the examples among them, with the flags of the installed pkg-config file. Then uninstalls: nothing may be
# left. It fails when a file is missing from the lists of `make install`.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
set -u
# The make that runs the tests is another one: this make must not use its job slots.
unset MAKEFLAGS MFLAGS MAKELEVEL
root=$scratch/root
mkdir "$root"
make -s -C "$BUILD_DIR" install DESTDIR="$root" >"$root/log" 2>&1
status=$?
report $status 'make install'
[ $status = 0 ] || cat "$root/log"
rm "$root/log"

# installed NAME: the path of an installed file; it is searched for, so that the prefix and the multiarch folder do not
# matter
installed() { find "$root" -path "*/$1" | head -n 1; }
present()
{
	[ -n "$(installed "$1")" ]
	report $? "$1 is not installed"
}
present lib/pkgconfig/troupe.pc
present libtroupe.so
present share/bash-completion/completions/troupe
# the pages, in the same folders, so that their links lead to files
(cd "$SOURCE_DIR/src/doc" && find . -name '*.md' | sed 's,^\./,,' | sort) >"$root/pages"
while read -r page; do
	present "share/doc/troupe/$page"
done <"$root/pages"
pages=$(dirname "$(installed share/doc/troupe/policy.md)")
(cd "$pages" && find . -name '*.md' | sed 's,^\./,,' | sort) | cmp -s - "$root/pages"
report $? 'other pages are installed than those of src/doc'
while read -r page; do
	sed -n 's/](\([^)#:]*\.md\))/\n>\1\n/gp' "$pages/$page" | sed -n 's/^>//p' | while read -r link; do
		[ -f "$(dirname "$pages/$page")/$link" ] || echo "$page: $link"
	done
done <"$root/pages" >"$root/broken"
[ ! -s "$root/broken" ]
report $? "links of pages that lead to no page: $(cat "$root/broken")"
rm -f "$root/pages" "$root/broken"
for header in "$SOURCE_DIR"/include/troupe/*.h; do
	present "include/troupe/${header##*/}"
done
for page in "$SOURCE_DIR"/src/doc/man/*.[1-9]; do
	present "man${page##*.}/${page##*/}"
done
for world in "$SOURCE_DIR"/worlds/*.sdf "$SOURCE_DIR"/worlds/*.commands; do
	[ ! -e "$world" ] || present "share/troupe/worlds/${world##*/}"
done
find "$root" -name '*_core*' | grep .
[ $? = 1 ]
report $? 'the core library is not for others, but is installed'

pc=$(installed lib/pkgconfig/troupe.pc)
lib=${pc%/pkgconfig/troupe.pc}
PKG_CONFIG_PATH=${pc%/troupe.pc}
PKG_CONFIG_SYSROOT_DIR=$root
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
cat >"$root/user.c" <<'EOF'
#include <troupe/base.h>

#include <stdio.h>

int main(void)
{
	return printf("%s\n", troupe_version()) < 0;
}
EOF
# word splitting is meant: command lines
# shellcheck disable=SC2086,SC2046
$TEST_CC "$root/user.c" -o "$root/user" $(pkg-config --cflags --libs troupe)
report $? 'a program that uses the installed library does not build'
version=$(pkg-config --modversion troupe)
said=$(LD_LIBRARY_PATH="$lib" "$root/user")
[ -n "$said" ] && [ "$said" = "$version" ]
report $? "the program says version '$said', troupe.pc '$version'"
if [ -e "$TROUPE" ]; then
	said=$("$(installed bin/troupe)" --version)
	case $said in
	*"$version"*) report 0 '' ;;
	*) report 1 "the installed troupe --version says '$said', troupe.pc '$version'" ;;
	esac
fi

# The installed worlds are found by name: under DESTDIR, and in a tree that was moved; worlds of the build tree are not
# found. named PROGRAM WANT: a world by its name, from another folder; WANT is 0 or 1
named()
{
	(cd / && env -u GZ_SIM_RESOURCE_PATH -u SDF_PATH -u IGN_GAZEBO_RESOURCE_PATH \
		timeout 60 "$1" run warehouse --commands warehouse --iterations 20 >"$root/log" 2>&1)
	[ $? = "$2" ]
	report $? "$1 run warehouse: expected status $2: $(head -n 1 "$root/log")"
	rm -f "$root/log"
}
program=$(installed bin/troupe)
if [ -e "$TROUPE" ]; then
	named "$program" 0
	cp -r "${program%/bin/troupe}" "$root/moved"
	named "$root/moved/bin/troupe" 0
	mv "$root/moved/share/troupe" "$root/moved/share/none"
	[ -e "${program#"$root"}" ] || named "$root/moved/bin/troupe" 1
	rm -r "$root/moved"
fi

# The Python module finds its library and its worlds beside it, here too, where the tree lies under DESTDIR. Under a
# sanitizer Python would need the sanitizer's library first: tests/python/test_python.sh does that.
python_folder=$(sed -n 's/^pythondir = //p' "$BUILD_DIR/Makefile")
case $python_folder,$TEST_CC in
no,* | *sanitize=*) ;;
*)
	present "${python_folder##*/}/troupe/__init__.py"
	said=$(cd / && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$(dirname "$(dirname "$(installed "${python_folder##*/}/troupe/__init__.py")")") timeout 60 \
		python3 -c 'import troupe; w = troupe.World("shapes"); w.step(); print(troupe.version(), w.steps)' 2>&1)
	[ "$said" = "$version 1" ]
	report $? "the installed Python module says '$said'"
	;;
esac

# every header by itself, twice, as strict C and as C++
cflags=$(pkg-config --cflags troupe)
for header in "$SOURCE_DIR"/include/troupe/*.h; do
	name=troupe/${header##*/}
	printf '#include <%s>\n#include <%s>\n' "$name" "$name" >"$root/header.c"
	# shellcheck disable=SC2086
	gcc -std=c11 -x c -pedantic -Wall -Wextra -Wconversion -Werror -fsyntax-only $cflags "$root/header.c" >"$root/log" 2>&1
	report $? "$name alone, as C: $(cat "$root/log")"
	# shellcheck disable=SC2086
	g++ -std=c++11 -x c++ -pedantic -Wall -Wextra -Wconversion -Werror -fsyntax-only $cflags "$root/header.c" >"$root/log" 2>&1
	report $? "$name alone, as C++: $(cat "$root/log")"
done

# a program in C++ finds the same functions
cat >"$root/user.cc" <<'EOF'
#include <troupe/command.h>
#include <troupe/network.h>
#include <troupe/record.h>
#include <troupe/report.h>
#include <troupe/server.h>
#include <troupe/world.h>

int main()
{
	troupe_server_def def = troupe_server_def_default();
	troupe_server *server = nullptr;
	troupe_error error;
	def.world_path = "text";
	def.world_text = "<sdf version='1.9'><world name='w'><model name='m'><link name='l'/></model></world></sdf>";
	if (troupe_server_create(&def, &server, &error))
		return 1;
	troupe_model model = troupe_find_model(server, 0, "m");
	troupe_twist twist = {{1, 0, 0}, {0, 0, 0}};
	troupe_model_state state;
	bool good = !troupe_command_velocity(server, nullptr, model, &twist, nullptr, &error) &&
		!troupe_server_step(server, 10, &error) && troupe_get_model(server, model, &state) && state.pose.x > 0;
	troupe_report *report = troupe_server_report(server);
	good = good && report->steps == 10;
	troupe_report_free(report);
	troupe_server_destroy(server);
	return !good;
}
EOF
# shellcheck disable=SC2086,SC2046
g++ -std=c++11 -pedantic -Wall -Wextra -Werror $cflags -c "$root/user.cc" -o "$root/user.o" &&
	$TEST_CC "$root/user.o" -o "$root/user" $(pkg-config --libs troupe) &&
	LD_LIBRARY_PATH="$lib" timeout 60 "$root/user"
report $? 'a program in C++'

# A program with an ODE of its own: its random numbers and its steps are the same as without troupe, and troupe's run
# has the same hash as without the program's ODE.
cat >"$root/own.c" <<'EOF'
#include <inttypes.h>
#include <ode/ode.h>
#include <stdio.h>
#include <string.h>
#include <troupe/server.h>

enum { STEPS = 200, LINKS = 40 };

static void on_hash(void *ctx, uint64_t step, uint64_t hash)
{
	(void)ctx;
	printf("hash %" PRIu64 " %016" PRIx64 "\n", step, hash);
}

struct result {
	int drawn[STEPS];
	unsigned long seed;
	dReal end[3];
};

/* A chain for which QuickStep draws random numbers. The server, if there is one, takes a step after each of its steps. */
static struct result swing(struct troupe_server *server)
{
	struct result result;
	dWorldID world = dWorldCreate();
	dBodyID last = 0;
	memset(&result, 0, sizeof result);
	dRandSetSeed(42);
	dWorldSetGravity(world, 0, 1, -9.8);
	for (int i = 0; i < LINKS; i++) {
		dBodyID body = dBodyCreate(world);
		dJointID joint = dJointCreateBall(world, 0);
		dBodySetPosition(body, 1 + i, 0, 0);
		dJointAttach(joint, body, last);
		dJointSetBallAnchor(joint, 0.5 + i, 0, 0);
		last = body;
	}
	for (int i = 0; i < STEPS; i++) {
		dWorldQuickStep(world, 0.01);
		result.drawn[i] = dRandInt(1 << 20);
		if (server && troupe_server_step(server, 1, NULL))
			printf("a step failed\n");
	}
	result.seed = dRandGetSeed();
	memcpy(result.end, dBodyGetPosition(last), sizeof result.end);
	dWorldDestroy(world);
	return result;
}

int main(int argc, char **argv)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	dInitODE2(0);
	struct result alone = swing(NULL);
	if (alone.drawn[0] == alone.drawn[1])
		printf("dRandInt() is not ODE's own\n");
	def.world_path = argv[argc - 1];
	def.secondaries = 2;
	def.pace = TROUPE_PACE_FACTOR;
	def.hash_every = STEPS;
	def.on_hash = on_hash;
	if (troupe_server_create(&def, &server, NULL))
		return 1;
	struct result beside = swing(server);
	troupe_server_destroy(server);
	printf("own %s\n", memcmp(&alone, &beside, sizeof alone) ? "disturbed" : "the same");
	return 0;
}
EOF
# own WHAT LIBRARY...
own()
{
	what=$1
	shift
	# shellcheck disable=SC2046
	$TEST_CC $(pkg-config --cflags troupe) "$root/own.c" -o "$root/own" "$@" -pthread &&
		LD_LIBRARY_PATH="$lib" timeout 100 "$root/own" "$SOURCE_DIR/worlds/heap.sdf" >"$root/own.out"
	report $? "a program with an ODE of its own, $what"
	cmp -s "$root/own.want" "$root/own.out"
	report $? "a program with an ODE of its own, $what: $(cat "$root/own.out"), expected $(cat "$root/own.want")"
}
if grep -q 'define ODE_IS_PRIVATE' "$BUILD_DIR/config.h" && [ -e "$TROUPE" ]; then
	"$TROUPE" run "$SOURCE_DIR/worlds/heap.sdf" --secondaries 0 --iterations 200 --hash-every 200 --rtf 0 -v 0 >"$root/own.want"
	echo 'own the same' >>"$root/own.want"
	# the sysroot is for troupe, which was installed there, not for ODE
	with=$(pkg-config --libs troupe) ode=$(env -u PKG_CONFIG_SYSROOT_DIR pkg-config --libs ode)
	# shellcheck disable=SC2086
	own 'loaded after troupe' $with $ode
	# shellcheck disable=SC2086
	own 'loaded before troupe' $ode $with
	# shellcheck disable=SC2046,SC2086
	own 'linked statically' "$(env -u PKG_CONFIG_SYSROOT_DIR pkg-config --variable=libdir ode)/libode.a" $with \
		$(cat "$BUILD_DIR/private_ode/libs") -lm
fi
rm -f "$root"/own*

worlds=$(installed share/troupe/worlds)
said=$(pkg-config --variable=worldsdir troupe)
[ "${said#"$root"}" = "${worlds#"$root"}" ]
report $? "worldsdir of troupe.pc: $said, expected $worlds"

# example NAME ARGUMENT...: builds the example with the command in its head, and runs it; its output is in
# $root/NAME.out
example()
{
	# shellcheck disable=SC2046
	$TEST_CC -Wall -Wextra -Werror "$SOURCE_DIR/tests/examples/$1.c" -o "$root/example" \
		$(pkg-config --cflags --libs troupe) -lm -pthread
	report $? "example $1 does not build"
	name=$1
	shift
	LD_LIBRARY_PATH="$lib" timeout 100 "$root/example" "$@" >"$root/$name.out" 2>&1
	report $? "example $name: $(tail -n 3 "$root/$name.out")"
}
example square "$worlds"
# four corners, one after the other; at the end the cart is at the last one
awk '/corner/ { n++; bad += $4 != n ":" || $5 > 0.02; next } { x = $4; y = $6; bad += $7 > 0.9 }
	END { exit !(n == 4 && !bad && x * x + y * y < 0.1) }' "$root/square.out"
report $? "example square: $(cat "$root/square.out")"
example branch "$worlds"
# the best trial is the one with the least distance; the cart goes on from its state
awk '/^turning/ { n++; if (n == 1 || $5 < least) least = $5 } /^best/ { best = $2 }
	END { exit !(n == 9 && best == least && best < 0.5) }' "$root/branch.out"
report $? "example branch: $(cat "$root/branch.out")"
for i in 1 2; do
	example pattern "$worlds"
	mv "$root/pattern.out" "$root/pattern$i.out"
done
grep -q '^hash [0-9a-f]\{16\}$' "$root/pattern1.out" && cmp -s "$root/pattern1.out" "$root/pattern2.out"
report $? "example pattern: two hashes: $(cat "$root"/pattern?.out)"
example watch "$worlds/hill.sdf" 3
# the last lines are those of the end; by then rolling models touch slopes
awk '/^world hill: 46 models, 22 of them/ { worlds++ } /contacts$/ { time = $1; contacts = $3 } /touches/ { touches++ }
	/m.s$/ { moves++ } END { exit !(worlds == 1 && time == 3 && contacts && touches && moves) }' "$root/watch.out"
report $? "example watch: $(tail -n 30 "$root/watch.out")"
if grep -q 'define HAVE_EMBREE' "$BUILD_DIR/config.h"; then
	example avoid "$worlds/lidar.sdf" 5
	grep -q '^[0-9]* scans, 0 contacts$' "$root/avoid.out"
	report $? "example avoid: $(cat "$root/avoid.out")"
fi
# plug-ins, which need the headers alone
plugins=$root/plugins
mkdir "$plugins"
# shellcheck disable=SC2086
for name in follow_wall tilt rain; do
	gcc -std=c11 -pedantic -Wall -Wextra -Wconversion -Werror -shared -fPIC \
		"$SOURCE_DIR/tests/examples/plugins/$name.c" -o "$plugins/lib$name.so" $cflags >"$root/log" 2>&1
	report $? "plug-in $name does not build: $(cat "$root/log")"
done
# shellcheck disable=SC2086
g++ -std=c++11 -pedantic -Wall -Wextra -Werror -shared -fPIC "$SOURCE_DIR/tests/examples/plugins/tether.cc" \
	-o "$plugins/libtether.so" $cflags >"$root/log" 2>&1
report $? "plug-in tether does not build: $(cat "$root/log")"
# the plug-in of src/doc/tutorial/plugin.md, and its world, as they stand there
for name in lift.c lift.sdf; do
	awk -v begin="<!-- file: $name -->" '$0 == begin { inside = 1; next } inside && /^```/ { if (++fences == 2) exit; next } inside' \
		"$SOURCE_DIR/src/doc/tutorial/plugin.md" >"$plugins/$name"
done
# shellcheck disable=SC2086
gcc -std=c11 -pedantic -Wall -Wextra -Wconversion -Werror -shared -fPIC "$plugins/lift.c" -o "$plugins/liblift.so" $cflags \
	>"$root/log" 2>&1
report $? "plug-in lift does not build: $(cat "$root/log")"
if [ -e "$TROUPE" ]; then
	timeout 100 "$TROUPE" run "$plugins/lift.sdf" --plugin-path "$plugins" --until 1 --rtf 0 -v 0 --log "$plugins/lift.csv" \
		>"$root/log" 2>&1 && tail -n 1 "$plugins/lift.csv" | awk -F, '{ exit !($10 > 1.09 && $10 < 1.11) }'
	report $? "plug-in lift: $(cat "$root/log" "$plugins/lift.csv" | tail -n 3)" # 2.2 m/s2 for 1 s
	timeout 100 "$TROUPE" check --plugin "$plugins/liblift.so" "$plugins/lift.sdf" >"$root/log" 2>&1
	report $? "plug-in lift: $(cat "$root/log")"
fi
if [ -e "$TROUPE" ] && grep -q 'define HAVE_EMBREE' "$BUILD_DIR/config.h"; then
	echo '100 /world/wall/set_velocity name: "balloon" linear {y: 1}' >"$plugins/commands"
	wall()
	{
		timeout 200 "$TROUPE" run "$SOURCE_DIR/tests/examples/plugins/wall.sdf" --plugin-path "$plugins" --rtf 0 \
			--commands "$plugins/commands" -v 0 "$@" >"$root/wall.out" 2>&1
		report $? "the world with plug-ins, $*: $(tail -n 3 "$root/wall.out")"
	}
	wall --until 60 --log "$plugins/log.csv" --report "$plugins/report" --secondaries 2
	# the cart goes round the room 1 m from the walls: the nearest of the four, at x = +-6 and y = +-4
	awk -F, '$4 == "model" && $5 == "cart" && $2 > 10 {
			dx = 6 - ($8 < 0 ? -$8 : $8); dy = 4 - ($9 < 0 ? -$9 : $9); d = dx < dy ? dx : dy
			if (!n++ || d < least) least = d; if (d > most) most = d; if ($9 > 2) far++ }
		END { printf "%g to %g m from the wall\n", least, most; exit !(n > 100 && far && least > 0.75 && most < 1.25) }' \
		"$plugins/log.csv" >"$root/log"
	report $? "plug-in follow_wall: $(cat "$root/log")"
	# 1 kg on a spring of 100 N/m, pushed at 1 m/s: it swings by v sqrt(m / k) = 0.1 m
	awk -F, '$4 == "model" && $5 == "balloon" { y = $9 < 0 ? -$9 : $9; if (y > most) most = y; n++ }
		END { print most; exit !(n && most > 0.097 && most < 0.101) }' "$plugins/log.csv" >"$root/log"
	report $? "plug-in tether: swings by $(cat "$root/log") m, expected 0.1"
	# a box each 0.5 s, from 0 s on, and at most 10 at one time
	grep -q '"created": *120,' "$plugins/report" && grep -q '"removed": *110,' "$plugins/report"
	report $? "plug-in rain: $(grep 'created\|removed' "$plugins/report")"
	for options in '--secondaries 0' '--secondaries 3 --chaos 4' '--secondaries 2 --transport tcp --network-stale-ms 60000'; do
		# shellcheck disable=SC2086
		wall --iterations 3000 --hash-every 1000 $options
		[ -e "$plugins/hashes" ] || cp "$root/wall.out" "$plugins/hashes"
		cmp -s "$root/wall.out" "$plugins/hashes"
		report $? "plug-ins: other hashes with $options"
	done
fi
rm -r "$plugins"
rm -f "$root/header.c" "$root/user.cc" "$root/user.o" "$root/example" "$root"/*.out "$root/log"

rm -f "$root/user" "$root/user.c"
make -s -C "$BUILD_DIR" uninstall DESTDIR="$root" >/dev/null
report $? 'make uninstall'
find "$root" ! -type d | grep .
[ $? = 1 ]
report $? 'make uninstall leaves files behind'

totals
