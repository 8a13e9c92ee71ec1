"""A pyramid of a large array in Zarr: every level half as large, filtered as it shrinks, without seams.

    python examples/zarr_pyramid.py [FOLDER]

Needs dask and zarr: pip install "imgops[dask]" zarr. Each level is read from the one before it, chunk by chunk, so that
memory holds a few chunks whatever the array's size; the bits are those of the whole array in memory. Writes
pyramid.zarr, its arrays "0", "1", ... listed as OME-Zarr has them, and zarr_pyramid.png.
"""

import dask
import dask.array as da
import numpy as np
import zarr
from PIL import Image
from sheet import output_folder, sheet

import imgops
from imgops.bridges import dask as lazy

SIDE = 2000
CHUNK = 256


def zone_plate(rows, columns):
    """Rings that become finer outwards, where a level without a filter would show rings that are not there."""
    return np.rint(127.5 + 127.5 * np.cos((rows**2 + columns**2) * (np.pi / 2 / SIDE))).astype(np.uint8)


def source():
    """The array as dask has it: made chunk by chunk."""
    line = da.arange(SIDE, chunks=CHUNK)
    return da.map_blocks(zone_plate, line[:, None] - SIDE // 2, line[None, :] - SIDE // 2, dtype=np.uint8)


def pyramid(group, levels, **options):
    """Levels "1", "2", ... of a group from its level "0"."""
    for level in range(1, levels):
        above = da.from_zarr(group[str(level - 1)])
        # Equal chunks, which Zarr needs; halves of odd lengths are rounded up.
        size = [-(-length // 2) for length in above.shape]
        below = lazy.resample(above, size, antialias=True, chunks=CHUNK, **options)
        target = group.create_array(str(level), shape=below.shape, chunks=(CHUNK, CHUNK), dtype=below.dtype)
        da.store(below, target, lock=False)
        print(f"level {level}: {below.shape[0]} x {below.shape[1]}, {below.npartitions} chunks")
    datasets = [
        {"path": str(n), "coordinateTransformations": [{"type": "scale", "scale": [2.0**n] * 2}]} for n in range(levels)
    ]
    group.attrs["multiscales"] = [{"version": "0.4", "datasets": datasets}]


def main():
    folder = output_folder(__doc__)
    group = zarr.open_group(folder / "pyramid.zarr", mode="w")
    first = group.create_array("0", shape=(SIDE, SIDE), chunks=(CHUNK, CHUNK), dtype="u1")
    with dask.config.set(scheduler="threads"):
        da.store(source(), first, lock=False)
        pyramid(group, 5)

    # Chunk by chunk and all at once are the same bits.
    whole = first[:]
    for level in range(1, 5):
        whole = imgops.resample(whole, [-(-length // 2) for length in whole.shape], antialias=True)
        assert np.array_equal(group[str(level)][:], whole)

    sparse = Image.fromarray(first[::16, ::16])
    view = sheet(
        "A pyramid in Zarr",
        [
            (Image.fromarray(group["3"][:]), f"level 3 of {SIDE} x {SIDE}: what is too fine is grey"),
            (Image.fromarray(group["4"][:]), "level 4"),
            (sparse, "every 16th sample of level 0:\nrings that are not there"),
        ],
    )
    view.save(folder / "zarr_pyramid.png")
    print(f"open {folder / 'zarr_pyramid.png'}")


if __name__ == "__main__":
    main()
