# Completion of kq and its programs for bash. The words are those of --help: programs need no list here. The values of
# an option or an argument are completed where --help lists them, as in "--format csv|jsonl".
_kq() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words=("${COMP_WORDS[0]}") word
  # The shell takes --format=csv apart into three words.
  [[ $prev != = ]] || prev=${COMP_WORDS[COMP_CWORD - 2]}
  [[ $cur != = ]] || cur=
  # Verbs come before options: `kq ctl --b` asks `kq ctl --help`.
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word =~ ^[a-z]+(-[a-z]+)*$ && (${words[0]##*/} == kq || ${words[0]##*/} == kq-ctl) ]] || break
    words+=("$word")
    ((${#words[@]} < 3)) || break
  done
  local help name='[A-Za-z]+' values
  help=$("${words[@]}" --help 2>/dev/null </dev/null)
  [[ ! $prev =~ ^--?[a-z][a-z-]*$ ]] || name="(-[^ ]*,)?$prev(,[^ ]*)?"
  values=$(grep -E "^  $name [a-z0-9_-]+\|" <<<"$help" | grep -oE '([a-z0-9_-]+\|)+[a-z0-9_-]+' | head -n 1)
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(grep -oE '(^ +|,)--?[a-z][a-z-]*' <<<"$help" | tr -d ' ,')" -- "$cur")
  elif [[ -n $values ]]; then
    mapfile -t COMPREPLY < <(compgen -W "${values//|/ }" -- "$cur")
  elif [[ $help == *"VERB --help lists the arguments"* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(sed -nE 's/^  ([a-z-]+) .*/\1/p' <<<"$help")" -- "$cur")
  fi
}
for program in kq kq-broker kq-cache kq-check kq-compare kq-ctl kq-doctor kq-down kq-dump kq-fleet kq-gateway \
  kq-leaderboard kq-plot kq-problem kq-report kq-results kq-show kq-submit kq-sweep kq-top kq-up kq-worker; do
  complete -o default -F _kq "$program"
done
unset program
