#!/bin/sh
# Starts vault-memory for a program: start.sh VAULT PERSON WORD…
#
# It takes the installed one, else the one that `uvx` fetches. VAULT or PERSON may be empty, or the
# name of a setting that the program did not fill in. Then VAULT_MEMORY_VAULT and VAULT_MEMORY_USER
# name them, from the environment or from the file in which some programs keep their settings.

setting() {
    file=$(dirname "$0")/.env
    if [ -f "$file" ]; then
        sed -n "s/^$1=//p" "$file" | sed 's/^"\(.*\)"$/\1/' | tail -n 1
    fi
}

vault=$1 person=$2
shift 2
case $vault in '' | '$'*) vault=${VAULT_MEMORY_VAULT:-$(setting VAULT_MEMORY_VAULT)} ;; esac
case $person in '' | '$'*) person=${VAULT_MEMORY_USER:-$(setting VAULT_MEMORY_USER)} ;; esac

# A program with windows knows only the folders of the system.
PATH=$PATH:$HOME/.local/bin:${HOMEBREW_PREFIX:-/usr/local}/bin:/usr/local/bin
export PATH

# Says what is missing. A hook must not stop the conversation.
tell() {
    echo "vault-memory: $2" >&2
    if [ "$1" != hook ]; then exit 1; fi
    case $(cat) in
    *'"SessionStart"'*) printf '{"systemMessage": "vault-memory: %s"}\n' "$2" ;;
    esac
    exit 0
}

if [ -z "$vault" ]; then
    tell "$1" "no folder of notes is named; set VAULT_MEMORY_VAULT to it, and start again"
fi
set -- "$@" --vault "$vault"
if [ -n "$person" ]; then
    set -- "$@" --user "$person"
fi

if command -v vault-memory >/dev/null 2>&1; then
    exec vault-memory "$@"
fi
if command -v uvx >/dev/null 2>&1; then
    exec uvx --quiet --from '@SOURCE@' vault-memory "$@"
fi
tell "$1" "the program was not found; install it with: pipx install '@SOURCE@'"
