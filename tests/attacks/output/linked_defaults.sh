# tries: symbolic links to files and folders elsewhere in place of default outputs: report.html, results, slurm
# must not: write where they lead; a link that the user types is followed
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
recorded rows.db
echo mine >mine
mkdir elsewhere
echo "$copies" | kernel copy
# refused COMMAND...: with exit status 2 and an error that names the link and its option.
refused() {
  local link=$1 option=$2
  shift 2
  attempt "$TILETUNE" "$@"
  [[ $status == 2 && $output == *"$link: "*"$option"* ]] || broken "$* ends with $status: $output"
}
ln -s mine report.html
refused report.html "-o report.html" report --db rows.db
[[ $(cat mine) == mine ]] || broken "report overwrote what report.html leads to"
attempt "$TILETUNE" report --db rows.db -o report.html
[[ $status == 0 && -L report.html && $(cat mine) == "<!DOCTYPE"* ]] || broken "a typed link ends with $status: $output"
ln -s elsewhere results
refused results "--db results/tiletune.db" sweep config.json --gpu H100 --quiet
refused results "--db results/tiletune.db" bench copy --set THREADS=128 --problem 1024 --gpu H100
refused results "--db results/tiletune.db" import "$REPOSITORY/tests/data/benchmark_hub/A4000.json.gz"
rm results
mkdir results
ln -s ../elsewhere/new.db results/tiletune.db
refused results/tiletune.db "--db results/tiletune.db" import "$REPOSITORY/tests/data/benchmark_hub/A4000.json.gz"
ln -s elsewhere slurm
refused slurm "-o slurm/config" slurm config.json
[[ -z $(ls elsewhere) ]] || broken "written through a link: $(ls elsewhere)"
