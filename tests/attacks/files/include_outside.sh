# tries: a kernel that includes a file outside its folders: by a relative path, an absolute one, angled, through a link, by a macro
# must not: show a line of that file, in the output or in the database
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
echo "secret_7f3a" >../secret.txt
mkdir copy
ln -s ../../secret.txt copy/link.h
for include in '"../../secret.txt"' '<../../secret.txt>' "\"$PWD/../secret.txt\"" "<$PWD/../secret.txt>" '"link.h"' FILE; do
  rm -f out.db
  printf '%s\n' '#define FILE "../../secret.txt"' "#include $include" "$copies" | kernel copy
  sweep
  [[ $rows == *'"compile_failed"'* ]] || broken "$include was compiled: $rows"
  must_not_show secret_7f3a out.db
  output=$rows must_not_show secret_7f3a
done
