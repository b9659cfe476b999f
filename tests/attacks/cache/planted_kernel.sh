# tries: a kernel in the user's cache that another user owns, that others can write to, or that is a link
# must not: be used
source "$REPOSITORY/tests/attacks/common.sh"
source "$REPOSITORY/tests/attacks/tiny.sh"

write_tiny_sweep mine
umask 000
inspect() {
  attempt "$TILETUNE" inspect mine/tiny.json --gpu A100-40GB
  ((status == 0)) || broken "inspect failed: $output"
}

inspect
cubin=$(find "$XDG_CACHE_HOME" -name '*.cubin')
[[ -f $cubin ]] || broken "nothing was cached"
[[ -z $(find "$cubin" -perm /022) ]] || broken "others can write to what was cached"

is_replaced() {
  local before
  before=$(stat -c '%i %z' "$cubin")
  inspect
  [[ $(stat -c '%i %z' "$cubin") != "$before" ]] || broken "$1 was used"
  [[ ! -L $cubin && $(stat -c %u "$cubin") == $(id -u) && -z $(find "$cubin" -perm /022) ]] ||
    broken "$1 was not replaced"
}

before=$(stat -c '%i %z' "$cubin")
inspect
[[ $(stat -c '%i %z' "$cubin") == "$before" ]] || broken "even an own kernel is not used"
chmod 666 "$cubin"
is_replaced "a file that others can write to"
mv "$cubin" elsewhere
ln -s "$PWD/elsewhere" "$cubin"
is_replaced "a link"
chown 12345 "$cubin" 2>/dev/null || not_here "another user's files can be made by root alone"
is_replaced "another user's file"
