from torch._abstract.core import Storage

UntypedStorage = TypedStorage = Storage
