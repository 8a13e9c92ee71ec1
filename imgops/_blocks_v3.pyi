from ._kernel_types import move_blocks as move_blocks
