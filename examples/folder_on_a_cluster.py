"""A folder of pictures enlarged over a cluster: one task per picture, any number of machines.

    python examples/folder_on_a_cluster.py [FOLDER]

Needs dask and distributed: pip install "imgops[dask]". The cluster here is two processes on this machine; give Client
the address of a scheduler instead, and it is many machines that share the two folders. A picture that fails is named,
and the rest is done all the same. Writes each picture of examples/images, twice as large, to FOLDER/enlarged.
"""

from pathlib import Path

from dask.distributed import Client, LocalCluster, as_completed
from PIL import Image
from sheet import HERE, output_folder

from imgops import pillow


def enlarge(source, target, scale):
    """One task: a file to a file. The cluster has a process per core, so that the operators get one thread each."""
    with Image.open(source) as image:
        result = pillow.upscale(image, scale, method="linear", num_threads=1)
    # Under another name until it is whole, so that a task that dies leaves no half a picture.
    partial = target.with_suffix(".partial")
    result.save(partial, format="PNG")
    partial.replace(target)
    return result.size


def enlarge_folder(client, source, target, scale):
    """Enlarge every PNG file of a folder; returns (sizes by name, errors by name)."""
    target.mkdir(parents=True, exist_ok=True)
    tasks = {
        client.submit(enlarge, path, target / path.name, scale, pure=False): path.name
        for path in sorted(Path(source).resolve().glob("*.png"))
    }
    sizes, errors = {}, {}
    for task in as_completed(tasks):
        name = tasks[task]
        if task.status == "finished":
            sizes[name] = task.result()
            print(f"{name:14} {sizes[name][0]} x {sizes[name][1]}")
        else:
            errors[name] = task.exception()
            print(f"{name:14} failed: {errors[name]}")
    return sizes, errors


def main():
    folder = output_folder(__doc__)
    options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        sizes, errors = enlarge_folder(client, HERE / "images", folder.resolve() / "enlarged", 2)
    print(f"{len(sizes)} pictures enlarged, {len(errors)} failed")


if __name__ == "__main__":
    main()
