# tries: line breaks, escape sequences and NULs in names of a config, a manifest, a recording and a database
# must not: begin a line that reads like one of tiletune's or a command of a build server, or cut off place and remedy
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
break='\n::warning::forged\n  Run as root: x\n\u001b[31m'
# no_forgery WHAT: every line of $output is one of tiletune's, or visibly quoted.
no_forgery() {
  ! grep -qE '^[[:space:]]*(::|Run as root)' <<<"$output" || broken "$1 forges a line: $output"
  [[ $output != *$'\x1b'* ]] || broken "$1 shows an escape sequence: $output"
}
echo "$copies" | kernel copy
for key in "$break" '\u0000key'; do
  echo "{\"templates\": [\"copy\"], \"problems\": [1], \"$key\": 1}" >config.json
  attempt "$TILETUNE" space config.json
  no_forgery "the key $key"
  [[ $status == 2 && $output == *"unknown key"*"Rename or remove it"* ]] || broken "the key $key: $status $output"
done
echo "{\"templates\": [\"$break\"], \"problems\": [1]}" >config.json
attempt "$TILETUNE" space config.json
no_forgery "a template's name"
echo '{"templates": ["copy"], "problems": [{"n": 1024}]}' >config.json
sed -i "s/\"meaning\": \"[^\"]*\"/\"meaning\": \"${break//\\/\\\\}\"/" copy/template.json
for command in "space config.json" "bench copy --problem 1024 --gpu H100" "check config.json"; do
  # shellcheck disable=SC2086
  attempt "$TILETUNE" $command
  no_forgery "a parameter's meaning, in $command,"
done
echo '::warning::forged' >>copy/kernel.cu
for command in "check config.json" "bench copy --set THREADS=128 --problem 1024 --gpu H100" "sweep config.json --gpu H100"; do
  # shellcheck disable=SC2086
  attempt "$TILETUNE" $command
  no_forgery "a line of the source, in $command,"
done
cat >recording.json <<END
{"device_name": "A$break", "kernel_name": "k$break", "problem_size": "p$break", "tune_params_keys": ["a$break", "b"],
 "cache": {"1": {"a$break": 1, "b": 2, "time": 1.0}, "2": {"a$break": 2, "b": 2, "time": "Failed$break"}}}
END
attempt "$TILETUNE" import recording.json --db x.db
no_forgery "a recording"
for command in "rank --db x.db" "compare --db x.db" "portfolio x.db" "rank --db x.db --gpu none"; do
  # shellcheck disable=SC2086
  attempt "$TILETUNE" $command
  no_forgery "a recording, in $command,"
done
