"""Whether Hydra was started."""


class GlobalHydra:
    @staticmethod
    def instance():
        return GlobalHydra()

    def clear(self):
        pass

    def is_initialized(self):
        return False
