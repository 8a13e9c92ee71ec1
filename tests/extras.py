"""Tests of what only the packages of imgops[files] can do."""

import pytest

from imgops import png, tiff

deep_colours = pytest.mark.skipif(
    not (png.available() and tiff.available()), reason="16-bit colours need tifffile and imagecodecs"
)
