# tries: links among the files of an array, in place of a shard's state (to a secret) and of its database
# must not: have the secret shown by 'slurm status', or jobs of 'slurm' write through a link
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
echo "$copies" | kernel copy
attempt "$TILETUNE" slurm config.json -o array
[[ $status == 0 ]] || broken "slurm: $output"
echo "tiletune: SECRET" >secret
for name in started exit log; do ln -s ../../secret "array/shards/1.$name"; done
ln -s ../secret array/jobs
for format in table json; do
  attempt "$TILETUNE" slurm status array --format "$format"
  [[ $status == 1 && $output == *waiting* ]] || broken "status $status: $output"
  must_not_show SECRET
done
attempt "$TILETUNE" slurm config.json -o array
[[ $status == 2 && $output == *"symbolic link"*"-o FOLDER"* ]] || broken "a link among an array's files ends with $status: $output"
rm -r array
# Nothing is left of an array that is refused.
attempt "$TILETUNE" slurm config.json --sbatch $'--a\n#SBATCH --b'
[[ $status == 2 && ! -e slurm ]] || broken "a refused array ends with $status and leaves: $(ls -R)"
