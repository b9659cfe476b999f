# tries: a source and a header that are exchanged against links to a file outside, again and again, while they are read
# must not: ever show a line of that file
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
echo "#error secret_7f3a" >../secret.txt
printf '%s\n' '#include "part.h"' "$copies" | kernel copy
cp copy/kernel.cu kernel.good
echo "#define PART" >part.good
cp part.good copy/part.h
(
  while true; do
    ln -sf ../../secret.txt copy/link && mv -f copy/link copy/part.h
    cp part.good copy/new && mv -f copy/new copy/part.h
    ln -sf ../../secret.txt copy/link && mv -f copy/link copy/kernel.cu
    cp kernel.good copy/new && mv -f copy/new copy/kernel.cu
  done
) 2>/dev/null &
exchanging=$!
trap 'kill $exchanging; wait $exchanging || true' EXIT
for ((run = 0; run < 60; ++run)); do
  attempt "$TILETUNE" inspect config.json --gpu H100 --format json
  must_not_show secret_7f3a
done
