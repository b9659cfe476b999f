# tries: a manifest, or a template's folder, that is exchanged against a symbolic link to a file elsewhere while it is read
# must not: read the file elsewhere
source "$REPOSITORY/tests/attacks/common.sh"
source "$REPOSITORY/tests/attacks/tiny.sh"

write_tiny_sweep theirs
write_tiny_sweep outside '{"name": "SECRET", "values": [1], "meaning": "THE SECRET"}'
mv theirs/tiny theirs/own
cp -r theirs/own theirs/mixed
rm theirs/mixed/template.json
ln -s "$PWD/outside/tiny/template.json" theirs/mixed/template.json
ln -s "$PWD/outside/tiny" theirs/link
ln -s own theirs/tiny

exchange() {
  local target
  while :; do
    for target in own mixed own link; do
      ln -sfn "$target" theirs/next
      mv -T theirs/next theirs/tiny
    done
  done
}
exchange &
exchanger=$!
trap 'kill "$exchanger"; wait "$exchanger" || true' EXIT
read_own=0
for ((i = 0; i < 40; ++i)); do
  attempt "$TILETUNE" space theirs/tiny.json
  must_not_show SECRET
  ((status != 0)) || read_own=1
done
((read_own == 1)) || broken "not even the template's own manifest was read: $output"
