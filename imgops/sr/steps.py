"""Scales that no model has, made of those that models have."""

import functools

from .. import _checks
from .upscaler import Upscaler, model_scales


def upscalers(scale, model="best", *, tile=None, num_threads=None):
    """The Upscalers whose scales make the least product that is not below a scale (a Fraction, at least 1).

    The smaller ones come first, so that the larger ones have less to do. What is more than the scale is for an
    antialiased reduction; a scale of 1 needs none.
    """
    scales = model_scales("upscale", model)
    if scales == (1,) and scale > 1:
        _checks.sr_scale("upscale", scale, scales, model)
    options = {"tile": tile, "num_threads": num_threads}
    return [Upscaler(model, factor, **options) for factor in _factors(scale, scales)]


def usual_scale(model):
    """The scale of a model that is not told one: 2 of an embedded model, a file's own."""
    scales = model_scales("upscale", model)
    return scales[0]


def _factors(scale, scales):
    if scales == (1,):
        return scales
    return _least_product(scale, tuple(factor for factor in scales if factor > 1))[1]


@functools.lru_cache(64)
def _least_product(scale, scales):
    """(product, factors in rising order), of as few factors as may be."""
    best = None
    pending = [(1, ())]
    while pending:
        product, factors = pending.pop()
        if product >= scale:
            best = min(best or (product, factors), (product, factors), key=lambda entry: (entry[0], len(entry[1])))
        else:
            pending += [
                (product * factor, (*factors, factor)) for factor in scales if factor >= max(factors, default=1)
            ]
    return best
