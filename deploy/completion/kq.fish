# Completion of kq and its programs for fish. The words are those of --help: programs need no list here. The values of
# an option or an argument are completed where --help lists them, as in "--format csv|jsonl".
function __kq_help
    set -l words (commandline -opc)
    set -l asked $words[1]
    # Verbs come before options: `kq ctl --b` asks `kq ctl --help`.
    for word in $words[2..-1]
        string match -qr '^[a-z]+(-[a-z]+)*$' -- $word
        and contains (basename $asked[1]) kq kq-ctl
        or break
        set -a asked $word
        test (count $asked) -lt 3
        or break
    end
    command $asked --help 2>/dev/null </dev/null
end

function __kq_options
    __kq_help | string replace -rf '^  (?:-[a-zA-Z],)?(--[a-z][a-z-]*)(?:,--[a-z-]+)*(?: \S+)?(?:  +(.*))?$' '$1\t$2'
end

function __kq_verbs
    set -l help (__kq_help)
    string match -q '*VERB --help lists the arguments*' -- $help
    and printf '%s\n' $help | string replace -rf '^  ([a-z-]+) +(.*)$' '$1\t$2'
end

function __kq_values
    set -l name '[A-Za-z]+'
    set -l last (commandline -opc)[-1]
    string match -qr '^--?[a-z][a-z-]*$' -- $last
    and set name "(?:-\S*,)?$last(?:,\S*)?"
    set -l values (__kq_help | string replace -rf "^  $name ([a-z0-9_-]+(?:\\|[a-z0-9_-]+)+)(?: .*)?\$" '$1')
    set -q values[1]
    and string split '|' -- $values[1]
end

for program in kq kq-broker kq-cache kq-check kq-compare kq-ctl kq-doctor kq-down kq-dump kq-fleet kq-gateway \
    kq-leaderboard kq-plot kq-problem kq-report kq-results kq-show kq-submit kq-sweep kq-top kq-up kq-worker
    complete -c $program -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__kq_options)'
    complete -c $program -n 'not string match -q -- "-*" (commandline -ct)' -a '(__kq_verbs)'
    complete -c $program -n 'not string match -q -- "-*" (commandline -ct)' -a '(__kq_values)'
end
