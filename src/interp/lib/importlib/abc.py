class Loader:
    pass


class MetaPathFinder:
    pass


PathEntryFinder = Finder = ResourceLoader = InspectLoader = ExecutionLoader = FileLoader = SourceLoader = Loader
Traversable = Loader
