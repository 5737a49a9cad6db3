lazy import a.b.c
lazy import d as e
lazy from x.y import z as w, q
lazy from . import m
import sys
from os import *

if sys:
    lazy import h
