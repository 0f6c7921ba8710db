# Completion of vault-memory for bash.
_vault_memory() {
    local kind='' value line
    COMPREPLY=()
    {
        read -r kind
        while IFS= read -r line; do
            value=${line%%$'\t'*}
            COMPREPLY+=("$value")
        done
    } < <(command "$1" __complete bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    case $kind in
        files) compopt -o default ;;
        folders) compopt -o dirnames -o nospace ;;
    esac
    # A folder goes on with the names in it, and an option with its value.
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/=] ]]; then
        compopt -o nospace
    fi
}
complete -F _vault_memory vault-memory
