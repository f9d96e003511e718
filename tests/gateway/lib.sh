# Shared by the scripts of this folder, beside tests/determinism/lib.sh, which it sources: programs of gz-transport, and a
# partition and ports of discovery of its own, so that runs side by side, and simulators of this machine, are not heard.
# Leaves the shell in $scratch. At the end all processes are ended that stand in $started.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
set -u
source=$(cd "${SOURCE_DIR:-.}" && pwd)
worlds=$source/worlds
tools=/usr/libexec/ignition/transport11
topic_tool=$tools/ign-transport-topic
service_tool=$tools/ign-transport-service
case $troupe in /*) ;; *) troupe=$PWD/$troupe ;; esac
peer=${BUILD_DIR:-build}/tests/gateway/gz_peer
case $peer in /*) ;; *) peer=$PWD/$peer ;; esac
cd "$scratch" || exit 1

started=
end_all()
{
	# word splitting is meant
	# shellcheck disable=SC2086
	[ -z "$started" ] || kill -KILL $started 2>/dev/null
	rm -rf "$scratch"
}
trap end_all EXIT
trap 'exit 1' HUP INT TERM

unset IGN_IP GZ_IP GZ_PARTITION GZ_DISCOVERY_MSG_PORT GZ_DISCOVERY_SRV_PORT GZ_RELAY IGN_RELAY TROUPE_NO_GZ
IGN_PARTITION=test$$
IGN_DISCOVERY_MSG_PORT=$((10000 + $$ % 11000 * 2)) # below the ports that the system gives to programs
IGN_DISCOVERY_SRV_PORT=$((IGN_DISCOVERY_MSG_PORT + 1))
export IGN_PARTITION IGN_DISCOVERY_MSG_PORT IGN_DISCOVERY_SRV_PORT

# have_tools: whether the programs of gz-transport are there; says so if not
have_tools()
{
	[ -x "$topic_tool" ] && [ -x "$service_tool" ] && return
	skip 'programs of gz-transport' 'ignition-transport-cli is not installed'
	return 1
}

# start_peer THINGS...: gz_peer in the background; what it prints in `said`
start_peer()
{
	: >said
	"$peer" "$@" >said 2>&1 &
	last=$!
	started="$started $last"
	until_true 60 grep -q '^ready' said || report 1 "the peer does not start: $(cat said)"
}

# end_last SIGNAL: ends what was started last; its status
end_last()
{
	kill "-$1" "$last" 2>/dev/null
	wait "$last" 2>/dev/null
}

# within SECONDS COMMAND...: output in `out` and `err`
within()
{
	limit=$1
	shift
	timeout -k 1 "$limit" "$@" >out 2>err
}

# until_true SECONDS COMMAND...: repeats the command until it succeeds
until_true()
{
	true_until=$(($(date +%s) + $1))
	shift
	while ! "$@"; do
		[ "$(date +%s)" -le $true_until ] || return 1
		sleep 0.05
	done
}

# catches PID: whether the process has a handler for SIGTERM
catches()
{
	[ $((0x$(sed -n 's/^SigCgt:[ \t]*//p' "/proc/$1/status" 2>/dev/null || echo 0) & 0x4000)) != 0 ]
}
