"""Files that are somewhere else: read in ranges, never downloaded whole.

    hf://org/model[@revision]/file     a file on the Hugging Face hub; without /file all files of the repository
    hf://org, hf://?search=bert        for a survey: all repositories of an organisation, or those that a query finds
    https://host/path                  a file on a server that gives ranges; http:// only with insecure=True
    s3://, gs://, az://, file://, ...  whatever fsspec has a file system for

huggingface_hub and fsspec find the credentials, as they do for everybody else. A token goes to the host it is for and
nowhere else: not along a redirect to another host, not into a message.
"""

from __future__ import annotations

import posixpath
import random
import re
import threading
import time
import urllib.parse
from typing import Any, Iterator, NamedTuple, Protocol

BLOCK = 64 << 10  # what the first request asks for: the library reads in blocks of this size
SMALL = 1 << 20  # a server without ranges may send a file of this size whole
MAX_REDIRECTS = 5
PER_HOST = 64  # requests at the same time
AGAIN = (429, 500, 502, 503, 504)  # the server says that it may work later


class RemoteError(OSError):
    """A file that can't be read where it is. Messages have no query strings: signatures are in them."""


class Missing(RemoteError):
    """There is no such file."""


class Options(NamedTuple):
    insecure: bool = False  # http, too
    seconds: float = 120.0  # that all requests for one file may take
    attempts: int = 4  # of one request


class Source(Protocol):
    """What _pellucid.look reads from."""

    uri: str
    size: int
    etag: str

    def read_at(self, offset: int, length: int) -> bytes: ...


def is_remote(name: str) -> bool:
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", name) is not None


def shown(uri: str) -> str:
    """The address without what may be a secret: user, password, query."""
    parts = urllib.parse.urlsplit(uri)
    host = parts.netloc.rpartition("@")[2] if parts.scheme in ("http", "https") else parts.netloc
    return urllib.parse.urlunsplit((parts.scheme, host, parts.path, "", ""))


def open_file(uri: str, options: Options = Options()) -> Source:
    """Raises Missing if there is no such file, RemoteError for everything else that goes wrong."""
    scheme = uri.partition("://")[0].lower()
    if scheme in ("http", "https"):
        return HttpFile(uri, options)
    if scheme == "hf":
        place = HubPlace.of(uri)
        if not place.path:
            raise RemoteError(f"{uri} is a repository: name one of its files")
        return HttpFile(place.url(), options, _hub_token(), uri=uri)
    return FsspecFile(uri)


def beside(uri: str, name: str) -> str:
    """The address of a file in the same folder."""
    parts = urllib.parse.urlsplit(uri)
    quoted = urllib.parse.quote(name) if parts.scheme in ("http", "https") else name
    return urllib.parse.urlunsplit(parts._replace(path=posixpath.join(posixpath.dirname(parts.path), quoted)))


def files_below(uri: str) -> list[tuple[str, int | None]] | None:
    """The files below a folder or repository with their sizes, sorted; None: the address is that of a file."""
    scheme = uri.partition("://")[0].lower()
    if scheme in ("http", "https"):
        return None  # a server has no folders
    if scheme == "hf":
        place = HubPlace.of(uri)
        return sorted(place.files()) if not place.path or uri.endswith("/") else None
    try:
        system, path = _fsspec(uri)
        if not system.isdir(path):
            return None
        found = system.find(path, detail=True)
        return sorted((system.unstrip_protocol(name), info.get("size")) for name, info in found.items()
                      if info.get("type") == "file")
    except Exception as error:
        raise _wrapped(uri, error) from None


# ---- servers ----

_threads = threading.local()
_hosts: dict[str, threading.BoundedSemaphore] = {}
_hosts_lock = threading.Lock()


def _session() -> Any:
    """One for each thread: connections are kept, and never shared."""
    if not hasattr(_threads, "session"):
        try:
            import requests
        except ModuleNotFoundError:
            raise RemoteError("this needs requests. Type: pip install requests") from None
        _threads.session = requests.Session()
    return _threads.session


def _host_limit(host: str) -> threading.BoundedSemaphore:
    with _hosts_lock:
        return _hosts.setdefault(host, threading.BoundedSemaphore(PER_HOST))


class _Later(Exception):
    """Worth another attempt. `wait`: seconds that the server asks for."""

    def __init__(self, why: str, wait: float = 0.0):
        super().__init__(why)
        self.wait = wait


class HttpFile:
    """A file on a server. The first request gives size, version and the first block; every later one is compared with
    that: a server that changes the file, or gives other bytes than those that were asked for, gives an error."""

    def __init__(self, url: str, options: Options, token: str | None = None, uri: str | None = None):
        self.url, self.options, self.token = url, options, token
        self.uri = uri or url
        self.size, self.etag = -1, ""
        self._target: str | None = None  # where the redirects led
        self._left = options.seconds
        self._head = self._read(0, BLOCK)

    def read_at(self, offset: int, length: int) -> bytes:
        if offset + length <= len(self._head):
            return self._head[offset:offset + length]
        return self._read(offset, length)

    def _fail(self, what: str) -> RemoteError:
        return RemoteError(f"{shown(self.uri)}: {what}")

    def _read(self, offset: int, length: int) -> bytes:
        why = ""
        for attempt in range(self.options.attempts):
            started = time.monotonic()
            try:
                return self._attempt(offset, length)
            except _Later as later:
                why = str(later)
                wait = max(later.wait, 0.2 * 2 ** attempt * random.uniform(0.5, 1.0))
            finally:
                self._left -= time.monotonic() - started
            if attempt + 1 == self.options.attempts:
                break
            if wait >= self._left:
                raise self._fail(f"{why}; no time is left for another attempt")
            time.sleep(wait)
            self._left -= wait
        raise self._fail(f"{why} ({self.options.attempts} attempts)")

    def _attempt(self, offset: int, length: int) -> bytes:
        import requests
        try:
            answer = self._ask(offset, length)
        except (requests.ConnectionError, requests.Timeout) as error:
            raise _Later(f"no answer ({type(error).__name__})") from None
        except requests.RequestException as error:
            raise self._fail(f"no request can be made ({type(error).__name__})") from None
        try:
            return self._take(answer, offset, length)
        finally:
            answer.close()

    def _ask(self, offset: int, length: int) -> Any:
        """One request, along its redirects. Where they led is asked first the next time."""
        if self._left <= 0:
            raise self._fail(f"took more than {self.options.seconds:g} s")
        origin, url = self.url, self._target or self.url
        for _ in range(MAX_REDIRECTS + 1):
            parts = urllib.parse.urlsplit(url)
            if parts.scheme != "https" and not (parts.scheme == "http" and self.options.insecure):
                says = "{0}:// is" if url == origin else "leads to {0}://, which is"
                why = "not encrypted (--insecure allows it)" if parts.scheme == "http" else "not read"
                raise self._fail(f"{says.format(parts.scheme)} {why}")
            headers = {"Range": f"bytes={offset}-{offset + length - 1}", "Accept-Encoding": "identity"}
            if self.token and _same_host(url, origin):
                headers["Authorization"] = f"Bearer {self.token}"
            with _host_limit(parts.netloc):
                answer = _session().get(url, headers=headers, stream=True, allow_redirects=False,
                                        timeout=min(30.0, self._left))
            if answer.status_code in (401, 403) and url == self._target:
                answer.close()  # a signed address that has expired
                self._target, url = None, self.url
                continue
            if answer.status_code not in (301, 302, 303, 307, 308):
                self._target = url
                return answer
            answer.close()
            url = urllib.parse.urljoin(url, answer.headers.get("Location", ""))
        raise self._fail(f"more than {MAX_REDIRECTS} redirects")

    def _take(self, answer: Any, offset: int, length: int) -> bytes:
        """The bytes of an answer, if they are those that were asked for."""
        code = answer.status_code
        if code in (404, 410):
            raise Missing(f"{shown(self.uri)}: there is no such file ({code})")
        if code in AGAIN:
            raise _Later(f"the server answers {code}", _seconds(answer.headers.get("Retry-After")))
        if code not in (200, 206, 416):
            raise self._fail(f"the server answers {code}")
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            raise self._fail("the server encodes ranges, which has no meaning")
        first = self.size < 0
        span = re.fullmatch(r"bytes (?:(\d{1,18})-(\d{1,18})|\*)/(\d{1,18})", answer.headers.get("Content-Range", ""))
        if code == 416 and first and span and span[3] == "0":
            self._begin(answer, 0)
            return b""
        if code == 200 and first:
            return self._whole(answer)
        if code != 206 or not span or span[1] is None:
            raise self._fail(f"the server answers {code} where a range was asked for" if code != 206
                             else "the server does not say which range it gives")
        size = int(span[3])
        wanted = min(length, size - offset)
        if first:
            self._begin(answer, size)
        elif size != self.size or _version(answer) != self.etag:
            raise self._fail("the file changed while it was read")
        if (int(span[1]), int(span[2])) != (offset, offset + wanted - 1):
            raise self._fail("the server gives another range than the one that was asked for")
        return self._body(answer, wanted)

    def _begin(self, answer: Any, size: int) -> None:
        self.size, self.etag = size, _version(answer)

    def _whole(self, answer: Any) -> bytes:
        """The server knows no ranges. A small file may come whole."""
        length = answer.headers.get("Content-Length", "")
        if not re.fullmatch(r"\d{1,18}", length):
            raise self._fail("the server gives neither ranges nor a size")
        if int(length) > SMALL:
            raise self._fail(f"the server gives no ranges, and the file has {int(length):,} bytes")
        data = self._body(answer, int(length))
        self._begin(answer, len(data))
        return data

    def _body(self, answer: Any, length: int) -> bytes:
        import urllib3
        pieces, n, until = [], 0, time.monotonic() + self._left
        try:
            while n < length:
                piece = answer.raw.read1(length - n, decode_content=False)  # what has come: a slow server is noticed
                if not piece:
                    raise _Later(f"the answer ends after {n:,} of {length:,} bytes")
                pieces.append(piece)
                n += len(piece)
                if time.monotonic() > until:
                    raise self._fail(f"took more than {self.options.seconds:g} s")
        except (urllib3.exceptions.HTTPError, OSError) as error:
            if isinstance(error, RemoteError):
                raise
            raise _Later(f"the answer breaks off ({type(error).__name__})") from None
        return b"".join(pieces)


def _same_host(a: str, b: str) -> bool:
    return urllib.parse.urlsplit(a)[:2] == urllib.parse.urlsplit(b)[:2]


def _version(answer: Any) -> str:
    return str(answer.headers.get("ETag") or answer.headers.get("Last-Modified") or "")


def _seconds(text: str | None) -> float:
    return min(float(text), 3600.0) if text and re.fullmatch(r"\d{1,6}", text) else 0.0


# ---- the hub ----

def _hub() -> Any:
    try:
        import huggingface_hub
    except ModuleNotFoundError:
        raise RemoteError("hf:// needs huggingface_hub. Type: pip install huggingface_hub") from None
    return huggingface_hub


def _hub_token() -> str | None:
    token = _hub().get_token()
    return str(token) if token else None


class HubPlace(NamedTuple):
    """A repository on the hub, or a file of it."""

    kind: str  # model, dataset, space
    repo: str
    revision: str | None
    path: str

    @classmethod
    def of(cls, uri: str) -> HubPlace:
        found = re.fullmatch(r"hf://(?:(datasets|spaces)/)?([\w.-]+/[\w.-]+)(?:@([^/]+))?(?:/(.*))?", uri)
        if not found or ".." in (found[4] or "").split("/"):
            raise RemoteError(f"{uri}: an address on the hub is hf://org/model[@revision][/file]")
        revision = urllib.parse.unquote(found[3]) if found[3] else None
        return cls((found[1] or "models")[:-1], found[2], revision, found[4] or "")

    def url(self) -> str:
        return str(_hub().hf_hub_url(self.repo, self.path, repo_type=self.kind, revision=self.revision))

    def files(self) -> Iterator[tuple[str, int | None]]:
        """At the commit that the revision names now, so that all files belong together."""
        api = _hub().HfApi()
        try:
            commit = api.repo_info(self.repo, repo_type=self.kind, revision=self.revision).sha
            rows = list(api.list_repo_tree(self.repo, self.path.rstrip("/") or None, recursive=True, revision=commit,
                                           repo_type=self.kind))
        except Exception as error:
            raise _wrapped(f"hf://{self.repo}", error) from None
        kind = "" if self.kind == "model" else f"{self.kind}s/"
        for row in rows:
            if hasattr(row, "size"):
                yield f"hf://{kind}{self.repo}@{commit}/{row.path}", row.size


QUERY = {"author": str, "search": str, "filter": str, "sort": str, "limit": int}  # of HfApi.list_models


def is_hub_query(uri: str) -> bool:
    """An address that names repositories, not files: hf://org, hf://?author=org&search=bert&limit=100."""
    return re.fullmatch(r"hf://[\w.-]*/?(?:\?.*)?", uri) is not None


def files_of_query(uri: str) -> Iterator[str]:
    """The files of all repositories that a query finds, as the hub lists them: a page of repositories at a time."""
    author, _, text = uri.removeprefix("hf://").partition("?")
    asked: dict[str, Any] = {"author": author.rstrip("/")} if author else {}
    for name, value in urllib.parse.parse_qsl(text, keep_blank_values=True):
        if name not in QUERY or name in asked or (QUERY[name] is int and not re.fullmatch(r"[0-9]{1,9}", value)):
            raise RemoteError(f"{uri}: a query of the hub has {', '.join(QUERY)}, each once (limit is a number), "
                              f"not {name}={value}")
        asked[name] = QUERY[name](value)
    if not asked:
        raise RemoteError(f"{uri}: a query of the hub says what it looks for: hf://org, hf://?search=bert&limit=100")
    try:
        for found in _hub().HfApi().list_models(**asked, full=True):
            if found.sha and found.siblings is not None:
                yield from (f"hf://{found.id}@{found.sha}/{file.rfilename}" for file in found.siblings)
            else:  # the hub says so little of some repositories: they are asked for one by one
                yield from (name for name, _ in HubPlace("model", found.id, None, "").files())
    except Exception as error:
        raise _wrapped(uri, error) from None


# ---- fsspec ----

def _fsspec(uri: str) -> tuple[Any, str]:
    try:
        import fsspec.core
    except ModuleNotFoundError:
        raise RemoteError(f"{uri.partition('://')[0]}:// needs fsspec. Type: pip install fsspec") from None
    system, path = fsspec.core.url_to_fs(uri)
    return system, str(path)


def _wrapped(uri: str, error: Exception) -> RemoteError:
    if isinstance(error, RemoteError):
        return error
    is_missing = isinstance(error, FileNotFoundError) or type(error).__name__ == "EntryNotFoundError"
    said = re.sub(r"\?\S+", "?…", str(error).partition("\n")[0])
    return (Missing if is_missing else RemoteError)(f"{shown(uri)}: {type(error).__name__}: {said}")


class FsspecFile:
    """A file of a system that fsspec knows."""

    def __init__(self, uri: str):
        self.uri = uri
        try:
            self.system, self.path = _fsspec(uri)
            info = self.system.info(self.path)
        except Exception as error:
            raise _wrapped(uri, error) from None
        if info.get("type") not in (None, "file") or not isinstance(info.get("size"), int):
            raise RemoteError(f"{shown(uri)}: no file, or one without a size")
        self.size: int = info["size"]
        self.etag = self._version(info)
        self._was_read = False

    @staticmethod
    def _version(info: dict[str, Any]) -> str:
        names = ("ETag", "etag", "md5Hash", "LastModified", "mtime", "last_modified")
        return next((str(info[name]) for name in names if info.get(name)), "")

    def read_at(self, offset: int, length: int) -> bytes:
        """Reads after the first look at the version again: fsspec has no way to ask for a range of one version."""
        try:
            data = self.system.cat_file(self.path, start=offset, end=offset + length)
            if self._was_read:
                self.system.invalidate_cache(self.system._parent(self.path))
                info = self.system.info(self.path)
                if (info.get("size"), self._version(info)) != (self.size, self.etag):
                    raise RemoteError(f"{shown(self.uri)}: the file changed while it was read")
        except Exception as error:
            raise _wrapped(self.uri, error) from None
        self._was_read = True
        return bytes(data)
