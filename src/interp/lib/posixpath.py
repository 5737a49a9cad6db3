from os.path import *
from os.path import join, split, basename, dirname, splitext, isabs, normpath, abspath, exists, isfile, isdir, relpath
