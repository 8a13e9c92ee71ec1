"""History of imgops' speed by asv, over the cells of `imgops bench`: `asv run --config benchmarks/asv.conf.json`."""
