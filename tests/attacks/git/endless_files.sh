# tries: a .git, HEAD, ref or packed-refs that is a pipe, /dev/zero or an endless file
# must not: hang, or take memory without bound
source "$REPOSITORY/tests/attacks/common.sh"
source "$REPOSITORY/tests/attacks/tiny.sh"

write_tiny_sweep theirs
ulimit -v 8000000

sweep() {
  rm -f results.db
  attempt "$TILETUNE" sweep theirs/tiny.json --gpu A100-40GB --db results.db --quiet
  ((status == 0)) || broken "the sweep failed: $output"
}

mkfifo theirs/.git
sweep
rm theirs/.git
ln -s /dev/zero theirs/.git
sweep
rm theirs/.git
for name in HEAD refs/heads/main packed-refs; do
  for make in "mkfifo" "ln -s /dev/zero" "truncate -s 1T"; do
    rm -rf theirs/.git
    mkdir -p theirs/.git/refs/heads
    echo "ref: refs/heads/main" >theirs/.git/HEAD
    rm -f "theirs/.git/$name"
    $make "theirs/.git/$name"
    sweep
  done
done
