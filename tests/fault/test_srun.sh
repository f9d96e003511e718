#!/bin/sh
# Ranks that Slurm starts. Where Slurm is installed and this process is root, which its daemons need, the test starts a
# Slurm of one node, this machine, for itself. A run has the hash of a single runner; a rank that is killed is lost, as
# under mpirun.
# optional commands: srun slurmctld slurmd
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "${SOURCE_DIR:-.}/tests/fault/processes.sh"
skip_all()
{
	skip 'ranks that srun starts' "$1"
	totals
	exit
}
[ -n "$full" ] || skip_all "half a minute: .ci/run takes it (TROUPE_TEST_FULL=1)"
[ "${WITH_MPI:-yes}" != no ] || skip_all 'this build is without MPI'
command -v srun >/dev/null && command -v slurmctld >/dev/null && command -v slurmd >/dev/null ||
	skip_all 'there is no Slurm here'
[ "$(id -u)" = 0 ] || skip_all 'only root can start the daemons of Slurm'

# --- a Slurm of this test alone ---------------------------------------------------------------------------------------

SLURM_CONF=$scratch/slurm.conf
export SLURM_CONF
here=$(uname -n)
here=${here%%.*}
port=$((20000 + $$ * 64 % 12000 / 2 * 2))
cat >"$SLURM_CONF" <<END
ClusterName=test
SlurmctldHost=$here(127.0.0.1)
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/slurmctld.number
SlurmdPidFile=$scratch/slurmd.number
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=pmix
ReturnToService=2
NodeName=$here NodeAddr=127.0.0.1 CPUs=$(getconf _NPROCESSORS_ONLN) State=UNKNOWN
PartitionName=all Nodes=$here Default=YES State=UP OverSubscribe=FORCE:4
END
mkdir state spool
end_slurm()
{
	for daemon in slurmd slurmctld; do
		[ -s $daemon.number ] && kill -KILL "$(cat $daemon.number)"
	done 2>/dev/null
	end_all
}
trap end_slurm EXIT
slurmctld >slurm.out 2>&1 && slurmd >>slurm.out 2>&1 || skip_all "its daemons do not start: $(tail -n 1 slurm.out)"
timeout 60 sh -c 'until srun -n 2 --overcommit true; do sleep 0.5; done' >try 2>&1 ||
	skip_all "srun starts nothing here: $(tail -n 1 try)"

# --- runs -------------------------------------------------------------------------------------------------------------

# launch COUNT ARGUMENTS...: replaces the shell by srun; call it in a subshell
launch()
{
	count=$1
	shift
	exec srun -n "$count" --overcommit --kill-on-bad-exit "$troupe" run --transport mpi "$@"
}

steps=1000
for count in 2 4; do
	(launch $count "$worlds/meeting.sdf" --commands "$worlds/meeting.commands" --rtf 0 -v0 --iterations $steps \
		--hash-every 100) >ranks 2>err
	report $? "$count ranks: $(grep '^troupe' err)"
	timeout "$run_limit_s" "$troupe" run "$worlds/meeting.sdf" --commands "$worlds/meeting.commands" --rtf 0 -v0 \
		--iterations $steps --hash-every 100 --secondaries 0 >single
	[ -s single ] && cmp -s ranks single
	report $? "$count ranks: the hashes are not those of a single runner"
done

# pid_of RANK: the process of this rank
pid_of()
{
	for stat in /proc/[0-9]*/environ; do
		tr '\0' '\n' 2>/dev/null <"$stat" | grep -qx "SLURM_CONF=$SLURM_CONF" || continue
		tr '\0' '\n' 2>/dev/null <"$stat" | grep -qx "SLURM_PROCID=$1" || continue
		stat=${stat%/environ}
		echo "${stat#/proc/}"
	done
}

rm -f p.*
(
	(launch 3 "$worlds/meeting.sdf" --commands "$worlds/meeting.commands" --rtf 1 --save-on-stop saved-%s) >p.out 2>p.err &
	echo $! >p.pid
	wait $!
	echo $? >p.status
) 2>/dev/null &
await p.err 'the run begins' && sleep 0.5
kill -KILL "$(pid_of 1)"
ended p && [ "$status" != 0 ]
report $? "a rank was killed: status $status: $(tail -n 1 p.err)"
[ "$(grep -c 'troupe run: secondary 1 (.* at rank 1) was lost: silent' p.err)" = 1 ]
report $? "a rank was killed: $(grep '^troupe' p.err | tail -n 2)"
state=$(echo saved-*)
[ -s "$state" ]
report $? 'a rank was killed: no state is saved'
totals
