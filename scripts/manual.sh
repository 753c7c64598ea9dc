#!/usr/bin/env bash
# Writes the man pages (rldp.1 and one for each subcommand) and the completion for bash from what the program itself says:
#   scripts/manual.sh PROGRAM DIRECTORY
set -euo pipefail
program=$1
out=$2
mkdir -p "$out/man1" "$out/completions"
version=$("$program" version | awk '$1 == "rldp" {print $2}')

# Text that roff takes literally.
literal() { sed -e 's/\\/\\e/g' -e "s/^[.']/\\\\\&&/" -e 's/-/\\-/g'; }

# page NAME SENTENCE: from the help on standard input.
page() {
    printf '.TH %s 1 "" "rldp %s" "User Commands"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n' \
        "$(tr '[:lower:]' '[:upper:]' <<< "$1")" "$version" "$1" "$(literal <<< "$2")"
    literal
    printf '.fi\n'
}

# "NAME SENTENCE" for each subcommand of the help on standard input.
subcommands() { sed -n '/^Subcommands:/,$p' | sed -nE 's/^  ([a-z]+) +(.*)/\1 \2/p'; }

cases=
# command SENTENCE WORD…: the page of one command, of those below it, and what completes it.
command_page() {
    local sentence=$1 of_it options below name rest
    shift
    of_it=$("$program" "$@" --help)
    page "$(IFS=-; echo "rldp-$*")" "$sentence" <<< "$of_it" > "$out/man1/$(IFS=-; echo "rldp-$*").1"
    options=$(grep -oE -- '^  (-[a-z],)?--[a-z][a-z-]*' <<< "$of_it" | grep -oE -- '--[a-z-]+' | tr '\n' ' ')
    below=$(subcommands <<< "$of_it")
    cases+="            \"$*\") words=\"$options$(cut -d ' ' -f 1 <<< "$below" | tr '\n' ' ')\" ;;"$'\n'
    while read -r name rest; do
        [[ -z $name ]] || command_page "$rest" "$@" "$name"
    done <<< "$below"
}

help=$("$program" --help)
page rldp "$(head -n 1 <<< "$help")" <<< "$help" > "$out/man1/rldp.1"
all=$(subcommands <<< "$help")
while read -r name sentence; do
    command_page "$sentence" "$name"
done <<< "$all"

cat > "$out/completions/rldp" <<END
# bash completion for rldp: subcommands, their options, and files
_rldp() {
    local words= word command=() current=\${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ \$word =~ ^[a-z]+\$ ]] || break
        command+=("\$word")
    done
    # An argument may look like a subcommand: then the longest command that there is.
    while true; do
        case "\${command[*]}" in
            "") ((COMP_CWORD > 1)) || words="$(cut -d ' ' -f 1 <<< "$all" | tr '\n' ' ')" ;;
$cases        esac
        [[ -z \$words && \${#command[@]} -gt 0 ]] || break
        unset 'command[-1]'
    done
    [[ \$current == -* ]] || words=\$(tr " " "\n" <<< "\$words" | grep -v "^-")
    mapfile -t COMPREPLY < <(compgen -W "\$words" -- "\$current")
}
complete -o default -F _rldp rldp
END
