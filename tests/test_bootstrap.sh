#!/bin/sh
# bootstrap on simulated machines: which packages it installs, as which user and when; its messages about packages
# that it cannot get; results line by line. The source tree, apt-get, dpkg-query, sudo and the user are stand-ins.
# PATH holds only the commands that every Debian has, so that the use of another command shows.
set -u
source=$(cd "${SOURCE_DIR:-.}" && pwd)
passed=0
failed=0
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# report STATUS WHAT
report()
{
	if [ "$1" = 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAILED: $2"
		tail -n 8 "$scratch/out" | sed "s/^/    /"
	fi
}

# --- the machine: bin has tools, state says what is so, calls is what was done ---------------------------------------------

mkdir "$scratch/bin" "$scratch/tree" "$scratch/state"
for tool in cat chmod cp dirname env find getconf grep head make mkdir rm sed sh tail tee touch tr awk sleep mktemp cut sort date timeout; do
	ln -s "$(command -v $tool)" "$scratch/bin/$tool"
done
# tool NAME: makes a stand-in for a tool; its script comes on standard input
tool()
{
	{ printf '#!/bin/sh\nstate=%s\n' "$scratch/state"; cat; } >"$scratch/bin/$1"
	chmod +x "$scratch/bin/$1"
}
tool dpkg-query <<'END'
for package; do :; done
grep -qx "$package" $state/missing && echo "no package $package" >&2 && exit 1
echo installed
END
tool apt-get <<'END'
echo "apt-get $*" >>$state/calls
[ "$(id -u)" = 0 ] || [ -n "${AS_ROOT:-}" ] || { echo 'apt-get: not root' >&2; exit 100; }
case $1 in
update) [ ! -e $state/no_index ] ;;
install)
	for package; do
		case $package in -* | install) continue ;; esac
		grep -qx "$package" $state/cannot && echo "E: Unable to locate package $package" && exit 100
		grep -vx "$package" $state/missing >$state/rest
		cp $state/rest $state/missing
	done
	;;
esac
END
tool apt-cache <<'END'
[ ! -e $state/no_index ] && ! grep -qx "$2" $state/not_offered
END
tool id <<'END'
cat $state/uid
END
tool cc <<'END'
END
tool autoreconf <<'END'
printf '#!/bin/sh\necho "configure${1:+ $1}" >>%s/calls\ncp ../makefile Makefile\n' $state >configure
chmod +x configure
touch Makefile.in config.h.in
END
cp "$source/bootstrap" "$scratch/tree"
mkdir "$scratch/tree/tests" "$scratch/tree/include" "$scratch/tree/src" "$scratch/tree/bench" "$scratch/tree/worlds"
cp "$source/tests/summary" "$source/tests/real_time" "$scratch/tree/tests"
touch "$scratch/tree/configure.ac" "$scratch/tree/Makefile.am"

# machine UID [MISSING...]: a user, packages that are not installed; nothing is built yet
machine()
{
	"$scratch/tree/bootstrap" clean
	rm -f "$scratch/state"/* "$scratch/bin/sudo" "$scratch/tree/configure"
	: >"$scratch/state/calls"
	: >"$scratch/state/cannot"
	: >"$scratch/state/not_offered"
	echo "$1" >"$scratch/state/uid"
	shift
	printf '%s\n' none "$@" >"$scratch/state/missing"
	cat >"$scratch/tree/makefile" <<'END'
SHELL = sh
UNIT_TESTS = yes
all:
check:
ifneq ($(origin TESTS),command line)
check: results
endif
results:
	@echo 'PASS: good'
	@printf ':test-result: PASS\n' >good.trs
	@printf '3 passed, 0 failed\n' >good.log
list-tests:
	@echo good.log
END
}
with_sudo()
{
	tool sudo <<-'END'
		echo "sudo $1" >>$state/calls
		AS_ROOT=1 exec "$@"
	END
}
# runs STATUS ARGUMENTS...: runs bootstrap in an empty environment
runs()
{
	want=$1
	shift
	(umask 077 && env -i PATH="$scratch/bin" timeout 300 "$scratch/tree/bootstrap" "$@" >"$scratch/out" 2>&1 </dev/null)
	status=$?
	[ $status = "$want" ]
	report $? "bootstrap $*: status $status, not $want"
}
# says PATTERN
says()
{
	grep -qE -e "$1" "$scratch/out"
	report $? "it says '$1'"
}
# called EXPECTED: bootstrap has made these calls, and no others, one a line
called()
{
	[ "$(cat "$scratch/state/calls")" = "$1" ]
	report $? "called: $(tr '\n' ';' <"$scratch/state/calls"), expected: $1"
}

# --- packages --------------------------------------------------------------------------------------------------------------

for user in 0 1000; do
	machine $user
	runs 0 build
	called 'configure'
	runs 0 check
	called 'configure'
	says '^3 passed, 0 failed$'
done

machine 0 libode-dev libcriterion-dev
runs 0 build
called 'apt-get update -q
apt-get install -qy --no-install-recommends libode-dev
configure'
: >"$scratch/state/calls"
runs 0 check
called 'apt-get update -q
apt-get install -qy --no-install-recommends libcriterion-dev'
: >"$scratch/state/calls"
runs 0 check
called ''

machine 1000 libode-dev python3
with_sudo
runs 0 check
called 'sudo env
apt-get update -q
sudo env
apt-get install -qy --no-install-recommends libode-dev python3
configure'

machine 1000 libode-dev python3
runs 1 check
says 'not root and no sudo: as root, run apt-get install --no-install-recommends libode-dev python3'
says '^bootstrap: error: cannot install packages that the build needs: libode-dev'
called ''

# Packages that only tests need are not needed to run the tests: each test reports what is missing.
machine 1000 iproute2
runs 0 check
says 'as root, run apt-get install --no-install-recommends iproute2'
says '^bootstrap: going on without packages that only tests need$'
says '^3 passed, 0 failed$'

machine 0 libode-dev
echo libode-dev >"$scratch/state/cannot"
runs 1 build
says '^E: Unable to locate package libode-dev$'
says '^bootstrap: error: cannot install packages that the build needs: libode-dev'

machine 0 libode-dev
: >"$scratch/state/no_index"
runs 0 build

# Of two names of a package the first that the release has, unless one of them is installed.
machine 0 libfastdds-dev libfastrtps-dev
runs 0 check
called 'apt-get update -q
apt-get install -qy --no-install-recommends libfastdds-dev
configure'
machine 0 libfastdds-dev libfastrtps-dev
echo libfastdds-dev >"$scratch/state/not_offered"
runs 0 check
called 'apt-get update -q
apt-get install -qy --no-install-recommends libfastrtps-dev
configure'
machine 0 libfastdds-dev
runs 0 check
called 'configure'

# A package that the release does not have is left out; configure knows whether the build needs it.
machine 0 libembree-dev libode-dev
echo libembree-dev >"$scratch/state/not_offered"
runs 0 build
says '^bootstrap: this release has no package libembree-dev: going on without it$'
called 'apt-get update -q
apt-get install -qy --no-install-recommends libode-dev
configure'

# a library that only tests need was installed after configure
machine 0
sed -i 's/^UNIT_TESTS = yes/UNIT_TESTS = missing/' "$scratch/tree/makefile"
runs 0 build
cat >"$scratch/tree/build/config.status" <<'END'
#!/bin/sh
echo "config.status${1:+ $1}" >>../../state/calls
END
chmod +x "$scratch/tree/build/config.status"
runs 0 check
called 'configure
config.status --recheck
config.status'

# --- results ---------------------------------------------------------------------------------------------------------------

# the second test ends only when the first one's line has been read, or after two minutes
machine 0
cat >>"$scratch/tree/makefile" <<'END'
ifneq ($(origin TESTS),command line)
check: bad
endif
bad:
	@echo 'PASS: first'
	@i=0; while [ ! -e ../seen ] && [ $$i -lt 1200 ]; do i=$$((i + 1)); sleep 0.1; done; \
		[ -e ../seen ] && echo 'PASS: seen at once' || echo 'FAIL: seen late'
	@printf ':test-result: FAIL\n' >bad.trs
	@printf '1 passed, 2 failed\n' >bad.log
	@echo 'FAIL: bad'
	@exit 1
list-tests: more
more:
	@echo bad.log
END
ln -s tree "$scratch/link"
rm -f "$scratch/tree/seen"
{
	env -i PATH="$scratch/bin" LC_ALL=no_SUCH.locale timeout 300 "$scratch/link/bootstrap" check 2>&1
	echo "status $?"
} | while IFS= read -r line; do
	echo "$line"
	[ "$line" != 'PASS: first' ] || : >"$scratch/tree/seen"
done >"$scratch/out"
says '^PASS: seen at once$'
says "^failed: bad: 2 failed; see $(cd "$scratch/tree" && pwd -P)/build/bad.log$"
[ "$(tail -n 2 "$scratch/out" | tr '\n' ';')" = '4 passed, 2 failed;status 1;' ]
report $? 'the totals are the last line, and the status is 1'

# A test that waits for programs of others may be late once; others, and one that fails twice, have failed.
steady='tests/unit/steady.log'
unsteady='tests/web/late.sh.log'
rubbish='tests/web/broken.sh.log'
# again STATUS LOG...: a check in which these fail; the second one the first time only
again()
{
	machine 0
	cat >>"$scratch/tree/makefile" <<END
ifeq (\$(origin TESTS),command line)
check: \$(TESTS)
else
check: $(shift; echo "$*" | sed 's/\.log//g')
endif
list-tests: more
more:
	@echo $(shift; echo "$*")
tests/%:
	@mkdir -p \$(dir \$@)
	@if [ \$@ = ${unsteady%.log} ] && [ -e \$@.log ]; then \
		printf ':test-result: PASS\n' >\$@.trs; echo '1 passed, 0 failed' >\$@.log; echo 'PASS: \$@'; \
	else \
		printf ':test-result: FAIL\n' >\$@.trs; printf 'FAILED: too late\n0 passed, 1 failed\n' >\$@.log; \
		[ \$@ != ${steady%.log} ] || printf '[----] steady.c:7: Assertion failed: 1 == 2\n[====] Synthesis: Tested: 1\n0 passed, 1 failed\nlimit: took 0 s\n0m0.1s 0m0.0s\n' >\$@.log; \
		[ \$@ != ${rubbish%.log} ] || printf 'killed\n0 passed, 1 failed\nlimit: took 0 s\n0m0.1s 0m0.0s\nFAIL x (exit status: 1)\n' >\$@.log; \
		echo 'FAIL: \$@'; exit 1; \
	fi
END
	runs "$1" check
}
again 0 $unsteady
says '^    FAILED: too late$'
says "^bootstrap: once more, alone: ${unsteady%.log}$"
says '^4 passed, 0 failed$'
again 1 $unsteady $rubbish
says "^bootstrap: once more, alone: ${unsteady%.log} ${rubbish%.log}$"
says "^bootstrap: PASSED ONLY THE SECOND TIME, ALONE: ${unsteady%.log}$"
says '^    killed$'
! grep -q "ALONE: ${rubbish%.log}" "$scratch/out"
report $? 'a test that fails again is not named so'
says '^4 passed, 1 failed$'
again 1 $steady
! grep -q 'once more' "$scratch/out"
report $? 'a test without programs of others has one try'
says '^    \[----\] steady.c:7: Assertion failed: 1 == 2$'
says '^3 passed, 1 failed$'

# Only the tests that are named.
machine 0
mkdir -p "$scratch/tree/tests/unit"
touch "$scratch/tree/tests/unit/chosen.c"
cat >"$scratch/tree/makefile" <<'END'
SHELL = sh
UNIT_TESTS = yes
TESTS = tests/unit/other
check_PROGRAMS = all
all:
check: $(TESTS)
	@echo 'PASS: with programs: $(check_PROGRAMS)'
list-tests:
	@echo $(TESTS:=.log)
tests/%:
	@mkdir -p $(dir $@)
	@printf ':test-result: PASS\n' >$@.trs; echo '1 passed, 0 failed' >$@.log; echo 'PASS: $@'
END
runs 0 check tests/unit/chosen
says '^PASS: tests/unit/chosen$'
says '^1 passed, 0 failed$'
! grep -q '^PASS: tests/unit/other' "$scratch/out"
report $? 'another test is not run'
says '^PASS: with programs: tests/unit/chosen$'
touch "$scratch/tree/tests/unit/chosen.sh"
runs 0 check tests/unit/chosen tests/unit/chosen.sh
says '^PASS: with programs: all$'
printf '#!/bin/sh\n# programs: tests/unit/used tests/unit/too\n' >"$scratch/tree/tests/unit/needs.sh"
runs 0 check tests/unit/needs.sh tests/unit/chosen
says '^PASS: with programs: tests/unit/used tests/unit/too tests/unit/chosen$'
runs 0 check tests/unit/needs.sh tests/unit/chosen.sh
says '^PASS: with programs: all$'
runs 1 check tests/unit/none
says "^bootstrap: error: check: 'tests/unit/none': expected a test, such as tests/unit/test_base$"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
