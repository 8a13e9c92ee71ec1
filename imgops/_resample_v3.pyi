from ._kernel_types import Table as Table
from ._kernel_types import nearest as nearest
from ._kernel_types import resample as resample
