"""The files of --out, written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

from bench.findings import Findings
from bench.record import Record
from bench.report import markdown, page, results, sheet
from mlx_spec.errors import SpecError


def write(folder: Path, record: Record, findings: Findings | None) -> list[Path]:
    """Write results.json and samples.csv, and with findings report.md and report.html.

    Returns:
        What was written.

    Raises:
        SpecError: the disk is full or gone.
    """
    contents = {
        results.FILE: json.dumps(results.as_json(record, findings), allow_nan=False, indent=1) + "\n",
        "samples.csv": sheet.report(record),
    }
    if findings:
        contents["report.md"] = markdown.report(record, findings)
        contents["report.html"] = page.report(record, findings)
    written = []
    for name, text in contents.items():
        file, part = folder / name, folder / f"{name}.part"
        try:
            part.write_text(text, encoding="utf-8")
            os.replace(part, file)  # noqa: PTH105  over what is there, on every system
        except OSError as error:
            part.unlink(missing_ok=True)
            raise SpecError(
                f"{file} cannot be written: {error.strerror}.",
                "Make room and go on with --resume: no sample is lost.",
            ) from None
        written.append(file)
    return written
