# tries: a cache in the place that is used without HOME and XDG_CACHE_HOME, created earlier by another user, as a link or writable by all
# must not: use a kernel from it, or write into it
source "$REPOSITORY/tests/attacks/common.sh"
source "$REPOSITORY/tests/attacks/tiny.sh"

write_tiny_sweep mine
mkdir temporary
export TMPDIR=$PWD/temporary
cache=$TMPDIR/tiletune-$(id -u)
somebody_else=12345

inspect() { attempt env -u HOME -u XDG_CACHE_HOME "$TILETUNE" inspect mine/tiny.json --gpu A100-40GB; }
compiled() { find "$cache/" -name '*.cubin' | wc -l; }

inspect
((status == 0)) || broken "it does not run at all: $output"
(($(compiled) == 1)) || broken "nothing was cached in $cache"
[[ -z $(find "$cache" -maxdepth 1 -perm /077) ]] || broken "a new cache is open to others"

mv "$cache" planted
ln -s "$PWD/planted" "$cache"
inspect
((status == 2)) && [[ $output == *"symbolic link"* ]] || broken "a link was followed: $output"
rm "$cache"

mv planted "$cache"
touch "$cache/cubin/planted"
chmod 777 "$cache/cubin"
inspect
((status == 0)) || broken "a folder that others could write is not replaced: $output"
[[ ! -e $cache/cubin/planted ]] || broken "what others could write was kept"

chown -R "$somebody_else" "$cache" 2>/dev/null || not_here "another user's files can be made by root alone"
inspect
((status == 2)) && [[ $output == *"belongs to the user $somebody_else"* ]] ||
  broken "another user's folder was used: $output"
chown "$(id -u)" "$cache"
inspect
((status == 2)) && [[ $output == *"belongs to the user $somebody_else"* ]] ||
  broken "another user's folder in it was used: $output"
