"""Text in paragraphs."""


def dedent(text):
    lines = text.split('\n')
    margin = None
    for line in lines:
        stripped = line.lstrip(' \t')
        if stripped:
            indent = line[:len(line) - len(stripped)]
            if margin is None:
                margin = indent
            else:
                while not indent.startswith(margin):
                    margin = margin[:-1]
    n = len(margin or '')
    return '\n'.join([line[n:] if line.strip() else '' for line in lines])


def indent(text, prefix, predicate=None):
    return ''.join([prefix + line if (predicate(line) if predicate else line.strip()) else line
                    for line in text.splitlines(True)])


def wrap(text, width=70, initial_indent='', subsequent_indent='', **kwargs):
    lines = []
    current = initial_indent
    empty = True
    for word in text.split():
        if not empty and len(current) + 1 + len(word) > width:
            lines.append(current)
            current = subsequent_indent
            empty = True
        current += word if empty else ' ' + word
        empty = False
    if not empty:
        lines.append(current)
    return lines


def fill(text, width=70, **kwargs):
    return '\n'.join(wrap(text, width, **kwargs))


def shorten(text, width, placeholder=' [...]', **kwargs):
    text = ' '.join(text.split())
    return text if len(text) <= width else text[:width - len(placeholder)].rpartition(' ')[0] + placeholder


class TextWrapper:
    def __init__(self, width=70, **kwargs):
        self.width = width

    def wrap(self, text):
        return wrap(text, self.width)

    def fill(self, text):
        return fill(text, self.width)
