"""Files as they are read: any encoding, or one sentence that names the next step."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest

from app.errors import exit_code, sentence
from app.files.reading import LIMIT, FileError, read, size
from models.locations import chats_file

GERMAN = "Die Straße ist für Fußgänger geöffnet. Schöne Grüße aus München.\n"
KOREAN = "안녕하세요. 회의는 금요일 오후 세 시에 시작합니다.\n장소: 본관 3층 회의실\n"
JAPANESE = "こんにちは。会議は金曜日の午後三時に始まります。\n場所は本館三階です。\n"
SIMPLE = "你好。会议将于星期五下午三点开始。\n地点：主楼三层会议室。\n"
TRADITIONAL = "你好。會議將於星期五下午三點開始。\n地點：主樓三層會議室。\n"
RUSSIAN = "Привет. Совещание начнётся в пятницу в три часа дня.\nМесто: главный корпус.\n"
HEBREW = "שלום. הפגישה תתחיל ביום שישי בשעה שלוש אחר הצהריים.\n"

ENCODED = [
    *[(KOREAN, name) for name in ("utf-8", "utf-8-sig", "utf-16", "utf-32", "cp949", "euc_kr")],
    *[(KOREAN, name) for name in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")],
    *[("plain words\r\nand more\r\n", name) for name in ("ascii", "utf-16-le", "utf-16-be", "utf-32-be")],
    *[(JAPANESE, name) for name in ("shift_jis", "euc_jp", "iso2022_jp")],
    (SIMPLE, "gb18030"),
    (TRADITIONAL, "big5"),
    *[(GERMAN, name) for name in ("latin-1", "cp1252")],
    *[(RUSSIAN, name) for name in ("cp1251", "koi8_r")],
    ("Příliš žluťoučký kůň úpěl ďábelské ódy. Zítra v pátek.\n", "cp1250"),
    ("Καλημέρα. Η συνάντηση αρχίζει την Παρασκευή στις τρεις.\n", "cp1253"),
    (HEBREW, "cp1255"),
    ("مرحبا. سيبدأ الاجتماع يوم الجمعة في الساعة الثالثة.\n", "cp1256"),
    ("\x1b[31merror\x1b[0m: progress 10%\b\b\b20%\n", "utf-8"),
]


@pytest.mark.parametrize(("text", "encoding"), ENCODED, ids=[name for _, name in ENCODED])
def test_text_is_read_in_its_encoding_with_its_line_ends(tmp_path: Path, text: str, encoding: str) -> None:
    raw = text.encode(encoding)
    (tmp_path / "a.txt").write_bytes(raw)
    file = read(tmp_path / "a.txt")
    assert file.text == text
    assert (file.path, file.size) == (str(tmp_path / "a.txt"), len(raw))
    assert file.sha256 == sha256(raw).hexdigest()
    assert raw.decode(file.encoding) == text


def refusal(path: Path | str) -> str:
    with pytest.raises(FileError) as caught:
        read(path)
    assert exit_code(caught.value) == 1
    assert caught.value.next_step
    return sentence(caught.value)


@pytest.mark.parametrize(
    ("raw", "finding"),
    [
        (b"", "is empty. Attach a file with text in it."),
        (b" \n\t\n", "is empty."),
        (b"\xef\xbb\xbf", "is empty."),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0", "is not a text file. Attach a text file"),
        (b"PK\3\4\x14\0\6\0\x08\0\0\0!\0", "is not a text file."),
        (bytes(range(1, 256)), "is not a text file."),
        (b"\1\2\3\4", "is not a text file."),
        (bytes(100), "is not a text file."),
        (b"%PDF-1.7\n1 0 obj", "is a PDF. Save its text, for example with pdftotext"),
        ((KOREAN * 3).encode()[:-3], "is UTF-8 but for 1 byte. Save it as UTF-8"),
        (b"\xff\xfea\0b", "starts as UTF-16 and goes on otherwise."),
        (b"x" * (LIMIT + 1), "has 2 MB, and 2 MB is the most. Take a part of it."),
        (b"x" * 3_400_000, "has 3.4 MB, and 2 MB is the most."),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_text_is_refused(tmp_path: Path, raw: bytes, finding: str) -> None:
    (tmp_path / "file").write_bytes(raw)
    assert refusal(tmp_path / "file").startswith(f"{tmp_path}/file {finding}")


def test_a_file_of_just_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * LIMIT)
    assert read(tmp_path / "a").size == LIMIT


def test_a_mistyped_name_is_asked_back(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    assert refusal(tmp_path / "nots.txt") == f"There is no file {tmp_path}/nots.txt. Did you mean notes.txt?"
    assert refusal(tmp_path / "zzz" / "a").endswith("a. Check its path.")
    assert refusal(tmp_path / "notes.txt" / "a").endswith("a. Check its path.")


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "is a pipe or a device. Save what comes out of it" in refusal(tmp_path / "pipe")
    assert "is a pipe or a device." in refusal("/dev/null")
    assert "is a folder. Take the files in it" in refusal(tmp_path)
    assert "Check its path." in refusal(f"{tmp_path}/a\0b")
    assert "cannot be read: " in refusal("/" + "x" * 5000)


def test_the_store_of_chats_is_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To close it would drop the locks that SQLite has on it in this process."""
    store = chats_file()
    (tmp_path / "link").symlink_to(store)
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("it was opened"))
    for name in (store, f"{store}-shm", tmp_path / "link"):
        assert refusal(name) == f"{name} is where your chats are kept. Take an export or a backup."


def test_a_link_is_followed_and_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("text")
    (tmp_path / "link").symlink_to("a")
    assert (read(tmp_path / "link").text, read(tmp_path / "link").path) == ("text", str(tmp_path / "link"))
    (tmp_path / "loop").symlink_to("loop")
    assert "cannot be read: " in refusal(tmp_path / "loop")


def test_an_unreadable_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, flags: int) -> int:
        raise PermissionError(13, "Permission denied", name)

    (tmp_path / "a").write_text("text")
    monkeypatch.setattr(os, "open", refuse)
    assert refusal(tmp_path / "a") == (
        f"{tmp_path}/a cannot be read: Permission denied. Take a file that you can open."
    )


def test_home_and_the_current_folder_are_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("text")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert read("~/a").path == read("a").path == str(tmp_path / "a")
    assert refusal("~nobody-here/a").startswith("There is no file")


@pytest.mark.skipif(os.uname().sysname == "Darwin", reason="its file names are always text")
def test_a_name_that_is_no_text_can_be_stored(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9"
    Path(os.fsdecode(name)).write_text("text")
    assert read(os.fsdecode(name)).path == f"{tmp_path}/caf\\xe9"


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"one", "3 bytes, 1 line, UTF-8"),
        (b"line\n" * 2400, "12 KB, 2,400 lines, UTF-8"),
        (b"x" * 1_260_000, "1.3 MB, 1 line, UTF-8"),
        (b"\xef\xbb\xbfa\r\nb", "7 bytes, 2 lines, UTF-8"),
        (KOREAN.encode("cp949"), "73 bytes, 2 lines, CP949"),
    ],
    ids=["one line", "many lines", "large", "marked", "guessed"],
)
def test_its_size_is_told(tmp_path: Path, raw: bytes, told: str) -> None:
    (tmp_path / "a").write_bytes(raw)
    assert size(read(tmp_path / "a")) == told
