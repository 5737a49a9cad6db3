try: pass
except* A: pass
except* (B, C) as e: pass
x[*a]; x[*a, b]; x[(*a, b)]
def f(*args: *Ts): pass
