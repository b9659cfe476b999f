# tries: a .git file that names a folder of the attacker's choice as its repository, or the repository of another user
# must not: record what that folder's HEAD says unless the repository itself lists this worktree
source "$REPOSITORY/tests/attacks/common.sh"
source "$REPOSITORY/tests/attacks/tiny.sh"

write_tiny_sweep theirs
commit=1234567890123456789012345678901234567890
mkdir -p mine/.git/worktrees/w
echo "$commit" >mine/.git/HEAD
echo "$commit" >mine/.git/worktrees/w/HEAD
echo "$PWD/my_worktree/.git" >mine/.git/worktrees/w/gitdir

for folder in "$PWD/mine/.git" "$PWD/mine/.git/worktrees/w" ../mine/.git/worktrees/w /dev /proc/self; do
  echo "gitdir: $folder" >theirs/.git
  rm -f results.db
  attempt "$TILETUNE" sweep theirs/tiny.json --gpu A100-40GB --db results.db --quiet
  ((status == 0)) || broken "the sweep failed: $output"
  must_not_show "$commit" results.db
done
