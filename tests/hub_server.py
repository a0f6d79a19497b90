"""A hub on loopback: enough of the real one's answers to list, fetch, cut and resume a repository."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

PIECE = 16 << 10  # bytes
LARGE = ".safetensors"  # such files are kept by hash, as large files are on the real hub


@dataclass
class Hub:
    """What the server has and how it behaves; a test may change it while it runs.

    Attributes:
        repositories: name to folder of its files.
        commit: of every repository.
        status: answer everything with this, if set.
        error_code: the hub's own name for an error, such as `GatedRepo`.
        weights_status: answer requests for large files with this, if set.
        cut: stop each large file's body after this many bytes, if set.
        pace: seconds between two pieces of a large file's body.
        spoil: flip a byte in this many of the next large files.
        more: bytes that follow each large file, though nobody was promised them.
        tokens: Authorization headers that came.
        requests: (method, path, Range header) of everything asked so far.
    """

    repositories: dict[str, Path]
    commit: str = "0123456789abcdef0123456789abcdef01234567"
    status: int | None = None
    error_code: str = ""
    weights_status: int | None = None
    cut: int | None = None
    pace: float = 0.0
    spoil: int = 0
    more: int = 0
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)
    tokens: set[str | None] = field(default_factory=set)
    url: str = ""

    def entries(self, name: str) -> list[dict[str, object]]:
        found = []
        for file in sorted(self.repositories[name].iterdir()):
            data = file.read_bytes()
            digest = hashlib.sha256(data).hexdigest()
            entry: dict[str, object] = {
                "type": "file",
                "path": file.name,
                "rfilename": file.name,
                "size": len(data),
            }
            entry["oid"] = entry["blobId"] = hashlib.sha1(data).hexdigest()
            if file.suffix == LARGE:
                entry["lfs"] = {"oid": digest, "sha256": digest, "size": len(data), "pointerSize": 134}
            found.append(entry)
        return found


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        hub, path = self.hub, unquote(urlsplit(self.path).path)
        hub.requests.append((self.command, path, self.headers.get("Range")))
        hub.tokens.add(self.headers.get("Authorization"))
        if hub.status:
            return self.send(hub.status, b"", {"X-Error-Code": hub.error_code})
        for name, folder in hub.repositories.items():
            api = f"/api/models/{name}"
            if path.startswith(f"{api}/tree/"):
                return self.send(200, json.dumps(hub.entries(name)).encode())
            if path in (api, f"{api}/revision/main", f"{api}/revision/{hub.commit}"):
                facts = {"id": name, "sha": hub.commit, "siblings": hub.entries(name)}
                return self.send(200, json.dumps(facts).encode())
            if path.startswith(f"{api}/revision/"):
                return self.send(404, b"", {"X-Error-Code": "RevisionNotFound"})
            if path.startswith(f"/{name}/resolve/"):
                return self.file(folder / path.rsplit("/", 1)[1])
        return self.send(404, b"", {"X-Error-Code": "RepoNotFound"})

    def file(self, file: Path) -> None:
        if not file.is_file():
            return self.send(404, b"", {"X-Error-Code": "EntryNotFound"})
        data, large = file.read_bytes(), file.suffix == LARGE
        if large and self.hub.weights_status:
            return self.send(self.hub.weights_status, b"not now")
        etag = (hashlib.sha256 if large else hashlib.sha1)(data).hexdigest()
        headers = {"ETag": f'"{etag}"', "X-Repo-Commit": self.hub.commit}
        if large and self.command == "GET" and self.hub.spoil:
            self.hub.spoil -= 1
            data = data[:-1] + bytes([data[-1] ^ 1])
        start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").split("-")[0])
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        if large and self.command == "GET":
            data += bytes(self.hub.more)
        pace = self.hub.pace if large else 0.0
        return self.send(206 if start else 200, data[start:], headers, self.hub.cut if large else None, pace)

    def send(
        self,
        status: int,
        body: bytes,
        headers: dict[str, str] | None = None,
        cut: int | None = None,
        pace: float = 0.0,
    ) -> None:
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            sent = body if cut is None else body[:cut]
            size = PIECE if pace else max(len(sent), 1)
            # Whoever reads may have gone in the middle.
            with suppress(ConnectionError):
                for start in range(0, len(sent), size):
                    time.sleep(pace)
                    self.wfile.write(sent[start : start + size])
            self.close_connection = cut is not None and cut < len(body)


@contextmanager
def serve(repositories: dict[str, Path]) -> Iterator[Hub]:
    """Serve folders as repositories until the block ends."""
    hub = Hub(repositories)
    handler = type("Answers", (_Answers,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
