# tries: options, macros and values whose expansion is far longer than the config
# must not: take memory or time for it; the error names the place
source "$REPOSITORY/tests/attacks/common.sh"
source "$REPOSITORY/tests/attacks/tiny.sh"

ulimit -v 4000000
repeated() { printf "%.0s$2" $(seq "$1"); }

# inspect PLACE PARAMETERS OPTIONS
inspect() {
  write_tiny_sweep theirs "$2" "$3"
  attempt timeout 10 "$TILETUNE" inspect theirs/tiny.json --gpu A100-40GB
  ((status == 2)) && [[ $output == *"$1"* ]] || broken "$3 of $2 ended with $status: ${output:0:500}"
}

two='{"name": "V", "values": ["a", "b"], "meaning": "a text"}'
write_tiny_sweep theirs "$two" "\"-DX=$(repeated 48 '{V}')\""
attempt timeout 10 "$TILETUNE" inspect theirs/tiny.json --gpu A100-40GB
((status == 0)) || broken "one name repeated 48 times ended with $status: $output"

many=$(for ((i = 0; i < 48; ++i)); do printf '{"name": "P%d", "values": [0, 1], "meaning": "a bit"},' "$i"; done)
inspect "/compile_options/0" "${many%,}" "\"-DX=$(for ((i = 0; i < 48; ++i)); do printf '{P%d}' "$i"; done)\""
long=$(printf '{"name": "V", "values": ["%s"], "meaning": "a text"}' "$(repeated 1000 x)")
inspect "/compile_options/0" "$long" "\"-DX=$(repeated 5000 '{V}')\""
longer=$(printf '{"name": "V", "values": ["%s"], "meaning": "a text"}' "$(repeated 100000 x)")
inspect "/parameters/0/values/0" "$longer" '"-DX={V}"'
