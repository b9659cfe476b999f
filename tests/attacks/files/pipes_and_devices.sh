# tries: a header, a source and a manifest that are pipes, devices, folders or endless
# must not: hang, take all memory, or open them
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
for kind in pipe device folder; do
  for name in part.h kernel.cu template.json reference.cu; do
    rm -rf copy out.db
    printf '%s\n' '#include "part.h"' "$copies" | kernel copy
    touch copy/part.h
    rm "copy/$name"
    case $kind in
      pipe) mkfifo "copy/$name" ;;
      device) ln -s /dev/zero "copy/$name" ;;
      folder) mkdir "copy/$name" ;;
    esac
    attempt "$TILETUNE" sweep config.json --gpu H100 --db out.db
    ((status == 1 || status == 2)) || broken "$kind as $name: $status $output"
  done
done
