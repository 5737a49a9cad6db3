"""Command lines: an option has its default where it has one that means something, else it is unknown.

A script is read as if it were started without arguments; an argument that would be required is a symbol, and
`--set args.NAME=VALUE` gives any of them.
"""

import _pellucid

SUPPRESS = '==SUPPRESS=='
OPTIONAL, ZERO_OR_MORE, ONE_OR_MORE, PARSER, REMAINDER = '?', '*', '+', 'A...', '...'


class ArgumentError(Exception):
    pass


class ArgumentTypeError(Exception):
    pass


class Namespace:
    def __init__(self, **kwargs):
        self.__dict__.update(kwargs)

    def __contains__(self, key):
        return key in self.__dict__

    def __eq__(self, other):
        return isinstance(other, Namespace) and self.__dict__ == other.__dict__

    __hash__ = None

    def __repr__(self):
        return 'Namespace(%s)' % ', '.join(['%s=%r' % item for item in self.__dict__.items()])


class HelpFormatter:
    def __init__(self, *args, **kwargs):
        pass


class ArgumentDefaultsHelpFormatter(HelpFormatter):
    pass


RawTextHelpFormatter = RawDescriptionHelpFormatter = MetavarTypeHelpFormatter = HelpFormatter


class Action:
    def __init__(self, option_strings, dest, nargs=None, const=None, default=None, type=None, choices=None, required=False,
                 help=None, metavar=None, **kwargs):
        self.option_strings = option_strings
        self.dest = dest
        self.nargs = nargs
        self.const = const
        self.default = default
        self.type = type
        self.choices = choices
        self.required = required
        self.help = help
        self.metavar = metavar


class BooleanOptionalAction(Action):
    pass


class FileType:
    def __init__(self, *args, **kwargs):
        pass


class _Container:
    def __init__(self):
        self._actions = []
        self._defaults = {}

    def add_argument(self, *names, **options):
        action = options.pop('action', None)
        dest = options.pop('dest', None)
        optional = bool(names) and names[0].startswith('-')
        if dest is None:
            if not names:
                raise ValueError('dest= is required')
            long = [name for name in names if name.startswith('--')] or list(names)
            dest = long[0].lstrip('-').replace('-', '_') if optional else names[0]
        if action == 'store_true':
            options.setdefault('default', False)
        elif action == 'store_false':
            options.setdefault('default', True)
        elif action == 'count':
            options.setdefault('default', None)
        required = options.pop('required', not optional and options.get('nargs') not in ('?', '*'))
        default = options.pop('default', None)
        made = Action(list(names) if optional else [], dest, default=default, required=required, **options)
        made.action = action
        self._actions.append(made)
        return made

    def add_argument_group(self, *args, **kwargs):
        return self

    def add_mutually_exclusive_group(self, **kwargs):
        return self

    def set_defaults(self, **kwargs):
        self._defaults.update(kwargs)

    def get_default(self, dest):
        if dest in self._defaults:
            return self._defaults[dest]
        for action in self._actions:
            if action.dest == dest:
                return action.default
        return None

    def register(self, *args):
        pass


class _Commands:
    def __init__(self, dest):
        self.dest = dest
        self.choices = {}

    def add_parser(self, name, **kwargs):
        self.choices[name] = ArgumentParser()
        return self.choices[name]


class ArgumentParser(_Container):
    def __init__(self, prog=None, usage=None, description=None, epilog=None, parents=(), **kwargs):
        _Container.__init__(self)
        self.prog = prog
        self.description = description
        self._commands = None
        for parent in parents:
            self._actions.extend(parent._actions)
            self._defaults.update(parent._defaults)

    def add_subparsers(self, **kwargs):
        self._commands = _Commands(kwargs.get('dest'))
        return self._commands

    def parse_args(self, args=None, namespace=None):
        if args:
            return self._parse(list(args), namespace)[0]
        if args is None:
            _pellucid.premise('the command line', 'taken to be empty: arguments have their defaults')
        return self._fill(namespace or Namespace(), set())

    def parse_known_args(self, args=None, namespace=None):
        if args:
            return self._parse(list(args), namespace)
        return self.parse_args(None, namespace), []

    parse_intermixed_args = parse_args

    def _fill(self, space, given):
        for action in self._actions:
            if action.dest in given or action.default is SUPPRESS or action.action in ('help', 'version'):
                continue
            value = self._value_of(action)
            if not hasattr(space, action.dest):
                setattr(space, action.dest, value)
        for name, value in self._defaults.items():
            if name not in given:
                setattr(space, name, value)
        if self._commands is not None and self._commands.dest:
            setattr(space, self._commands.dest, _pellucid.unknown('command', 'the command line gives it'))
        return space

    def _value_of(self, action):
        """What --set gives, else the default; a required one is a symbol of the name that it has in most scripts."""
        text = 'args.' + action.dest
        value = _pellucid.symbol(text, 'the command line gives it')
        if not _pellucid.is_symbol(value):
            _pellucid.premise(text, 'given by --set')
            return action.type(value) if isinstance(value, str) and action.type is not None else value
        if action.required:
            names = '/'.join(action.option_strings or [action.dest])
            return _pellucid.unknown(text, 'the command line gives it by %s, --set can' % names)
        value = action.default
        return action.type(value) if isinstance(value, str) and action.type is not None else value

    def _parse(self, args, namespace):
        space = namespace or Namespace()
        given = set()
        rest = []
        options = {name: action for action in self._actions for name in action.option_strings}
        positional = [action for action in self._actions if not action.option_strings]
        while args:
            arg = args.pop(0)
            name, equals, value = arg.partition('=')
            if name in options:
                action = options[name]
                given.add(action.dest)
                convert = action.type or (lambda x: x)
                if action.action in ('store_true', 'store_false'):
                    setattr(space, action.dest, action.action == 'store_true')
                elif action.action == 'store_const':
                    setattr(space, action.dest, action.const)
                elif action.nargs in ('+', '*') or isinstance(action.nargs, int):
                    found = [value] if equals else []
                    while args and not args[0].startswith('-'):
                        found.append(args.pop(0))
                    setattr(space, action.dest, [convert(x) for x in found])
                else:
                    setattr(space, action.dest, convert(value if equals else args.pop(0)))
            elif positional and not arg.startswith('-'):
                action = positional.pop(0)
                given.add(action.dest)
                setattr(space, action.dest, action.type(arg) if action.type else arg)
            else:
                rest.append(arg)
        return self._fill(space, given), rest

    def print_help(self, file=None):
        pass

    print_usage = print_help

    def format_help(self):
        return ''

    format_usage = format_help

    def error(self, message):
        raise SystemExit(2)

    def exit(self, status=0, message=None):
        raise SystemExit(status)
