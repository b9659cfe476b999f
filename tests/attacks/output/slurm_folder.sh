# tries: configs whose names lead elsewhere, and folders with files and links in place of an array that 'slurm' writes
# must not: write outside the folder 'slurm', or replace a file that 'slurm' did not write
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
echo "$copies" | kernel copy
mkdir home
echo mine >home/submit
# slurm NAME: writes the array of a config of that name, as a string of JSON.
slurm() {
  echo "{\"name\": $1, \"templates\": [\"copy\"], \"problems\": [{\"n\": 1024}]}" >named.json
  attempt "$TILETUNE" slurm named.json
}
for name in '"../home"' "\"../../$(basename "$PWD")/home\"" "\"$PWD/home\"" '".."' '"."' '"a/../../home"' '"-rf\n"'; do
  slurm "$name"
  [[ $status == 0 ]] || broken "the name $name ends with $status: $output"
  [[ $(ls -A) == $'config.json\ncopy\nhome\nnamed.json\nslurm' && $(ls home) == submit && $(ls slurm) != *submit* ]] ||
    broken "the name $name writes elsewhere: $(ls -R . ..)"
done
rm -r slurm
mkdir slurm
ln -s ../home slurm/linked
slurm '"linked"'
[[ $status == 2 && $(ls home) == submit ]] || broken "a link to a folder with files ends with $status: $output"
slurm '"array"'
ln -sf ../../home/submit slurm/array/submit
slurm '"array"'
[[ $(cat home/submit) == mine && $status == 2 ]] || broken "a link in place of a script ends with $status: $output"
mkdir slurm/other
echo mine >slurm/other/best.json
slurm '"other"'
[[ $status == 2 && $(ls slurm/other) == best.json ]] || broken "a folder of others ends with $status: $output"
