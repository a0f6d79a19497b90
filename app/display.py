"""Text and numbers as they may be shown: model output can move no cursor, write no clipboard."""

from __future__ import annotations


def _pictures() -> dict[int, str]:
    shown = {code: chr(0x2400 + code) for code in range(0x20)}  # Unicode's control pictures
    shown[0x7F] = "\u2421"
    # C1 has no pictures; a terminal obeys U+009B just as it obeys ESC [.
    shown |= {code: f"\\x{code:02x}" for code in range(0x80, 0xA0)}
    # A lone surrogate is no character: it cannot be written to any terminal.
    shown |= dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
    for kept in "\n\t":
        del shown[ord(kept)]
    return shown


_PICTURES = _pictures()


def neutralise(text: str) -> str:
    """Make control characters visible and harmless: ESC becomes ␛, U+009B becomes \\x9b.

    Newline and tab stay, and so does everything that is part of writing: joiners of emoji, variation
    selectors, right-to-left text. It looks at one character at a time, so text may come in any pieces.
    """
    return text.translate(_PICTURES)


def shown(value: float | None, form: str) -> str:
    """A number in a form such as `{:.1f} s`; `-` for what is not known."""
    return "-" if value is None else form.format(value)
