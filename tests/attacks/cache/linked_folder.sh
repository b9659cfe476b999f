# tries: a symbolic link in place of the kernel cache, of another user, to another user's folder, or to one that others can write
# must not: be followed, or have what lies in the folder removed; the user's own link to an own folder is followed
source "$REPOSITORY/tests/attacks/common.sh"
source "$REPOSITORY/tests/attacks/tiny.sh"

write_tiny_sweep mine
cache=$XDG_CACHE_HOME/tiletune/cubin
mkdir -p "$(dirname "$cache")"
mkdir -m 700 scratch
touch scratch/precious
ln -s "$PWD/scratch" "$cache"
somebody_else=12345

inspect() { attempt "$TILETUNE" inspect mine/tiny.json --gpu A100-40GB; }

# is_refused WHAT: and nothing is written to the folder or removed from it.
is_refused() {
  local before
  before=$(find scratch | sort)
  inspect
  ((status == 2)) || broken "$1 was followed: $output"
  [[ $(find scratch | sort) == "$before" && -L $cache ]] || broken "$1: the folder was changed"
}

inspect
((status == 0)) || broken "an own link to an own folder is refused: $output"
[[ -n $(find scratch -name '*.cubin') && -e scratch/precious ]] || broken "nothing was cached behind an own link"
chmod 770 scratch
is_refused "a link to a folder that others can write"
chmod 700 scratch
chown -h "$somebody_else" "$cache" 2>/dev/null || not_here "another user's files can be made by root alone"
is_refused "another user's link"
chown -h "$(id -u)" "$cache"
chown "$somebody_else" scratch
is_refused "a link to another user's folder"
