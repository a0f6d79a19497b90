"""A headless browser, spoken to by its own protocol over two pipes: no package, no port."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-default-apps", "--disable-extensions", "--remote-debugging-pipe"),
)


def find() -> str | None:
    """A browser that knows the protocol, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((found for name in names if (found := shutil.which(name))), None)


class Page:
    """One page; requests that it made are in `requests`."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to = to_browser
        self._from = from_browser
        self._rest = b""
        self._next = 0
        self._session: str | None = None
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One call of the protocol; its result."""
        self._next += 1
        message: dict[str, Any] = {"id": self._next, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (heard := self._hear()).get("id") != self._next:
            pass
        assert "error" not in heard, heard
        result: dict[str, Any] = heard["result"]
        return result

    def open(self, file: Path) -> None:
        """Load a file and wait for the whole of it."""
        self.call("Page.navigate", url=file.as_uri())
        while self._hear().get("method") != "Page.loadEventFired":
            pass

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; a page's own policy does not bind it."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"]["value"]

    def _hear(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._from, 1 << 16)
            assert more, "the browser has gone"
            self._rest += more
        raw, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(raw)
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        return message


@contextmanager
def page(profile: Path) -> Iterator[Page]:
    """A fresh browser with one page.

    Args:
        profile: a folder of its own.
    """
    browser = find()
    assert browser
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    command = [browser, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
    # The protocol's pipes are file descriptors 3 and 4.
    script = f'exec 3<&{theirs_in} 4>&{theirs_out}; exec "$@"'
    process = subprocess.Popen(
        ["bash", "-c", script, "bash", *command],
        pass_fds=(theirs_in, theirs_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Page(ours_out, ours_in)
    finally:
        process.terminate()
        process.wait(timeout=20)
        os.close(ours_out)
        os.close(ours_in)
