match x:
    case 1 | -1 | 1+2j | -1.5-2j | "a" "b" | b"c" | None | True: pass
    case [a, *b, _] | (c, *_): pass
    case {"a": 1, b.c: d, **e}: pass
    case {}: pass
    case []: pass
    case A(): pass
    case A(1, x, y=2, z=[a]): pass
    case (1 | 2) as y if y > 1: pass
    case ((a as b) as c): pass
    case [1 as a, (2 | 3) as b]: pass
    case a.b.c: pass
    case (A() | B()): pass
    case ((1 as a) | (2 as b)): pass
    case *a, b: pass
    case x if (y := x): pass
    case _: pass
match a, b:
    case _: pass
match *a, b:
    case _: pass
match (a,):
    case _: pass
match x := y:
    case _: pass
match -x:
    case _: pass
with (a as b, c as d): pass
