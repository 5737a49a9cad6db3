class EnabledProxy:
    enabled = True

    def __bool__(self):
        return True


_enabled = EnabledProxy()
