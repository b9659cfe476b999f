#!/bin/bash
# Written by 'tiletune slurm'. Start all jobs with the file 'submit' beside this one.
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --nodes=1
#SBATCH --ntasks=1
# {options}
set -u
tiletune={tiletune}
folder={folder}
cache={cache}
[ -z "$cache" ] || export XDG_CACHE_HOME=$cache

# Runs a command and waits until it has ended: bash's wait ends with every signal. Slurm sends TERM to all processes of a job
# by itself, and a second one would end the sweep at once; the warning (USR1) comes to this shell alone. 127 is also what a
# wait for a process says that was waited for before.
late=0 signalled=0 child= status=127
trap 'late=1 signalled=1; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null' USR1
trap 'signalled=1' TERM
run() {
  [ "$signalled" = 0 ] || { status=130; return; }
  "$@" &
  child=$!
  [ "$late" = 0 ] || kill -TERM "$child" 2>/dev/null
  local ended
  while :; do
    signalled=0
    wait "$child"
    ended=$?
    [ "$ended" = 127 ] || status=$ended
    [ "$signalled" = 0 ] && break
  done
}

# To be called behind run. 130 and 143 are sweeps that were interrupted: Slurm queues a preempted task again by itself, and a
# cancelled one is to end.
queue_again_if_late() {
  interrupted=0
  [ "$status" != 130 ] && [ "$status" != 143 ] || interrupted=1
  if [ "$late" = 1 ] && [ "$interrupted" = 1 ]; then
    echo "the time limit is near: queued again"
    scontrol requeue "$SLURM_JOB_ID"
    sleep 300
  fi
}

# {job}
