# tries: macros and own headers that make headers of the CUDA toolkit include a file outside
# must not: show a line of that file
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
echo "secret_7f3a" >../secret.txt
outside="$PWD/../secret.txt"
mkdir -p copy/thrust/detail
printf '%s\n' "#define THRUST_NS_QUALIFIER" "#include \"$outside\"" >copy/thrust/detail/config.h
printf '%s\n' "#define __THRUST_DEVICE_SYSTEM_NAMESPACE ../../../../../../../../..$outside>" \
  '#include <thrust/universal_vector.h>' "$copies" | kernel copy
sweep
[[ $rows == *'"compile_failed"'* ]] || broken "it was compiled: $rows"
output=$rows must_not_show secret_7f3a out.db
