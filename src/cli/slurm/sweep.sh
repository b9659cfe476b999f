base=$folder/shards/${SLURM_ARRAY_TASK_ID:?start this file with sbatch}
rm -f "$base.exit"
echo "${SLURMD_NODENAME:-$(hostname)}" >"$base.started"
echo '{task_begins}'
ended() { echo "$1" >"$base.exit.new" && mv "$base.exit.new" "$base.exit"; exit "$1"; }
database=$base.db
local_folder={local}
if [ -n "$local_folder" ]; then
  local_folder=$(mktemp -d "$local_folder") || ended 2
  keep=0
  trap '[ "$keep" = 1 ] || rm -rf "$local_folder"' EXIT
  database=$local_folder/shard.db
  [ ! -e "$base.db" ] || "$tiletune" merge "$base.db" -o "$database" || ended 2
fi
run "$tiletune" sweep {config} --shard "$SLURM_ARRAY_TASK_ID/{shards}" --db "$database" {where} {sweep_options}
if [ -n "$local_folder" ] && [ -e "$database" ] && ! "$tiletune" merge "$database" -o "$base.db"; then
  status=2 keep=1
  echo "not merged, and kept: $database"
fi
queue_again_if_late
[ "$interrupted" = 1 ] || ended "$status"
exit "$status"
