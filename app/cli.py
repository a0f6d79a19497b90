"""The command `specchat`: finds out what is asked for and loads only what that needs.

Neither MLX nor Textual is imported here, so `--help` answers at once. A command is one module with
`arguments(parser)` and `run(args, given) -> exit code`, in `app/subcommands/`, and one line in COMMANDS.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO

from app.errors import INTERRUPTED, UsageError, did_you_mean, report
from app.settings import config
from app.settings.options import Option
from app.settings.settings import OPTIONS, Settings
from mlx_spec.errors import SpecError

COMMANDS = {
    "ask": "answer one prompt on stdout; piped text is added to the prompt",
    "audit": "compare plain and speculative decoding on this pair, token by token",
    "bench": "measure which draft length pays here, if any; or compare with mlx-lm, or two sweeps",
    "chats": "list, search, show, rename, pin, delete, restore, export, import and back up kept chats",
    "plan": "predict the speed of a pair on a chip, before downloading anything",
    "paths": "show where config, data, models and caches are",
}

_ABOUT = "Local chat with lossless speculative decoding. Without a command: the terminal UI."
_VALUED = {option.flag for option in OPTIONS if not option.kind.switch} | {"--resume"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run specchat.

    Args:
        argv: the arguments after the program's name; None takes the process's own.

    Returns:
        0 done, 1 failure, 2 wrong use, 3 the model is missing or cannot be used, 130 interrupted.
    """
    try:
        _open_closed_streams()
        _accept_any_text()
        try:
            code = _dispatch(list(sys.argv[1:] if argv is None else argv))
        except SystemExit as end:  # how argparse ends after --help and --version
            code = int(end.code or 0)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has what it wanted (`| head`). Python flushes stdout again at exit: into nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001  the one place where every failure becomes a sentence
        return report(error)
    return code


def _dispatch(argv: list[str]) -> int:
    command, rest = _split(argv)
    own = {"-h", "--help", "--version", "--plain"} & set(rest)
    # Textual reads stdin and draws on stderr; an answer for a pipe goes to stdout.
    screen = all(map(_is_terminal, (sys.stdin, sys.stdout, sys.stderr)))
    if command is None and not screen and not own:
        command = "ask"
    given: list[tuple[Option, str]] = []
    if command is None:
        args = _parse(_parser("specchat", _ABOUT, given, root=True), rest)
        return _chat(config.read(given), args.resume, plain=args.plain)
    if command not in COMMANDS:
        # An unknown option before it explains more: its value was taken for the command.
        parser = _parser("specchat", _ABOUT, given, root=True)
        _refuse_flags(parser, parser.parse_known_args(rest)[1])
        raise UsageError(
            f"There is no command {command!r}.",
            did_you_mean(command, list(COMMANDS)) or 'To ask one question: specchat ask "QUESTION".',
        )
    module = importlib.import_module(f"app.subcommands.{command}")
    parser = _parser(f"specchat {command}", f"{COMMANDS[command].capitalize()}.", given)
    module.arguments(parser)
    code: int = module.run(_parse(parser, rest), given)
    return code


def _open_closed_streams() -> None:
    """The places of stdin, stdout and stderr are taken before a file gets one of them (`specchat <&-`).

    MLX refuses a file that has the place of stdin, and what goes to stdout would go into any other.

    Raises:
        SpecError: stdout is closed, so there is no way to answer.
    """
    for place in range(3):
        try:
            os.fstat(place)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest place that is free
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  to the end
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  to the end
        raise SpecError("Standard output is closed.", "Send it to a file or a pipe.")


def _accept_any_text() -> None:
    """A terminal that cannot show a character shows a stand-in; nothing fails for it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _chat(settings: Settings, chat_id: str | None, *, plain: bool) -> int:
    from app.desk.opening import open_desk

    desk = open_desk(settings, chat_id)
    if plain or _is_dumb():
        from app.line import chat_in_lines

        return chat_in_lines(desk, chosen=plain)
    from app.tui import chat

    return chat(desk)


def _is_dumb() -> bool:
    """The terminal says of itself that it can only write lines."""
    return os.environ.get("TERM") == "dumb"


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _split(argv: list[str]) -> tuple[str | None, list[str]]:
    """The command, which is the first word that is no option and no option's value, and the rest."""
    at = 0
    while at < len(argv) and argv[at] != "--":
        word = argv[at]
        if not word.startswith("-"):
            return word, argv[:at] + argv[at + 1 :]
        at += 2 if word in _VALUED else 1
    return None, argv


class _Parser(argparse.ArgumentParser):
    """argparse whose complaints are exceptions."""

    @property
    def flags(self) -> list[str]:
        return [flag for flag in self._option_string_actions if flag.startswith("--")]

    def error(self, message: str) -> NoReturn:
        message = message.removeprefix("argument ")
        if message.endswith("expected one argument"):
            flag = message.partition(":")[0]
            raise UsageError(f"{flag} needs a value.", f"If it starts with a dash, write {flag}=VALUE.")
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", f"See {self.prog} --help.")


def _parser(prog: str, about: str, given: list[tuple[Option, str]], root: bool = False) -> _Parser:
    """A parser with the common options, which it appends to `given` in their order."""
    parser = _Parser(
        prog=prog,
        usage="specchat [COMMAND] [OPTION ...]" if root else None,
        description=about,
        epilog=_epilog() if root else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if root:
        resume = parser.add_mutually_exclusive_group()
        resume.add_argument(
            "-c", "--continue", dest="resume", action="store_const", const="", help="go on with the last chat"
        )
        resume.add_argument("--resume", metavar="CHAT", help="go on with a chat: its id, or the start of it")
        parser.add_argument(
            "--plain", action="store_true", help="chat line by line, for screen readers and simple terminals"
        )
        parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")

    class Collect(argparse.Action):
        def __call__(self, _parser: Any, _args: Any, value: Any, flag: str | None = None) -> None:
            if self.const.kind.switch:
                value = "true" if flag == self.const.flag else "false"
            given.append((self.const, value))

    group = parser.add_argument_group("settings, also in the config file and as SPECCHAT_*")
    for option in OPTIONS:
        group.add_argument(
            *_flags(option),
            nargs=0 if option.kind.switch else None,
            action=Collect,
            const=option,
            default=argparse.SUPPRESS,
            dest=argparse.SUPPRESS,
            metavar=None if option.kind.switch else option.kind.metavar,
            help=_help(option),
        )
    return parser


def _flags(option: Option) -> list[str]:
    return [option.flag, f"--no-{option.name}"] if option.kind.switch else [option.flag]


def _help(option: Option) -> str:
    default = getattr(Settings(), option.attribute)
    notes = [] if default in (None, ()) or default is False else [f"default: {default}"]
    notes += ["may be repeated"] if option.kind.repeatable else []
    return (option.help + (f" ({', '.join(notes)})" if notes else "")).replace("%", "%%")


def _epilog() -> str:
    width = max(map(len, COMMANDS)) + 2
    lines = [f"  {name:{width}}{about}" for name, about in COMMANDS.items()]
    codes = "exit codes: 0 done, 1 failure, 2 wrong use, 3 no usable model, 130 interrupted"
    return "\n".join(["commands:", *lines, "", "specchat COMMAND --help says more about one.", "", codes])


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_rest: Any) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            sys.stdout.write(f"specchat {version('specchat')}\n")
        except PackageNotFoundError:
            sys.stdout.write("specchat (run from its source, not installed)\n")
        parser.exit()


def _parse(parser: _Parser, words: list[str]) -> argparse.Namespace:
    # Several words of one argument may stand among options (`bench compare --json A B`); after `--`,
    # which only the ordinary way honours, there are none.
    parse = parser.parse_known_args if "--" in words else parser.parse_known_intermixed_args
    args, strangers = parse(words)
    if not strangers:
        return args
    _refuse_flags(parser, strangers)
    raise UsageError(f"Unexpected argument {strangers[0]!r}.", "Put a prompt of several words in quotes.")


def _refuse_flags(parser: _Parser, words: list[str]) -> None:
    for word in words:
        if word.startswith("-") and word != "--":
            flag = word.partition("=")[0]
            near = did_you_mean(flag, parser.flags)
            raise UsageError(f"Unknown option {flag}.", near or f"See {parser.prog} --help.")
