# tries: pipes, devices and symbolic links in place of a database, of its journal and of its log
# must not: wait for them, read them, or change what a link leads to
source "$REPOSITORY/tests/attacks/common.sh"
mkfifo pipe.db
expected=2 every_reader pipe.db
expected=2 every_reader /dev/zero
echo "a thesis" >precious
for beside in journal wal; do
  recorded a.db
  mkfifo "a.db-$beside"
  expected=2 every_reader a.db
  attempt "$TILETUNE" sweep "$REPOSITORY/configs/quick.json" --gpu A100-40GB --budget 1 --quiet --db a.db
  rm "a.db-$beside"
  ln -s precious "a.db-$beside"
  every_reader a.db
  [[ $(cat precious) == "a thesis" ]] || broken "the file behind a.db-$beside was changed"
  rm -f a.db*
done
