"""The README's first screen is code that runs, and its commands are the ones that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_class_in_the_readme_is_the_one_of_the_board_line_by_line() -> None:
    stats = (ROOT / "melee_examples" / "board" / "lib" / "stats.py").read_text()
    shown = [line for line in blocks("python")[0].splitlines() if line]
    assert shown[0] == "class Stats(Durable):"
    # Each method is there whole; which of them, and in which order, is the README's choice.
    for method in "\n".join(shown[1:]).split("    def ")[1:]:
        assert method.rstrip() in stats


def test_the_call_in_the_readme_is_the_one_of_the_board() -> None:
    app = (ROOT / "melee_examples" / "board" / "app.py").read_text()
    assert blocks("python")[1].strip() in app


def test_the_job_in_the_readme_is_enqueued_as_in_the_welcome() -> None:
    app = (ROOT / "melee_examples" / "welcome" / "app.py").read_text()
    assert blocks("python")[2] in app


def test_the_readme_names_sessions_that_exist() -> None:
    named = re.findall(r"nox -s (\w+)", README)
    noxfile = (ROOT / "noxfile.py").read_text()
    assert named == ["serve"]
    assert "def serve(session: nox.Session)" in noxfile


def test_every_folder_the_readme_names_is_there() -> None:
    folders = re.findall(r"`(\w+)/`", README)
    assert "melee" in folders
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []
