class OpaqueBase:
    pass


class OpaqueBaseMeta(type):
    pass
