"""Documentation that is composed from sources: the decorators give back what they decorate."""


class _Texts:
    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        return {}


class ModelArgs(_Texts):
    pass


class ModelOutputArgs(_Texts):
    pass


class ClassDocstring(_Texts):
    pass


class ClassAttrs(_Texts):
    pass


class ImageProcessorArgs(_Texts):
    pass


ConfigArgs = VideoProcessorArgs = ProcessorArgs = AudioProcessorArgs = ImageProcessorArgs


def auto_docstring(obj=None, *, custom_intro=None, custom_args=None, checkpoint=None, **kwargs):
    return obj if obj is not None else lambda thing: thing


def auto_class_docstring(cls, *args, **kwargs):
    return cls


def auto_method_docstring(function, *args, **kwargs):
    return function


def get_args_doc_from_source(args_classes):
    return {}


def parse_docstring(docstring, max_indent_level=0, return_intro=False):
    return {}, None


def set_min_indent(docstring, indent_level):
    return docstring


def get_indent_level(func):
    return 0
