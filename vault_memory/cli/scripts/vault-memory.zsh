#compdef vault-memory
# Completion of vault-memory for zsh.
_vault_memory() {
    local -a lines values texts
    local line kind value
    lines=("${(@f)$(command ${(Q)words[1]} __complete zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    kind=$lines[1]
    for line in "${(@)lines[2,-1]}"; do
        value=${line%%$'\t'*}
        [[ -n $value ]] || continue
        values+=("$value")
        texts+=("${line/$'\t'/  -- }")
    done
    case $kind in
        files) _files ;;
        folders) _files -/ ;;
    esac
    if (( ${#values} )); then
        local -a open
        if (( ${#values} == 1 )) && [[ $values[1] == *[/=] ]]; then
            open=(-S '')
        fi
        compadd -U -l "${open[@]}" -d texts -- "${values[@]}"
    fi
}
if [[ $funcstack[1] == _vault-memory ]]; then
    _vault_memory "$@"
else
    compdef _vault_memory vault-memory
fi
