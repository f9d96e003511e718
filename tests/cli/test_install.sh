#!/bin/sh
# Installs into a temporary folder; looks for every file; compiles, links and runs a program against what lies there, with
# the flags of the installed pkg-config file; uninstalls, and nothing may be left.
set -u
# this make is not the one that runs the tests: it must not reach for that one's job slots
unset MAKEFLAGS MFLAGS MAKELEVEL
passed=0
failed=0
report()
{
	if [ "$1" = 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAILED: $2"
	fi
}

root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
make -s -C "$BUILD_DIR" install DESTDIR="$root" >"$root/log" 2>&1
status=$?
report $status 'make install'
[ $status = 0 ] || cat "$root/log"
rm "$root/log"

# installed NAME: where it lies; every name is looked for whatever the prefix and the multiarch folder
installed() { find "$root" -path "*/$1" | head -n 1; }
present()
{
	[ -n "$(installed "$1")" ]
	report $? "$1 is not installed"
}
present lib/pkgconfig/troupe.pc
present libtroupe.so
present man1/troupe.1
for header in "$SOURCE_DIR"/include/troupe/*.h; do
	present "include/troupe/${header##*/}"
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
	*"$version"*) report 0 ;;
	*) report 1 "the installed troupe --version says '$said', troupe.pc '$version'" ;;
	esac
fi

# the installed worlds are found by name: under DESTDIR, and in a tree that was moved; not those of the build tree
# named PROGRAM WANT: a world by its name, from another folder; WANT is 0 or 1
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

rm -f "$root/user" "$root/user.c"
make -s -C "$BUILD_DIR" uninstall DESTDIR="$root" >/dev/null
report $? 'make uninstall'
find "$root" ! -type d | grep .
[ $? = 1 ]
report $? 'make uninstall leaves files behind'

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
