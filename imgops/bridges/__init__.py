"""The same operators on the arrays of others: `dask`, larger than memory, and `torch`, differentiable.

Each module needs the package that it is named after, and nothing of it is imported before the module is.
"""
