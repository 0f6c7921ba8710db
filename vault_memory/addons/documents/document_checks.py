"""What `doctor` says about documents: what is read, and what of which files is not, and why."""

from typing import TYPE_CHECKING

from vault_memory.addons.documents import document_index, pdf_reader, pdf_worker
from vault_memory.addons.documents.document_index import DocumentIndex, Source
from vault_memory.api.checks import by_reason, counted, passed, warned
from vault_memory.edits.reports import Check

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory

NAME = "documents"
AGAIN = "mend or replace the file; `vault-memory index PATH` reads it again"
FIXES = {pdf_worker.ENCRYPTED: "save a copy of it without a password"}


def checks(memory: "VaultMemory") -> list[Check]:
    """Returns what is not read of which documents, and how many are."""
    documents = DocumentIndex(Source.of(memory.vault))
    with documents.opened() as index:
        if index is None:
            return []
        count = index.count_notes()
        reasons = {path: reason for path, (reason, _) in index.parked().items()}
        waiting = document_index.waiting(index)
        silent = [path for path in document_index.without_text(index) if path not in reasons]
    warnings = [
        warned(NAME, f"{counted(paths)}: {reason}", FIXES.get(reason, AGAIN))
        for reason, paths in by_reason(reasons).items()
    ]
    if waiting and not pdf_reader.is_installed():
        reason = f"{counted(waiting)}: found by name alone, as the extra `documents` is missing"
        warnings.append(warned(NAME, reason, "pip install 'vault-memory[documents]'"))
    elif waiting:
        reason = f"{counted(waiting)}: not read yet"
        warnings.append(warned(NAME, reason, "vault-memory index"))
    if silent:
        warnings.append(passed(NAME, f"{counted(silent)}: no text, perhaps scanned; found by name"))
    return [*warnings, passed(NAME, f"{count:,} documents are found by name")]
