#!/bin/bash
# Written by 'tiletune slurm'. Submits all shards, or those named: submit 3,7
set -eu
folder={folder}
shards=${1:-1-{shards}}
if [ $# -gt 1 ] || [[ ! $shards =~ ^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$ ]]; then
  echo "usage: submit [SHARDS], such as: submit 3,7-9" >&2
  exit 2
fi
IFS=, read -ra ranges <<<"$shards"
numbers=()
for range in "${ranges[@]}"; do
  for ((shard = 10#${range%-*}; shard <= 10#${range#*-}; ++shard)); do numbers+=("$shard"); done
done
# Two tasks of one shard would measure the same twice.
touch "$folder/jobs"
while read -r job task; do
  grep -qx "$job" "$folder/jobs" || continue
  for shard in "${numbers[@]}"; do
    [ "$shard" = "$task" ] || continue
    echo "submit: shard $shard is queued or running: wait for it, or cancel it with: scancel ${job}_$shard" >&2
    exit 2
  done
done < <(squeue --noheader --array --me --format='%F %K' 2>/dev/null || true)
# What an earlier run left of these shards is not their state any more.
for shard in "${numbers[@]}"; do rm -f "$folder/shards/$shard.exit"; done
after=
if [ $# = 0 ] && [ {compile_tasks} != 0 ]; then
  job=$(sbatch --parsable "$folder/compile.sbatch")
  after=--dependency=afterany:${job%%;*}
  echo "compiling: job ${job%%;*}"
fi
job=$(sbatch --parsable $after "--array=$shards{at_once}" "$folder/sweep.sbatch")
job=${job%%;*}
echo "$job" >>"$folder/jobs"
finish=$(sbatch --parsable "--dependency=afterany:$job" "$folder/finish.sbatch")
echo "shards: job $job; merging afterwards: job ${finish%%;*}"
