"""``python -m imgops``: the command line."""

from .cli import run

if __name__ == "__main__":
    run()
