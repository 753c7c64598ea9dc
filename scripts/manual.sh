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

help=$("$program" --help)
page rldp "$(head -n 1 <<< "$help")" <<< "$help" > "$out/man1/rldp.1"

subcommands=()
cases=
while read -r name sentence; do
    of_it=$("$program" "$name" --help)
    page "rldp-$name" "$sentence" <<< "$of_it" > "$out/man1/rldp-$name.1"
    options=$(grep -oE -- '^  (-[a-z],)?--[a-z][a-z-]*' <<< "$of_it" | grep -oE -- '--[a-z-]+' | tr '\n' ' ')
    subcommands+=("$name")
    cases+="        $name) words=\"$options\" ;;"$'\n'
done < <(sed -n '/^Subcommands:/,$p' <<< "$help" | sed -nE 's/^  ([a-z]+) +(.*)/\1 \2/p')

cat > "$out/completions/rldp" <<END
# bash completion for rldp: subcommands, their options, and files
_rldp() {
    local words current=\${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    case \$((COMP_CWORD > 1)):\$current in
        0:*) words="${subcommands[*]}" ;;
        1:-*) case \${COMP_WORDS[1]} in
$cases        esac ;;
        *) return ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "\$words" -- "\$current")
}
complete -o default -F _rldp rldp
END
