"""Show where specchat keeps its config, data, models and caches."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from app.display import neutralise
from app.settings.config import Given
from models import locations


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object: path and exists of each")


def run(args: argparse.Namespace, given: Given) -> int:
    places = _places()
    if args.json:
        found = {name: {"path": str(place), "exists": place.exists()} for name, place in places.items()}
        sys.stdout.write(json.dumps(found) + "\n")
        return 0
    width = max(map(len, places)) + 2
    for name, place in places.items():
        missing = "" if place.exists() else "  (not there yet)"
        sys.stdout.write(f"{name:{width}}{neutralise(str(place))}{missing}\n")
    return 0


def _places() -> dict[str, Path]:
    return {
        "config": locations.config_file(),
        "data": locations.data_dir(),
        "chats": locations.chats_file(),
        "models": locations.models_dir(),
        "cache": locations.cache_dir(),
        "hub": locations.hub_dir(),
    }
