# What an earlier job exported is not the result of these shards.
rm -f "$folder/best.json"
incomplete=0
"$tiletune" slurm status "$folder" || incomplete=1
databases=()
for ((shard = 1; shard <= {shards}; ++shard)); do
  [ ! -e "$folder/shards/$shard.db" ] || databases+=("$folder/shards/$shard.db")
done
[ "${#databases[@]}" -gt 0 ] || exit 1
"$tiletune" merge "${databases[@]}" -o "$folder/merged.db" || exit
# Finals are held on a GPU, among the 50 fastest where more are not near the best.
if [ {gpus} != 0 ]; then
  run "$tiletune" sweep {config} --recorded 50 --db "$folder/merged.db" --gpus 0 {finals} {sweep_options}
  queue_again_if_late
  [ "$status" = 0 ] || exit "$status"
fi
"$tiletune" export --best --db "$folder/merged.db" -o "$folder/best.json" || exit
exit "$incomplete"
