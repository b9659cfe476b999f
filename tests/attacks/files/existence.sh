# tries: __has_include, by itself, pasted together and by CCCL's macro, and the wording of errors, for files outside
# must not: reveal whether a file exists
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
echo "secret_7f3a" >../secret.txt
asked() { # EXPRESSION
  rm -f out.db
  printf '%s\n' '#include <cuda/std/version>' '#define ASK __has_##include' '#define PASTED(a, b) a##b' \
    "#if $1" '#error IT IS THERE' '#endif' "$copies" | kernel copy
  sweep
  [[ $rows != *'IT IS THERE'* ]] || broken "$1 tells that the file is there"
}
for file in ../../secret.txt "$PWD/../secret.txt" /etc/passwd etc/passwd ../../../../../../../../etc/passwd; do
  asked "__has_include(\"$file\")"
  asked "__has_include(<$file>)"
  asked "_CCCL_HAS_INCLUDE(<$file>)"
  asked "PASTED(__has_, include)(\"$file\")"
done
reason_of() { # FILE
  rm -f out.db
  printf '%s\n' "#include \"$1\"" "$copies" | kernel copy
  sweep
  sed -n 's/.*"reason": "\(.*\)".*/\1/p' <<<"$rows" | head -n 1
}
there=$(reason_of ../../secret.txt)
missing=$(reason_of ../../absent.txt)
[[ -n $there && ${there//secret/} == "${missing//absent/}" ]] || broken "the errors differ: $there / $missing"
