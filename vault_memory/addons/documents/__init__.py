"""Documents: the files of a vault that are no notes, found by their names; PDFs also by their text.

The names of the endings are here: a search in a vault without documents loads nothing more.
"""

from collections.abc import Callable, Iterable

from vault_memory.lazy import lazy_members

KIND = "document"
FOLDER = "documents"
"""Of the state folder"""
_FORMS: tuple[Callable[[str], str], ...] = (str.lower, str.upper, str.capitalize)


def _suffixes(endings: Iterable[str]) -> tuple[str, ...]:
    return tuple(f".{form(ending)}" for ending in endings for form in _FORMS)


PDF = _suffixes(["pdf"])
IMAGES = _suffixes("avif bmp gif heic jpeg jpg png svg tif tiff webp".split())
OFFICE = _suffixes("doc docx odp ods odt ppt pptx rtf xls xlsx".split())
SUFFIXES = (*PDF, *IMAGES, *OFFICE)

__getattr__ = lazy_members(__name__)
