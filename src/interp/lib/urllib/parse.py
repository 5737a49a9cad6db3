"""Addresses as text."""


class ParseResult(tuple):
    _names = ('scheme', 'netloc', 'path', 'params', 'query', 'fragment')

    def __getattr__(self, name):
        if name in ParseResult._names:
            return self[ParseResult._names.index(name)]
        raise AttributeError(name)

    @property
    def hostname(self):
        return self[1].rpartition('@')[2].partition(':')[0].lower() or None

    def geturl(self):
        return urlunparse(self)


def urlparse(url, scheme='', allow_fragments=True):
    url, _, fragment = url.partition('#')
    url, _, query = url.partition('?')
    head, colon, rest = url.partition('://')
    if colon:
        scheme, (netloc, slash, path) = head, rest.partition('/')
        path = slash + path
    else:
        netloc, path = '', url
    return ParseResult((scheme, netloc, path, '', query, fragment))


urlsplit = urlparse


def urlunparse(parts):
    scheme, netloc, path, _, query, fragment = parts
    return (scheme + '://' if scheme else '') + netloc + path + ('?' + query if query else '') + ('#' + fragment if fragment else '')


def quote(string, safe='/', *args):
    return ''.join([c if c.isalnum() or c in '_.-~' + safe else ''.join(['%%%02X' % b for b in c.encode()]) for c in string])


quote_plus = quote


def unquote(string, *args):
    head, *rest = string.split('%')
    return head + ''.join([chr(int(part[:2], 16)) + part[2:] for part in rest])


def urlencode(query, *args, **kwargs):
    return '&'.join(['%s=%s' % (quote(str(k)), quote(str(v))) for k, v in dict(query).items()])


def urljoin(base, url, *args):
    return url if '://' in url else base.rpartition('/')[0] + '/' + url


def parse_qs(query, *args, **kwargs):
    return {k: [v] for k, _, v in [part.partition('=') for part in query.split('&')]}
