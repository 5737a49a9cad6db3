type X[T = int, *Ts = *tuple[int], **P = [int]] = T
