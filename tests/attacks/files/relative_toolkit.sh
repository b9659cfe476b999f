# tries: a relative TILETUNE_CUDA_INCLUDE, with nothing compiled before
# must not: crash the compilation
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
toolkit=$(sed -n 's/^tiletune_cuda_INCLUDE.*=//p' "$(dirname "$TILETUNE")/CMakeCache.txt" 2>/dev/null || true)
for folder in "$toolkit" /usr/local/cuda/include "$REPOSITORY/build/cuda/include"; do
  [[ -z $folder || ! -e $folder/cuda_fp16.h ]] || break
done
[[ -e $folder/cuda_fp16.h ]] || not_here "no CUDA headers are found"
ln -s "$folder" toolkit
printf '%s\n' '#include <cuda_fp16.h>' "$copies" | kernel copy
TILETUNE_CUDA_INCLUDE=toolkit sweep
((status == 0)) || broken "$output"
