"""A hub of models on loopback: the parts of the protocol that huggingface_hub uses to find repositories, to list one,
and to give its files. Files are given by another host, as the hub does it.

    with Hub(folder, {"org/model": {"model.safetensors": folder / "net.safetensors"}}) as hub:
        os.environ["HF_ENDPOINT"] = hub.endpoint
"""

from __future__ import annotations

import json
import pathlib
import urllib.parse
from typing import Any, Mapping

from range_server import Handler, Served

COMMIT = "c" * 40
PAGE = 100  # repositories of an answer


class AsHub(Handler):
    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path.startswith("/ok/"):
            return super().do_GET()
        self.server.seen.append(("hub", path, dict(self.headers)))
        if path == "/api/models":
            return self.list(dict(urllib.parse.parse_qsl(query)))
        if path.startswith("/api/models/"):
            return self.describe(path.removeprefix("/api/models/"))
        owner, name, _, _, file = (path.lstrip("/").split("/", 4) + [""] * 5)[:5]
        found = self.server.repositories.get(f"{owner}/{name}", {}).get(file)
        if found is None:
            return self.give(404, b"", {"X-Error-Code": "EntryNotFound"})
        port = self.server.server_address[1]
        target = urllib.parse.quote(str(found.relative_to(self.server.folder)))
        return self.give(302, b"", {"Location": f"http://localhost:{port}/ok/{target}?signature=s3cret"})

    def answer(self, value: Any, headers: Mapping[str, str] = {}) -> None:
        self.give(200, json.dumps(value).encode(), {"Content-Type": "application/json", **headers})

    def row(self, repository: str) -> dict[str, Any]:
        files = self.server.repositories[repository]
        return {"id": repository, "sha": COMMIT, "siblings": [{"rfilename": name} for name in files]}

    def list(self, asked: dict[str, str]) -> None:
        """A page of what fits; the header Link says where the next one is."""
        fitting = [name for name in self.server.repositories
                   if name.startswith(asked.get("author", "") + "/" if "author" in asked else "")
                   and asked.get("search", "") in name]
        start = int(asked.get("cursor", 0))
        end = start + min(PAGE, int(asked.get("limit", PAGE)))
        headers = {}
        if end < len(fitting):
            link = urllib.parse.urlencode({**asked, "cursor": end})
            headers["Link"] = f'<http://127.0.0.1:{self.server.server_address[1]}/api/models?{link}>; rel="next"'
        self.answer([self.row(name) for name in fitting[start:end]], headers)

    def describe(self, rest: str) -> None:
        repository, _, tree = rest.partition("/tree/")
        repository = repository.partition("/revision/")[0]
        if repository not in self.server.repositories:
            return self.give(404, b"", {"X-Error-Code": "RepoNotFound"})
        if not tree:
            return self.answer(self.row(repository))
        return self.answer([{"type": "file", "path": name, "size": path.stat().st_size, "oid": "0" * 40}
                            for name, path in sorted(self.server.repositories[repository].items())])


class Hub:
    def __init__(self, folder: pathlib.Path, repositories: Mapping[str, Mapping[str, pathlib.Path]],
                 delay: float = 0.0):
        self.served = Served(folder, delay)
        self.served.server.RequestHandlerClass = AsHub
        self.served.server.repositories = repositories

    def __enter__(self) -> Hub:
        self.served.__enter__()
        return self

    def __exit__(self, *_: Any) -> None:
        self.served.__exit__()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.served.server.server_address[1]}"

    @property
    def seen(self) -> list[tuple[str, str, dict[str, str]]]:
        return self.served.seen
