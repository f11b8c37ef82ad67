# Completion of kq and its programs for fish. The words are those of --help: programs need no list here.
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
    __kq_help | string replace -rf '^  (?:-[a-zA-Z],)?(--[a-z][a-z-]*)(?: \S+)?(?:  +(.*))?$' '$1\t$2'
end

function __kq_verbs
    set -l help (__kq_help)
    string match -q '*VERB --help lists the arguments*' -- $help
    and printf '%s\n' $help | string replace -rf '^  ([a-z-]+) +(.*)$' '$1\t$2'
end

for program in kq kq-broker kq-cache kq-check kq-compare kq-ctl kq-doctor kq-down kq-dump kq-fleet kq-gateway \
    kq-leaderboard kq-plot kq-problem kq-report kq-results kq-show kq-submit kq-sweep kq-top kq-up kq-worker
    complete -c $program -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__kq_options)'
    complete -c $program -n 'not string match -q -- "-*" (commandline -ct)' -a '(__kq_verbs)'
end
