__version__ = '26.0'
