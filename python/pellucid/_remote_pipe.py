"""Reads remote files for the program `pellucid`, which has no network: it asks on standard input, a line each.

    list URI                   ok N, then N lines of URIs; or: file
    open URI                   ok ID SIZE ETAG
    beside ID NAME             ok ID SIZE ETAG; or: none
    read ID OFFSET LENGTH      ok LENGTH, then that many bytes

Every answer may be "no MESSAGE". Names and addresses are percent-encoded, so that a line is a line.
"""

from __future__ import annotations

import sys
import urllib.parse
from typing import BinaryIO

from ._remote import Missing, Options, RemoteError, Source, beside, files_below, open_file


class Server:
    def __init__(self, options: Options):
        self.options = options
        self.files: list[Source] = []
        self.listed: set[str] = set()  # addresses that are known to be those of files

    def answer(self, words: list[str]) -> list[bytes]:
        """The parts of an answer. Raises RemoteError; ValueError and IndexError for what is no request."""
        what, *rest = words
        if what == "list":
            uri = urllib.parse.unquote(rest[0])
            found = None if uri in self.listed else files_below(uri)
            if found is None:
                return [b"file\n"]
            self.listed.update(name for name, _ in found)
            return [b"ok %d\n" % len(found), *(_quoted(uri) + b"\n" for uri, _ in found)]
        if what == "open":
            return [self.opened(urllib.parse.unquote(rest[0]))]
        if what == "beside":
            try:
                return [self.opened(beside(self.files[int(rest[0])].uri, urllib.parse.unquote(rest[1])))]
            except Missing:
                return [b"none\n"]
        if what == "read":
            offset, length = int(rest[1]), int(rest[2])
            data = self.files[int(rest[0])].read_at(offset, length)
            if len(data) != length:
                raise RemoteError(f"{len(data):,} bytes came where {length:,} were asked for")
            return [b"ok %d\n" % length, data]
        raise ValueError(what)

    def opened(self, uri: str) -> bytes:
        file = open_file(uri, self.options)
        self.files.append(file)
        return b"ok %d %d %s\n" % (len(self.files) - 1, file.size, _quoted(file.etag) or b"-")


def _quoted(text: str) -> bytes:
    return urllib.parse.quote(text, safe="/:@").encode()


def serve(requests: BinaryIO, answers: BinaryIO, options: Options) -> None:
    server = Server(options)
    for line in requests:
        try:
            parts = server.answer(line.decode().split())
        except (RemoteError, ValueError, IndexError) as error:
            said = str(error) if isinstance(error, RemoteError) else f"{type(error).__name__}: {error}"
            parts = [b"no " + " ".join(said.split()).encode() + b"\n"]
        answers.writelines(parts)
        answers.flush()


def main() -> int:
    serve(sys.stdin.buffer, sys.stdout.buffer, Options(insecure="--insecure" in sys.argv))
    return 0
