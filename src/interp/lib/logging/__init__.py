"""Logging that says nothing."""

CRITICAL = FATAL = 50
ERROR = 40
WARNING = WARN = 30
INFO = 20
DEBUG = 10
NOTSET = 0
_levelToName = {50: 'CRITICAL', 40: 'ERROR', 30: 'WARNING', 20: 'INFO', 10: 'DEBUG', 0: 'NOTSET'}
_nameToLevel = {'CRITICAL': 50, 'FATAL': 50, 'ERROR': 40, 'WARN': 30, 'WARNING': 30, 'INFO': 20, 'DEBUG': 10, 'NOTSET': 0}
raiseExceptions = False
lastResort = None


class Filterer:
    def __init__(self):
        self.filters = []

    def addFilter(self, filter):
        self.filters.append(filter)

    def removeFilter(self, filter):
        if filter in self.filters:
            self.filters.remove(filter)


class Handler(Filterer):
    level = NOTSET
    formatter = None

    def __init__(self, *args, **kwargs):
        self.filters = []

    def setLevel(self, level):
        self.level = level

    def setFormatter(self, formatter):
        self.formatter = formatter

    def emit(self, record):
        pass

    handle = emit

    def flush(self):
        pass

    close = flush


class StreamHandler(Handler):
    pass


class FileHandler(Handler):
    pass


class NullHandler(Handler):
    pass


class Formatter:
    def __init__(self, *args, **kwargs):
        pass

    def format(self, record):
        return ''


class Filter:
    def __init__(self, name=''):
        self.name = name

    def filter(self, record):
        return True


class LogRecord:
    pass


class Logger(Filterer):
    def __init__(self, name, level=NOTSET):
        self.name = name
        self.level = level
        self.handlers = []
        self.filters = []
        self.parent = None
        self.propagate = True
        self.disabled = False
        self.manager = manager

    def debug(self, msg, *args, **kwargs):
        pass

    info = warning = warn = error = critical = fatal = exception = debug

    def log(self, level, msg, *args, **kwargs):
        pass

    def setLevel(self, level):
        self.level = level

    def getEffectiveLevel(self):
        return self.level or WARNING

    def isEnabledFor(self, level):
        return False

    def addHandler(self, handler):
        self.handlers.append(handler)

    def removeHandler(self, handler):
        if handler in self.handlers:
            self.handlers.remove(handler)

    def hasHandlers(self):
        return bool(self.handlers)

    def getChild(self, suffix):
        return getLogger(self.name + '.' + suffix)


class LoggerAdapter(Logger):
    def __init__(self, logger, extra=None):
        Logger.__init__(self, 'adapter')
        self.logger = logger
        self.extra = extra


class Manager:
    loggerDict = {}


manager = Manager()
root = Logger('root', WARNING)
Logger.root = root
Logger.manager = manager


def getLogger(name=None):
    if not name:
        return root
    if name not in manager.loggerDict:
        logger = manager.loggerDict[name] = Logger(name)
        logger.parent = root
    return manager.loggerDict[name]


def getLevelName(level):
    found = _levelToName.get(level)
    return _nameToLevel.get(level, 'Level %s' % level) if found is None else found


def addLevelName(level, levelName):
    _levelToName[level] = levelName
    _nameToLevel[levelName] = level


def getLevelNamesMapping():
    return _nameToLevel.copy()


def basicConfig(**kwargs):
    pass


def debug(msg, *args, **kwargs):
    pass


info = warning = warn = error = critical = fatal = exception = debug


def log(level, msg, *args, **kwargs):
    pass


def disable(level=CRITICAL):
    pass


captureWarnings = setLoggerClass = disable


def getLoggerClass():
    return Logger


def shutdown():
    pass
