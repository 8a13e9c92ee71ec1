"""The gallery's pictures are those that its script draws, and its page names each of them."""

import re
import runpy
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).parents[1]


def test_the_script_draws_what_the_page_shows(tmp_path, capsys):
    shown = sorted(re.findall(r"\(images/gallery/(\w+\.png)\)", (ROOT / "docs" / "gallery.md").read_text()))
    runpy.run_path(str(ROOT / "tools" / "make_gallery.py"))["main"](tmp_path)
    assert len(capsys.readouterr().out.splitlines()) == len(shown)
    assert sorted(path.name for path in tmp_path.iterdir()) == shown
    for name in shown:
        with Image.open(tmp_path / name) as drawn, Image.open(ROOT / "docs" / "images" / "gallery" / name) as kept:
            assert drawn.size == kept.size
            # Letters depend on the FreeType in Pillow; everything else is computed.
            differs = np.any(np.asarray(drawn.convert("RGB")) != np.asarray(kept.convert("RGB")), axis=-1)
            assert differs.mean() < 0.05, name
