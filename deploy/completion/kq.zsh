#compdef kq kq-broker kq-cache kq-check kq-compare kq-ctl kq-doctor kq-down kq-dump kq-fleet kq-gateway kq-leaderboard kq-plot kq-problem kq-report kq-results kq-show kq-submit kq-sweep kq-top kq-up kq-worker
# Completion of kq and its programs for zsh. The words are those of --help: programs need no list here. The values of an
# option or an argument are completed where --help lists them, as in "--format csv|jsonl".
_kq() {
  local -a asked=("${words[1]}") found
  local word help current=${words[CURRENT]} previous=${words[CURRENT-1]} name='[A-Za-z]+' values
  if [[ $current == --*=* ]]; then
    previous=${current%%=*}
    current=${current#*=}
    compset -P '*='
  fi
  # Verbs come before options: `kq ctl --b` asks `kq ctl --help`.
  for word in "${(@)words[2,CURRENT-1]}"; do
    [[ $word =~ '^[a-z]+(-[a-z]+)*$' && ${asked[1]:t} == (kq|kq-ctl) ]] || break
    asked+=("$word")
    ((${#asked} < 3)) || break
  done
  help=$("${asked[@]}" --help 2>/dev/null </dev/null)
  [[ ! $previous =~ '^--?[a-z][a-z-]*$' ]] || name="(-[^ ]*,)?$previous(,[^ ]*)?"
  values=$(print -r -- "$help" | grep -E "^  $name [a-z0-9_-]+\|" | grep -oE '([a-z0-9_-]+\|)+[a-z0-9_-]+' | head -n 1)
  if [[ $current == -* ]]; then
    found=(${(f)"$(print -r -- "$help" | sed -nE \
      -e 's/^  (-[a-zA-Z],)?(--[a-z][a-z-]*)(,--[a-z-]+)*( [^ ]+)?  +(.*)$/\2:\5/p' \
      -e 's/^  (-[a-zA-Z],)?(--[a-z][a-z-]*)(,--[a-z-]+)*( [^ ]+)?$/\2:/p')"})
    _describe option found
  elif [[ -n $values ]]; then
    found=(${(s:|:)values})
    _describe value found
  elif [[ $help == *"VERB --help lists the arguments"* ]]; then
    found=(${(f)"$(print -r -- "$help" | sed -nE 's/^  ([a-z-]+) +(.*)/\1:\2/p')"})
    _describe verb found
  else
    _files
  fi
}
if [[ $funcstack[1] == _kq ]]; then _kq "$@"; else compdef _kq kq kq-{broker,cache,check,compare,ctl,doctor,down,dump,fleet,gateway,leaderboard,plot,problem,report,results,show,submit,sweep,top,up,worker}; fi
