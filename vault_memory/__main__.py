"""`python -m vault_memory` is the command `vault-memory`."""

from vault_memory.cli import main

if __name__ == "__main__":
    main()
