# Completion of vault-memory for fish.
function __vault_memory_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (command $words[1] __complete fish $words[2..-1] 2>/dev/null)
    switch "$lines[1]"
        case files
            __fish_complete_path (commandline -ct)
        case folders
            __fish_complete_directories (commandline -ct)
    end
    if test (count $lines) -gt 1
        printf '%s\n' $lines[2..-1]
    end
end
complete -c vault-memory -f -a '(__vault_memory_complete)'
