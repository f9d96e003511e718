# For the scripts of this folder, which read what troupe writes with libraries of other projects, from npm. .ci/run
# installs those of package.json into a folder outside of the tree and names it in TROUPE_WEB_MODULES; to do it by hand:
#
#   mkdir FOLDER && cp tests/web/package*.json FOLDER && (cd FOLDER && npm ci --ignore-scripts)
#   export TROUPE_WEB_MODULES=FOLDER/node_modules
#
# Without node or the folder a script prints a line that it is skipped.
#
# optional commands: node

# web_needs WHAT PACKAGE...: ends the script with status 77 if node or a package is not there.
web_needs()
{
	web_what=$1
	shift
	web_why=
	if ! command -v node >/dev/null; then
		web_why='no node'
	elif [ -z "${TROUPE_WEB_MODULES:-}" ]; then
		web_why='TROUPE_WEB_MODULES names no folder with packages of npm'
	else
		for web_package in "$@"; do
			[ -d "$TROUPE_WEB_MODULES/$web_package" ] || web_why="no package $web_package in $TROUPE_WEB_MODULES"
		done
	fi
	[ -z "$web_why" ] || {
		echo "skipped: $web_what: $web_why"
		echo '0 passed, 0 failed, 1 skipped'
		exit 0
	}
	export NODE_PATH="$TROUPE_WEB_MODULES"
}

# web_begin SCRIPT: goes to $scratch, where $script is the path of this file of the folder; after tests/determinism/lib.sh.
# A process whose number is in $run is killed at the end.
web_begin()
{
	case $troupe in /*) ;; *) troupe=$PWD/$troupe ;; esac
	# shellcheck disable=SC2034 # for the script that sources this file
	script=$(cd "$SOURCE_DIR" && pwd)/tests/web/$1
	cd "$scratch" || exit 1
	run=
	trap '[ -z "$run" ] || kill -KILL "$run" 2>/dev/null; rm -rf "$scratch"' EXIT
	TROUPE_NO_GZ=1
	export TROUPE_NO_GZ
}

# web_browser: ends the script with status 0 if there is no browser, or this troupe has no page.
web_browser()
{
	web_needs 'the page of the viewer in a browser' playwright-core
	web_why=
	command -v chromium >/dev/null || web_why='no chromium'
	"$troupe" run "$worlds/specification.sdf" --iterations 1 --no-gz --view-address 0 -v 0 >"$scratch/said" 2>&1 ||
		web_why=$(head -n 1 "$scratch/said")
	[ -z "$web_why" ] || {
		skip 'the page of the viewer in a browser' "$web_why"
		totals
		exit
	}
}

web_node()
{
	node "$@"
}

# web_runs: whether the process $run has not ended yet
web_runs()
{
	case $(sed 's/.*) //' "/proc/$run/stat" 2>/dev/null) in
	Z* | '') return 1 ;;
	esac
}

# web_port WHAT: waits until the process $run says in `err` where it listens, "WHAT: ws://...". The port is in $port. What
# takes longer than this is a hang, on a busy machine, too. `err` must not be there before the process begins, else the port
# may be that of the one before it.
web_port()
{
	port=
	web_until=$(($(date +%s) + 120))
	while web_runs && ! grep -qs "$1: ws" err && [ "$(date +%s)" -lt $web_until ]; do sleep 0.05; done
	port=$(sed -n "s|.*$1: wss*://[^/]*:\([0-9]*\)/.*\$|\1|p" err)
	report "$([ -n "$port" ]; echo $?)" "the address is printed: $(cat err)"
}

# web_start WHAT OPTION...: `troupe run` with these options in the background, as the process $run; web_port WHAT
web_start()
{
	web_title=$1
	shift
	rm -f err
	"$troupe" run "$@" >out 2>err &
	run=$!
	web_port "$web_title"
}

# web_stop WHAT [RECORDING]: ends the process $run by a signal; its recording has the same bits
web_stop()
{
	kill -INT "$run"
	wait "$run"
	report $? "$1: the run ends well: $(tail -n 3 err)"
	run=
	[ -n "${2:-}" ] || return 0
	timeout 120 "$troupe" replay "$2" --secondaries 0 -v 0 >out 2>err
	report $? "$1: the recording has the same bits: $(cat out err)"
}

# web_addresses OPTION WHAT: where `troupe run w.sdf --OPTION` listens for other hosts, as it says, and what is no address
web_addresses()
{
	timeout 20 "$troupe" run w.sdf "--$1" 0.0.0.0:0 --iterations 10 --rtf 0 >out 2>err
	grep -q "$2: ws://.*:[0-9]*/?token=[A-Za-z0-9_-]\\{24\\}\$" err
	report $? "with an address there is a token: $(cat err)"
	timeout 20 "$troupe" run w.sdf "--$1" 0.0.0.0:0 "--$1-insecure" --iterations 10 --rtf 0 >out 2>err
	grep -q "$2: ws://.*:[0-9]*/\$" err
	report $? "without a token: $(cat err)"
	for bad in x 1:x 99999 nowhere:80; do
		timeout 20 "$troupe" run w.sdf "--$1" $bad --iterations 10 --rtf 0 >out 2>err
		status=$?
		[ $status -eq 2 ] && [ "$(wc -l <err)" = 1 ] && grep -q "^troupe run: --$1: .*expected" err
		report $? "--$1 $bad: $status $(cat err)"
	done
}

# web_ends: waits until the process $run has ended by itself; false: it hangs
web_ends()
{
	web_until=$(($(date +%s) + 60))
	while web_runs && [ "$(date +%s)" -lt $web_until ]; do sleep 0.05; done
	! web_runs
}

# web_tell FILE: what a client found, added to the counts; one that ended without totals says last why
web_tell()
{
	read -r here _ there _ <<END
$(grep '^[0-9]* passed, [0-9]* failed' "$1" || echo '0 passed, 1 failed')
END
	grep -q '^[0-9]* passed, [0-9]* failed' "$1" || echo "FAILED: the client ended without totals: $(tail -n 5 "$1")"
	grep '^FAILED' "$1"
	passed=$((passed + here)) failed=$((failed + there))
}
