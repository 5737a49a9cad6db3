from torch import default_generator, get_rng_state, initial_seed, manual_seed, no_grad, seed, set_rng_state


def fork_rng(*args, **kwargs):
    return no_grad()
