# tries: in place of inputs, links to endless files of /proc and /sys, to themselves, and to secrets that are not JSON
# must not: hang, end as an internal error, or have the linked file quoted
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
echo "$copies" | kernel copy
ln -s loop loop
mkfifo pipe
echo '{"token": "hunter2", x' >secret
ln -s secret link
for input in /proc/kmsg /proc/self/environ /sys/kernel/uevent_seqnum loop pipe link /dev/zero /; do
  ln -sfn "$input" input
  for command in "space input" "space config.json --problems input" "import input --db x.db" "rank --db input" \
    "merge input -o y.db" "sweep config.json --quiet --replay input" "portfolio --db input" "init input" \
    "slurm input" "export --db input"; do
    # shellcheck disable=SC2086
    attempt "$TILETUNE" $command
    [[ $status == 2 ]] || broken "$command of $input ends with $status: $output"
    must_not_show hunter2
    [[ $input != /proc/* || $output != *HOME=* ]] || broken "$command shows $input: $output"
  done
done
# One that cannot be read keeps no other out.
attempt "$TILETUNE" import loop "$REPOSITORY/tests/data/benchmark_hub/A4000.json.gz" --db z.db
[[ $status == 2 && $output == *"1 of 2 files"* ]] || broken "import of a loop and a file: $status $output"
