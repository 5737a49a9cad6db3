"""typing_extensions: typing, and what came later."""

from typing import *
from typing import (AnyStr, Annotated, Any, ClassVar, Concatenate, Final, Literal, NamedTuple, Never, NewType, NoReturn,
                    NotRequired, Optional, ParamSpec, Protocol, ReadOnly, Required, Self, TypeAlias, TypeAliasType,
                    TypedDict, TypeGuard, TypeIs, TypeVar, TypeVarTuple, Union, Unpack, assert_never, assert_type, cast,
                    clear_overloads, dataclass_transform, final, get_args, get_origin, get_overloads, get_type_hints,
                    is_typeddict, overload, override, reveal_type, runtime, runtime_checkable)
from collections.abc import Buffer
from warnings import deprecated


class Sentinel:
    def __init__(self, name, repr=None):
        self._name = name


def get_protocol_members(tp):
    return set()


def is_protocol(tp):
    return isinstance(tp, type) and Protocol in tp.__mro__


def get_annotations(obj, **kwargs):
    return dict(getattr(obj, '__annotations__', None) or {})


NoDefault = None
TypeForm = TypeAlias
Doc = NoExtraItems = None
