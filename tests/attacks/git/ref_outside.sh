# tries: a .git whose HEAD, refs or packed refs lead to a file elsewhere, by name, by `..` or by a symbolic link
# must not: put anything but a commit's hash into the database or an export
source "$REPOSITORY/tests/attacks/common.sh"
source "$REPOSITORY/tests/attacks/tiny.sh"

write_tiny_sweep theirs
echo "THE SECRET" >secret
secret=$PWD/secret

sweep_and_check() {
  rm -f results.db results.json
  attempt "$TILETUNE" sweep theirs/tiny.json --gpu A100-40GB --db results.db --quiet
  ((status == 0)) || broken "the sweep failed: $output"
  attempt "$TILETUNE" export --db results.db --format json --output results.json
  ((status == 0)) || broken "the export failed: $output"
  must_not_show "THE SECRET" results.db results.json
}

for head in "ref: $secret" "ref: ../../secret" "ref: refs/../../../secret" "ref: refs/heads/link" "THE SECRET"; do
  rm -rf theirs/.git
  mkdir -p theirs/.git/refs/heads
  ln -s ../../../../secret theirs/.git/refs/heads/link
  echo "$head" >theirs/.git/HEAD
  sweep_and_check
done
echo "ref: refs/heads/main" >theirs/.git/HEAD
echo "THE SECRET refs/heads/main" >theirs/.git/packed-refs
sweep_and_check
ln -sf ../../secret theirs/.git/HEAD
sweep_and_check
