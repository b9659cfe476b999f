# tries: files that the shell has open when it starts tiletune, which then starts Slurm's programs
# must not: be open in those programs
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
echo "$copies" | kernel copy
echo TOPSECRET >secret
mkdir bin
for program in sbatch squeue; do
  printf '%s\n' '#!/bin/bash' "readlink /proc/self/fd/* /proc/\$\$/fd/* >>$PWD/open_in_$program" 'echo 42' >bin/$program
  chmod +x bin/$program
done
with_open_files() { attempt bash -c 'PATH=$PWD/bin:$PATH; exec 9<>secret 20<.. 300<secret; exec "$@"' - "$@"; }
with_open_files "$TILETUNE" slurm config.json --gpu H100 --submit
with_open_files "$TILETUNE" slurm status slurm/config
[[ -s open_in_sbatch && -s open_in_squeue ]] || broken "nothing was started: $output"
! grep -E 'secret$|/attack_[^/]*$' open_in_* || broken "these are open"
