# Runs of several ranks. Source it after tests/determinism/lib.sh. Where there is no MPI to try, `can_try_ranks` says why and
# counts it as skipped.
# optional commands: mpirun
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
# a short path: the sockets of mpirun lie below it
TMPDIR=${TMPDIR:-/tmp}
export TMPDIR

# launch ARGUMENTS...: replaces the shell by mpirun; call it in a subshell
launch() { exec mpirun --oversubscribe "$@"; }
can_try_ranks()
{
	if [ "${WITH_MPI:-yes}" = no ]; then
		skip 'the transport over MPI' 'this build is without MPI'
	elif ! command -v mpirun >/dev/null; then
		skip 'the transport over MPI' 'there is no mpirun here'
	elif ! mpirun --oversubscribe -n 2 true >"$scratch/try" 2>&1; then
		skip 'the transport over MPI' "mpirun starts nothing here: $(grep -v '^-*$' "$scratch/try" | head -n 1)"
	else
		return 0
	fi
	return 1
}

# ranks COUNT ARGUMENTS...: runs troupe on COUNT ranks; rank 0 prints to standard output
ranks()
{
	rank_count=$1
	shift
	timeout "$run_limit_s" mpirun --oversubscribe -n "$rank_count" "$troupe" run --transport mpi "$@"
}
