#!/bin/sh
# test limit: 900
# What `troupe print` writes, libsdformat reads, and reads as the same world: worlds, robots, and the corpus of real files
# if it is beside the source. Runs where libsdformat is installed (version 12 or later): .ci/run installs it.
. "${SOURCE_DIR:-.}/tests/cli/lib.sh"
tests=$source/tests
corpus=$source/../shared/corpus

skip_all()
{
	skip 'libsdformat' "$1"
	totals
	exit
}

library=''
for version in 16 15 14 13 12; do
	[ -z "$library" ] && pkg-config --exists sdformat$version 2>/dev/null && library=sdformat$version
done
[ -n "$library" ] || skip_all 'it is not installed'
need g++ && need python3 || { totals; exit; }
# shellcheck disable=SC2046
g++ -std=c++17 -O0 "$tests/conform/sdformat_flat.cc" -o flat $(pkg-config --cflags --libs "$library") >out 2>err
report $? "sdformat_flat.cc with $library" || { totals; exit; }

# Each Nth file of the corpus, which has some two hundred. The one with 3000 models takes libsdformat two minutes.
every=$(amount 40 24 1)
set --
number=0
for file in "$corpus"/gz-distributed/*.sdf "$corpus"/gz-examples/*.sdf "$corpus"/gz-test/*.sdf "$corpus"/sdformat/*.sdf; do
	number=$((number + 1))
	case $file in */3k_shapes.sdf) [ -n "${TROUPE_TEST_LONG:-}" ] || continue ;; esac
	[ -e "$file" ] && [ $((number % every)) = 0 ] && set -- "$@" "$file"
done
[ -d "$corpus" ] || skip 'real files' 'the corpus is not beside the source folder'
cat >classic.world <<END
<sdf version="1.6"><world name="default">
<include><uri>model://sun</uri></include><include><uri>https://fuel.gazebosim.org/1.0/OpenRobotics/models/Ground Plane</uri></include>
<include><uri>$tests/data/urdf/turtle.urdf</uri><pose>1 2 3 0 0 1</pose></include>
</world></sdf>
END
cat >odd.urdf <<END
<robot name="odd"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><box size="1 1 1"/></geometry></visual></link>
<gazebo reference="a"><material value="Gazebo/Red"/></gazebo><gazebo reference="a"><material/></gazebo></robot>
END
# Names that SDF allowed before 1.7 and libsdformat changes: a joint or model with the name of a link (src/doc/reference/gazebo.md).
every=$(amount 4 2 1)
for file in "$tests"/data/sdf/*.sdf; do
	number=$((number + 1))
	[ $((number % every)) = 0 ] || continue
	case $file in
	*/include_same.sdf | */names_1_6_same.sdf) ;;
	*) set -- "$@" "$file" ;;
	esac
done
timeout 800 python3 "$tests/conform/sdformat" "$troupe" "$PWD/flat" "$@" "$worlds"/*.sdf "$tests"/data/urdf/*.urdf \
	"$PWD/classic.world" "$PWD/odd.urdf" >out 2>err
grep -v ' passed, ' out
counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' out)
[ -n "$counts" ] || { cat err; counts='0 1'; }
passed=$((passed + ${counts% *})) failed=$((failed + ${counts#* }))
totals
