"""Twenty questions about attached files, to a scripted model that mixes copies with words of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from copies import check, copied_the_long_way
from scripted import ScriptedAssistant, plain

from app.assistant.template import Message
from app.chats.records import Attachment
from app.files.prompt import prompt_of
from app.files.provenance import copied
from app.files.reading import read

TERMS = (
    "1. The landlord shall return the deposit within fourteen days after the tenant has left.\n"
    "2. Repairs that cost less than 120 euros are paid by the tenant, all others by the landlord.\n"
    "3. Either side may end this contract with three months' notice, in writing\n"
    "   and to the last day of a month.\n"
)
SERVER = '''"""A small server."""

import socket

PORT = 8443


def serve(host: str, backlog: int = 16) -> None:
    with socket.create_server((host, PORT), backlog=backlog) as server:
        while True:
            connection, address = server.accept()
            connection.sendall(b"hello")
'''
LOST = "2026-11-29 08:00:07 ERROR worker 3 lost its connection to db-7 after 5 s"
FOUND = "2026-11-29 08:00:09 INFO worker 3 connected to db-7 again"
SHELF = "oak shelf, 80 cm | piece | 49.90 | treated with oil, no varnish |"
MEETING = "다음 회의는 십이월 사일 금요일 오후 세 시에 본관 삼층 회의실에서 열립니다"
FILES = {
    "terms.txt": ("utf-8", TERMS),
    "server.py": ("utf-8-sig", SERVER),
    "app.log": ("utf-16", f"2026-11-29 08:00:01 INFO worker 3 started\r\n{LOST}\r\n{FOUND}\r\n"),
    "회의록.txt": ("cp949", f"{MEETING}.\n발표는 김민수 님이 맡습니다.\n"),
    "通知.txt": ("gb18030", "各位同事：\n年终会议将于十二月四日下午三点在主楼三层会议室召开，请准时参加。\n"),
    "お知らせ.txt": ("shift_jis", "次の会議は十二月四日の午後三時に本館三階の会議室で開きます。\n"),
    "prices.md": (
        "utf-8",
        f"| item | unit | price | note |\n| --- | --- | --- | --- |\n| {SHELF}\n| screw | 100 | 3.20 | |\n",
    ),
}

# A file's name, a question, and an answer in which [[...]] are the copies that must be found.
ASKED = [
    ("terms.txt", "When do I get my deposit back?", "Within two weeks of moving out."),
    (
        "terms.txt",
        "Quote the rule on the deposit.",
        'It is "[[The landlord shall return the deposit within fourteen days after the tenant has left]]".',
    ),
    (
        "terms.txt",
        "Who pays for repairs?",
        "Small repairs [[that cost less than 120 euros are paid by the tenant]]; the rest the landlord pays.",
    ),
    (
        "terms.txt",
        "And how does it end?",
        "You may end it [[with three months' notice, in writing\n   and to the last day of a month.]]",
    ),
    ("terms.txt", "In a few words?", "You give three months' notice, in writing, before a month ends."),
    ("terms.txt", "Quote rules 1 and 2.", f"Gladly.\n\n[[{TERMS[: TERMS.index('3.') - 1]}]]"),
    ("terms.txt", "Is there a pet clause?", "No. None of the three rules speaks of animals."),
    ("server.py", "Which port?", "It listens on 8443."),
    ("server.py", "Show me the loop.", f"```python\n        [[{SERVER[SERVER.index('while') : -1]}]]\n```"),
    (
        "server.py",
        "How does it listen?",
        "So:\n\n    [[with socket.create_server((host, PORT), backlog=backlog) as server:]]\n\nin a block.",
    ),
    (
        "server.py",
        "Give it a timeout.",
        "```python\n[[def serve(host: str, backlog: int = 16]], timeout: float = 5.0) -> None:\n    ...\n```",
    ),
    ("app.log", "What went wrong?", f"Just after eight, [[{LOST[26:]}]]."),
    ("app.log", "Quote the last two lines.", f"[[{LOST}]]\n[[{FOUND}]]"),
    ("app.log", "And with the line ends of the file?", f"[[{LOST}\r\n{FOUND}]]"),
    ("회의록.txt", "언제 만나요?", "십이월 사일 오후 세 시입니다."),
    ("회의록.txt", "그대로 인용해 주세요.", f"“[[{MEETING}]]”라고 적혀 있습니다."),
    (
        "通知.txt",
        "几点开会?",
        "通知说：[[会议将于十二月四日下午三点在主楼三层会议室召开]]。别忘了。",
    ),
    ("お知らせ.txt", "どこで?", "[[本館三階の会議室で開きます。]]来てください。"),
    ("prices.md", "What is the shelf like?", "It is treated with oil, no varnish."),
    ("prices.md", "Just the shelf's row?", f"It is this one:\n[[| {SHELF}]]"),
]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Attachment]:
    for name, (encoding, text) in FILES.items():
        (tmp_path / name).write_bytes(text.encode(encoding))
    return {name: read(tmp_path / name) for name in FILES}


@pytest.mark.parametrize("number", range(len(ASKED)))
def test_copies_are_found_and_own_words_are_not(files: dict[str, Attachment], number: int) -> None:
    name, question, script = ASKED[number]
    answer = script.replace("[[", "").replace("]]", "")
    model = ScriptedAssistant(plain(*(answer[at : at + 7] for at in range(0, len(answer), 7))))
    request = [Message("user", prompt_of(question, [files[name]]))]
    text = "".join(piece for event in model.answer(request) for _, piece in event.pieces)

    # The file that was asked about is the last: the others are there too, as in a long chat.
    attachments = [*(file for other, file in files.items() if other != name), files[name]]
    spans = copied(text, attachments)
    check(text, attachments, spans)
    assert [(s.start, s.end) for s in spans] == copied_the_long_way(text, [file.text for file in attachments])
    marked = text
    for span in reversed(spans):
        assert span.path == files[name].path
        marked = f"{marked[: span.start]}[[{marked[span.start : span.end]}]]{marked[span.end :]}"
    assert marked == script
