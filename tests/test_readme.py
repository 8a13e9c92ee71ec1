"""Everything that the README shows is true: its code runs, its commands work, its files and names exist."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

import imgops

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A folder with the example pictures, as in a clone; the current folder during the test."""
    shutil.copytree(ROOT / "examples" / "images", tmp_path / "examples" / "images")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def imgops_commands():
    """The arguments of every `imgops` command in the shell blocks."""
    lines = [line for language, code in BLOCKS if language == "sh" for line in code.splitlines()]
    parts = [shlex.split(part, comments=True) for line in lines for part in line.split("&&")]
    return [part[1:] for part in parts if part and part[0].rsplit("/")[-1] == "imgops"]


def test_first_block_is_two_commands():
    language, code = BLOCKS[0]
    assert language == "sh"
    enlarge, test = code.splitlines()
    assert enlarge.startswith("python3 -m venv .venv && .venv/bin/pip install ")
    assert test.startswith("python3 -m venv .venv && .venv/bin/pip install ")
    assert "imgops upscale examples/images/" in enlarge
    assert "pytest" in test


@pytest.mark.usefixtures("clone")
def test_python_blocks_run():
    code = "\n".join(code for language, code in BLOCKS if language == "python")
    assert code.count("assert") > 10
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})


@pytest.mark.usefixtures("clone")
def test_commands_run_twice():
    commands = imgops_commands()
    assert [command[0] for command in commands[:2]] == ["upscale", "upscale"]
    # The first command is what a newcomer runs, and perhaps again.
    for arguments in [*commands, commands[0]]:
        command = [sys.executable, "-c", "from imgops.cli import run; run()", *arguments]
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
        assert result.returncode == 0, result.stderr
    for name, size in {"harbour_x2.png": (480, 320), "badge_x3.png": (288, 288), "small.png": (120, 80)}.items():
        with Image.open(name) as image:
            assert image.size == size


def test_links_and_pictures_exist():
    targets = re.findall(r"\]\(([^)#]+)\)", TEXT)
    assert "docs/images/first_look.png" in targets
    for target in targets:
        if "://" not in target:
            assert (ROOT / target).exists(), target


def test_scripts_named_exist():
    named = set(re.findall(r"`?\b(\w+\.py)\b", TEXT))
    existing = {path.name for folder in ("examples", "benchmarks", "tools") for path in (ROOT / folder).glob("*.py")}
    assert named <= existing


def test_every_convention_is_in_the_table():
    missing = [name for name in imgops.conventions() if f"`{name}`" not in TEXT]
    assert not missing
