"""Signatures of the compiled kernels, the same at every instruction-set level. There is no module of this name."""

import numpy as np
from numpy.typing import NDArray

def move_blocks(
    src: np.ndarray,
    dst: np.ndarray,
    channel: int,
    height: int,
    width: int,
    block: int,
    crd: bool,
    to_space: bool,
    src_dtype: int,
    dst_dtype: int,
    parts: int,
    add: bool,
    fresh: bool,
    num_threads: int,
) -> None: ...

class Table:
    input_length: int
    output_length: int
    width: int
    def __init__(
        self,
        input_length: int,
        starts: NDArray[np.int64],
        counts: NDArray[np.int64],
        offsets: NDArray[np.int64],
        weights: NDArray[np.floating | np.uint16],
        padded_starts: NDArray[np.int64],
        padded: NDArray[np.floating | np.uint16],
        core: tuple[int, int],
        rhythm: tuple[int, int],
        shift: int,
    ) -> None: ...

def resample(
    x: np.ndarray,
    first: Table | None,
    second: Table | None,
    out: np.ndarray,
    first_axis: int,
    second_axis: int,
    src_dtype: int,
    dst_dtype: int,
    parts: int,
    itemsize: int,
    add: bool,
    fresh: bool,
    num_threads: int,
) -> None: ...
def nearest(
    x: np.ndarray, tables: tuple[NDArray[np.int64] | None, ...], out: np.ndarray, fresh: bool, num_threads: int
) -> None: ...
