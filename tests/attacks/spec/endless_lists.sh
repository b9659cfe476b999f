# tries: configs and manifests with tens of thousands of parameters, constraints, problems or templates
# must not: overflow the stack, or work for minutes before the first message
source "$REPOSITORY/tests/attacks/common.sh"
source "$REPOSITORY/tests/attacks/tiny.sh"

ulimit -v 4000000

refused() {
  attempt timeout 20 "$TILETUNE" space theirs/tiny.json
  ((status == 2)) && [[ $output == *"$1"* ]] || broken "$1 ended with $status: ${output:0:500}"
}

# A chain of parameters, each connected with the next.
parameters=$(awk 'BEGIN { for (i = 0; i < 30000; ++i) printf "%s{\"name\": \"P%d\", \"values\": [1], \"meaning\": \"m\"}", i ? "," : "", i }')
write_tiny_sweep theirs "$parameters"
refused "/parameters: found 30000 parameters"

write_tiny_sweep theirs
awk 'BEGIN { printf "{\"templates\": [\"tiny\"], \"problems\": [1"; for (i = 2; i <= 60000; ++i) printf ",%d", i; print "]}" }' \
  >theirs/tiny.json
refused "/problems: found 60000 problems"

awk 'BEGIN { printf "{\"templates\": [\"tiny\""; for (i = 2; i <= 60000; ++i) printf ",\"t%d\"", i; print "], \"problems\": [1]}" }' \
  >theirs/tiny.json
refused "/templates: found 60000 templates"
