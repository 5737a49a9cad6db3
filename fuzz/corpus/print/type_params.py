type X = int
type X[T, *Ts, **P] = list[T]
def f[T: int, *Ts, **P](x: T) -> T: pass
class A[T: (int, str)](B[T]): pass
f"{x["a"]}"; f"{'\n'.join(x)}"; f"{f"{f"{x}"}"}"; f"{x:{y:{z}}}"; f"{"\\"}"; f"{'"' + "'"}"
