"""Makes PDFs of every kind: with any number of pages, in Chinese, scanned, encrypted, damaged, hostile."""

import io
import zlib
from collections.abc import Iterable, Sequence

import pypdf

PASSWORD = "lantern and petrel"


def document(objects: Iterable[bytes]) -> bytes:
    """Returns a PDF of these objects, numbered from 1; the first is its catalogue."""
    raw = io.BytesIO()
    raw.write(b"%PDF-1.7\n")
    places: list[int] = []
    for number, content in enumerate(objects, 1):
        places.append(raw.tell())
        raw.write(b"%d 0 obj\n%s\nendobj\n" % (number, content))
    start = raw.tell()
    raw.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1))
    raw.writelines(b"%010d 00000 n \n" % place for place in places)
    raw.write(b"trailer\n<< /Size %d /Root 1 0 R >>\n" % (len(places) + 1))
    raw.write(b"startxref\n%d\n%%%%EOF\n" % start)
    return raw.getvalue()


def stream(content: bytes, *, head: bytes = b"") -> bytes:
    packed = zlib.compress(content)
    head += b" /Filter /FlateDecode /Length %d" % len(packed)
    return b"<< %s >>\nstream\n%s\nendstream" % (head, packed)


LATIN = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
CHINESE = (
    b"<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H"
    b" /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light"
    b" /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 4 >> /DW 1000 >>] >>"
)


def _of_contents(contents: Sequence[bytes], font: bytes, extra: Sequence[bytes] = ()) -> bytes:
    """Returns a PDF with a page for each content, and objects that follow the pages."""
    first = 4
    kids = b" ".join(b"%d 0 R" % (first + 2 * number) for number in range(len(contents)))
    picture = first + 2 * len(contents)
    resources = b"/Font << /F1 3 0 R >>"
    if extra:
        resources += b" /XObject << /Im1 %d 0 R >>" % picture
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(contents)),
        font,
    ]
    for number, content in enumerate(contents):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << %s >> >>" % (first + 2 * number + 1, resources)
        )
        objects.append(stream(content))
    return document([*objects, *extra])


def of_pages(pages: Sequence[str]) -> bytes:
    """Returns a PDF with these texts, a line of it for each line."""
    return _of_contents([_shown(text, _latin) for text in pages], LATIN)


def chinese(pages: Sequence[str]) -> bytes:
    """Returns a PDF in a font of the reader, as Chinese programs make them."""
    return _of_contents([_shown(text, _utf16) for text in pages], CHINESE)


def _shown(text: str, written: "object") -> bytes:
    lines = b" T* ".join(written(line) + b" Tj" for line in text.split("\n"))  # type: ignore[operator]
    return b"BT /F1 11 Tf 14 TL 40 800 Td " + lines + b" ET"


def _latin(line: str) -> bytes:
    raw = line.encode("cp1252").replace(b"\\", b"\\\\")
    return b"(" + raw.replace(b"(", b"\\(").replace(b")", b"\\)") + b")"


def _utf16(line: str) -> bytes:
    return b"<" + line.encode("utf-16-be").hex().encode() + b">"


def scanned() -> bytes:
    """Returns a PDF with one picture, and no text."""
    picture = stream(
        bytes(64 * 64),
        head=b"/Type /XObject /Subtype /Image /Width 64 /Height 64"
        b" /ColorSpace /DeviceGray /BitsPerComponent 8",
    )
    return _of_contents([b"q 595 0 0 842 0 0 cm /Im1 Do Q"], LATIN, [picture])


def encrypted(raw: bytes, *, user: str = PASSWORD) -> bytes:
    """Returns a PDF that opens with a password; "" for one that only forbids printing."""
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(raw))
    writer.encrypt(user_password=user, owner_password=PASSWORD, algorithm="RC4-128")
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


def bomb(megabytes: int = 4000) -> bytes:
    """Returns a small PDF whose page unpacks to as much."""
    packer = zlib.compressobj(9)
    block = b"(a) Tj " * 150_000
    packed = b"".join(packer.compress(block) for _ in range(megabytes)) + packer.flush()
    content = b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (
        len(packed),
        packed,
    )
    return document(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
            LATIN,
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>",
            content,
        ]
    )


def endless() -> bytes:
    """Returns a PDF whose page needs more time than any worker has."""
    return of_pages(["\n".join(["a"] * 300_000)])


def nested(depth: int = 20_000) -> bytes:
    """Returns a PDF with an array in an array, and so on."""
    return document(
        [
            b"<< /Type /Catalog /Pages 2 0 R /Deep %s%s >>" % (b"[" * depth, b"]" * depth),
            b"<< /Type /Pages /Kids [] /Count 0 >>",
        ]
    )
