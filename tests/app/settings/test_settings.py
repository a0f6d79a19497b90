"""Settings: four sources, one table, and complaints that say where a wrong value came from."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from app.cli import COMMANDS
from app.errors import UsageError
from app.settings import config
from app.settings.settings import OPTIONS, Settings
from mlx_spec.options import EngineOptions, Limits, Sampling

BY_NAME = {option.name: option for option in OPTIONS}


def read(
    *flags: tuple[str, str], environ: dict[str, str] | None = None, file: Path | None = None
) -> Settings:
    given = [(BY_NAME[name], text) for name, text in flags]
    return config.read(given, environ or {}, file or Path("/nonexistent/config.toml"))


def test_defaults_are_those_of_the_engine() -> None:
    settings = read()
    assert settings.sampling == Sampling()
    assert settings.limits == Limits()
    assert settings.engine == EngineOptions()


def test_the_nearest_source_wins(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('temp = 0.1\ntop-p = 0.2\ntop-k = 3\nstop = ["a", "b"]\n')
    settings = read(("temp", "0.7"), environ={"SPECCHAT_TEMP": "0.4", "SPECCHAT_TOP_P": "0.5"}, file=file)
    assert (settings.temp, settings.top_p, settings.top_k) == (0.7, 0.5, 3)
    assert settings.stop == ("a", "b")
    assert read(("stop", "c"), ("stop", "d"), file=file).stop == ("c", "d")


def test_every_option_can_be_set_from_every_source(tmp_path: Path) -> None:
    texts = {
        "model": "org/name", "draft": "model:org/draft", "k": "3", "dtype": "float32", "kv-bits": "8",
        "context": "512", "max-tokens": "-1", "temp": "0.5", "top-p": "0.9", "top-k": "20", "min-p": "0.05",
        "xtc-probability": "0.1", "xtc-threshold": "0.2", "repetition-penalty": "1.1",
        "presence-penalty": "0.5", "frequency-penalty": "0.25", "penalty-context": "64",
        "logit-bias": "42=-5", "min-tokens": "3", "seed": "7", "seed-exact": "true",
        "exactness": "strict", "stop": "END", "system": "Be brief.", "trace": "trace.jsonl",
        "cache": "book.cache", "context-full": "drop", "paranoid": "true",
        "details": "true", "theme": "light", "notify": "false",
    }  # fmt: skip
    assert set(texts) == set(BY_NAME)
    bare = {
        "k", "kv-bits", "context", "max-tokens", "temp", "top-p", "top-k", "min-p", "xtc-probability",
        "xtc-threshold", "repetition-penalty", "presence-penalty", "frequency-penalty", "penalty-context",
        "min-tokens", "seed", "seed-exact", "paranoid",
        "details", "notify",
    }  # fmt: skip
    file = tmp_path / "config.toml"
    file.write_text("".join(f"{n} = {t if n in bare else repr(t)}\n" for n, t in texts.items()))
    from_flags = read(*texts.items())
    assert from_flags == read(environ={BY_NAME[name].variable: text for name, text in texts.items()})
    assert from_flags == read(file=file)
    assert from_flags.engine == EngineOptions(
        k=3, kv_bits=8, context=512, exactness="strict", paranoid=True, details=True
    )
    assert from_flags.limits == Limits(max_tokens=-1, stop=("END",))
    assert from_flags.sampling == Sampling(
        temperature=0.5, top_p=0.9, top_k=20, min_p=0.05, xtc_probability=0.1, xtc_threshold=0.2,
        repetition_penalty=1.1, presence_penalty=0.5, frequency_penalty=0.25, penalty_context=64,
        logit_bias=((42, -5.0),), min_tokens=3, seed=7, seed_exact=True,
    )  # fmt: skip


def test_a_switch_can_be_switched_off_again(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("seed-exact = true\n")
    assert read(file=file).seed_exact
    assert not read(("seed-exact", "false"), file=file).seed_exact
    assert not read(environ={"SPECCHAT_SEED_EXACT": "off"}, file=file).seed_exact


def test_an_empty_variable_counts_as_unset_but_an_empty_flag_does_not() -> None:
    assert read(environ={"SPECCHAT_SYSTEM": ""}).system is None
    assert read(("system", "")).system == ""


def test_a_variable_that_sets_nothing_is_a_warning() -> None:
    (warning,) = read(environ={"SPECCHAT_TEMPP": "1", "SPECCHAT_HOME": "/x", "HOME": "/y"}).warnings
    assert warning == "The environment variable SPECCHAT_TEMPP sets nothing. Did you mean SPECCHAT_TEMP?"


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("temp", "hot", "expected a number, not 'hot'"),
        ("temp", "nan", "temperature must be a finite number of at least 0, not nan"),
        ("top-p", "1.5", "top-p must lie between 0 and 1, not 1.5"),
        ("top-k", "3.5", "expected a whole number, not '3.5'"),
        ("k", "17", "from 0 to 16, not 17"),
        ("k", "many", "expected auto or a whole number, not 'many'"),
        ("kv-bits", "5", "kv-bits must be 2, 3, 4, 6 or 8, not 5"),
        ("context", "1", "context must be at least 2 tokens, not 1"),
        ("max-tokens", "0", "max tokens must be at least 1, or -1 for no limit, not 0"),
        ("seed", "-1", "seed must be a whole number from 0"),
        ("stop", "", "a stop string must not be empty"),
        ("dtype", "float31", "Did you mean float32?"),
        ("draft", "lokup", "Did you mean lookup?"),
        ("draft", "model:", "expected auto, none, lookup, self or model:REF, not 'model:'"),
        ("trace", "", "expected a file name"),
        ("model", "", "expected a name"),
        ("system", "\udcff", "expected text in UTF-8"),
    ],
)
def test_a_wrong_value_names_the_flag_or_the_variable(name: str, text: str, complaint: str) -> None:
    with pytest.raises(UsageError) as flag:
        read((name, text))
    assert complaint in str(flag.value)
    assert str(flag.value).startswith(f"--{name}: ")
    if text:
        with pytest.raises(UsageError, match=f"^{BY_NAME[name].variable}: "):
            read(environ={BY_NAME[name].variable: text})


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('temp = "0.5"', "temp in {file}: expected a number, not '0.5'."),
        ("top-k = true", "top-k in {file}: expected a whole number, not True."),
        ("top-k = 1.0", "top-k in {file}: expected a whole number, not 1.0."),
        ("model = 3", "model in {file}: expected a text, not 3."),
        ('stop = ["a", 1]', "stop in {file}: expected a text, not 1."),
        ("top_k = 3", "The config file {file} has an unknown key, top_k. Did you mean top-k?"),
        ("zzz = 3", "The config file {file} has an unknown key, zzz. Known keys: model, draft, k,"),
        ("temp = 1\ntemp =", "The config file {file} is no valid TOML: Invalid value (at line 2, column 7)."),
    ],
)
def test_a_wrong_config_file_is_named(tmp_path: Path, line: str, complaint: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(line + "\n")
    with pytest.raises(UsageError) as error:
        read(file=file)
    assert str(error.value).startswith(complaint.format(file=file))


def test_a_config_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"system = '\xff'\n")
    with pytest.raises(UsageError, match="is not UTF-8"):
        read(file=file)


def test_a_config_file_that_is_no_file_or_has_no_end_is_not_opened(tmp_path: Path) -> None:
    pipe, endless, huge = (tmp_path / name for name in ("pipe", "endless", "huge"))
    os.mkfifo(pipe)
    endless.symlink_to("/dev/zero")
    huge.touch()
    os.truncate(huge, 1 << 40)
    for file in (tmp_path, pipe, endless, huge):
        with pytest.raises(UsageError, match=f"{file} cannot be read: it is no file of at most 32 kB"):
            read(file=file)


@pytest.mark.parametrize("value", ["[" * 5000 + "]" * 5000, "9" * 5000])
def test_a_value_beyond_all_bounds_is_wrong_use(tmp_path: Path, value: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"stop = {value}\n")
    with pytest.raises(UsageError, match="beyond all bounds"):
        read(file=file)


def test_a_home_that_nobody_has_is_a_name_like_any_other() -> None:
    settings = read(("trace", "~nobody-of-this-name/trace"))
    assert settings.trace == Path("~nobody-of-this-name/trace")


def test_help_lists_every_option_and_command(specchat: Callable[..., object]) -> None:
    outcome = specchat("--help")
    for option in OPTIONS:
        assert option.flag in outcome.out  # type: ignore[attr-defined]
    for name in COMMANDS:
        assert f"\n  {name} " in outcome.out  # type: ignore[attr-defined]
