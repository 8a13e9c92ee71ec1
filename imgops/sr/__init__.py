"""Super-resolution: pictures enlarged by small neural networks, with ONNX Runtime or in plain NumPy.

>>> from imgops import sr
>>> sr.models()
('best', 'fast')
"""

from .upscaler import Upscaler, models

__all__ = ["Upscaler", "models"]
