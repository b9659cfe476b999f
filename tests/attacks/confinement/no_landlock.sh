# tries: to run where the kernel has no Landlock
# must not: run without a warning, read files outside, or run with --confined
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
without_landlock=$REPOSITORY/tests/attacks/confinement/without_landlock
"$without_landlock" true || not_here "no filter of system calls can be set"
echo "secret_7f3a" >../secret.txt
printf '%s\n' '#include "../../secret.txt"' "$copies" | kernel copy
attempt "$without_landlock" "$TILETUNE" sweep config.json --gpu H100 --db out.db
[[ $output == *"kernels are not confined here: this kernel has no Landlock"* ]] || broken "nothing is said: $output"
must_not_show secret_7f3a out.db
attempt "$without_landlock" "$TILETUNE" inspect config.json --gpu H100
[[ $output == *"kernels are not confined here: this kernel has no Landlock"* ]] || broken "inspect says nothing: $output"
attempt "$without_landlock" "$TILETUNE" bench ./copy --set THREADS=128 --problem 1048576 --gpu H100 --db out.db
[[ $output == *"kernels are not confined here: this kernel has no Landlock"* ]] || broken "bench says nothing: $output"
attempt "$without_landlock" "$TILETUNE" doctor
[[ $output == *"kernels are not confined here"* ]] || broken "doctor does not say so: $output"
attempt "$without_landlock" "$TILETUNE" sweep config.json --gpu H100 --db out.db --confined
((status == 2)) && [[ $output == *"kernels cannot be confined here"* ]] || broken "--confined goes on: $output"
