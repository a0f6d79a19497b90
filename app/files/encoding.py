"""Which encoding the bytes of a text file are in.

What proves itself comes first: a byte order mark; UTF-8, which other text hardly ever is by chance; then
UTF-16 and UTF-32 without a mark, where alone text has zero bytes. The rest is guessed by a detector.
"""

from __future__ import annotations

import codecs
import unicodedata
from collections import Counter

# UTF-32's mark starts as UTF-16's does.
_MARKS = (
    (codecs.BOM_UTF8, "UTF-8-SIG"),
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_WIDE = ("UTF-32-LE", "UTF-32-BE", "UTF-16-LE", "UTF-16-BE")
# Of the control characters, those that stand in logs, in manual pages and at the end of DOS files.
_CONTROLS = frozenset("\t\n\v\f\r\b\x1a\x1b\x85")
_STRANGE = 0.01  # share of other control characters and of unassigned ones up to which it is text


class NotText(Exception):
    """These bytes are no text.

    Attributes:
        finding: of the file, such as "is a PDF".
        next_step: one sentence.
    """

    def __init__(self, finding: str, next_step: str) -> None:
        super().__init__(finding)
        self.finding = finding
        self.next_step = next_step


def encoding_of(raw: bytes) -> str:
    """The name of a codec that decodes all of `raw` to text.

    Raises:
        NotText: there is none, or the text is damaged.
    """
    if raw.startswith(b"%PDF-"):
        raise NotText("is a PDF", "Save its text, for example with pdftotext, and attach that.")
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            if _decodes(raw, encoding):
                return encoding
            raise NotText(f"starts as {encoding.removesuffix('-SIG')} and goes on otherwise", _REPAIR)
    if b"\0" in raw:
        return _wide(raw)
    # ISO-2022 is ASCII with escapes in it, so it passes for UTF-8.
    if b"\x1b$" not in raw:
        if _decodes(raw, "UTF-8"):
            return "UTF-8"
        _refuse_damaged(raw)
    return _guess(raw)


_REPAIR = "Save it as UTF-8 and attach it again."
_OTHER = "Attach a text file, or save this one's text as one."


def _wide(raw: bytes) -> str:
    """UTF-16 or UTF-32 without a mark: of those that fit, the one that finds most ASCII."""
    fitting = {encoding: raw.decode(encoding) for encoding in _WIDE if _decodes(raw, encoding)}
    if not fitting:
        raise NotText("is not a text file", _OTHER)
    return max(fitting, key=lambda encoding: sum(map(str.isascii, fitting[encoding])))


def _refuse_damaged(raw: bytes) -> None:
    """Raise for what is UTF-8 with some wrong bytes: taken for another encoding, all of it would be wrong."""
    text = raw.decode("utf-8", "surrogateescape")
    beyond = [char for char in text if not char.isascii()]
    wrong = sum("\udc80" <= char <= "\udcff" for char in beyond)
    if not wrong:
        raise NotText("is not a text file", _OTHER)
    if 2 * wrong < len(beyond):
        raise NotText(f"is UTF-8 but for {wrong} byte{'s' * (wrong > 1)}", _REPAIR)


def _guess(raw: bytes) -> str:
    import chardet

    encoding = chardet.detect(raw)["encoding"]
    if encoding is None or not _decodes(raw, encoding):
        raise NotText("is not a text file", _OTHER)
    return encoding


def _decodes(raw: bytes, encoding: str) -> bool:
    try:
        return _is_text(raw.decode(encoding))
    except UnicodeDecodeError:
        return False


def _is_text(text: str) -> bool:
    counts = Counter(text)
    strange = sum(
        count
        for char, count in counts.items()
        if char not in _CONTROLS and unicodedata.category(char) in ("Cc", "Cn")
    )
    return "\0" not in counts and strange <= _STRANGE * len(text)
