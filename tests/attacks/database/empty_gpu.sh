# tries: replaying rows whose GPU has no name, or one of punctuation only
# must not: end as an internal error
source "$REPOSITORY/tests/attacks/common.sh"
for gpu in "" "-" "."; do
  recorded a.db
  edit a.db "UPDATE trial SET gpu = '$gpu'"
  attempt "$TILETUNE" sweep "$REPOSITORY/configs/quick.json" --quiet --cache dirty --replay a.db
  [[ $status == 0 && $output == *best\ recorded* ]] || broken "the rows of '$gpu' are not found: $output"
  for name in "" "-" "H200"; do attempt "$TILETUNE" sweep "$REPOSITORY/configs/quick.json" --cache dirty --replay a.db --gpu "$name"; done
  rm a.db*
done
