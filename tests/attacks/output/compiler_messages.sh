# tries: escape sequences in a kernel's #error, which the compiler repeats
# must not: reach the terminal or a table with them
source "$REPOSITORY/tests/attacks/common.sh"

mkdir kernel
cat >kernel/template.json <<'JSON'
{
  "name": "escapes", "operation": "gemm", "source": "kernel.cu", "kernel": "escapes",
  "parameters": [{"name": "V", "values": [1]}], "macros": {"V": "V"},
  "launch": {"grid": [1], "block": [32]}, "arguments": [{"buffer": "A"}, {"buffer": "B"}, {"buffer": "C"}]
}
JSON
printf '#error "\033[2J\033]0;owned\007 here"\n' >kernel/kernel.cu
printf '{"templates": ["kernel"], "problems": ["64x64x64"], "gpu": "H100"}' >sweep.json
attempt "$TILETUNE" sweep sweep.json --gpu H100 --db rows.db
must_not_show $'\033'
attempt "$TILETUNE" rank --db rows.db --outcome compile_failed
[[ $output == *"here"* ]] || broken "the message is not kept: $output"
must_not_show $'\033'
must_not_show $'\007'
