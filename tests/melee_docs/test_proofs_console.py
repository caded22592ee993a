"""Console transcripts, really run by bash."""

import signal
from pathlib import Path

import pytest

from melee_docs.proofs import console
from tests.melee_docs.a_project import AProject, in_page


def prove(text: str, tmp_path: Path, app: str = "") -> tuple[int, str]:
    """The line and the problem of a transcript; `(0, "")` when it is proven."""
    proof = AProject(tmp_path).prove(in_page("console", text, app=app))
    assert proof.kind == "transcript"
    return proof.problem_line, proof.problem


SERVER = """
from http.server import HTTPServer, SimpleHTTPRequestHandler

server = HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler)
try:
    print(f"serving on {server.server_port}")
    with open("port", "w") as file:
        file.write(str(server.server_port))
    print("ready")
    server.serve_forever()
except KeyboardInterrupt:
    print("bye")
"""


@pytest.fixture
def served(tmp_path: Path) -> AProject:
    """A project whose app is a server that ends well on an interrupt, whenever that comes."""
    project = AProject(tmp_path)
    project.write("melee_examples/board/serve.py", SERVER)
    return project


@pytest.mark.parametrize(
    "text",
    [
        "$ echo hi\nhi\n$ echo one; echo two >&2\none\ntwo\n",
        "$ mkdir here && cd here\n$ export NAME=melee\n$ echo $NAME in ${PWD##*/}\nmelee in here\n",
        "$ seq 9\n1\n...\n8\n9\n$ date\n... 20...\n$ true\n...\n",
        "$ false\n$ echo $?\n1\n",
        "$ echo one; echo; echo two\none\n\ntwo\n\n$ echo; echo\n\n$ echo three; echo\nthree\n",
        "$ exit 4\n$ echo $?\n4\n",
        "$ echo one \\\n>   two\none two\n",
        "$ python -c 'import sys; print(sys.prefix)' | wc -l\n1\n",
    ],
)
def test_a_transcript_whose_commands_print_what_it_shows_is_proven(tmp_path: Path, text: str) -> None:
    assert prove(text, tmp_path) == (0, "")


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("$ echo hi\nho\n", 12, "`echo hi` printed `hi` where the page shows `ho`"),
        ("$ echo hi\nhi\nho\n", 13, "`echo hi` printed nothing more where the page shows `ho`"),
        ("$ seq 2\n1\n", 12, "`seq 2` printed `2` where the page shows no more output"),
        ("$ seq 5\n1\n...\n4\n", 14, "`seq 5` printed `5` where the page shows no more output"),
        ("$ true\n$ false\n$ true\n", 12, "`false` ended with exit code 1; correct it, or show `$ echo $?` below it"),
        ("hello\n$ true\n", 11, "a transcript begins with a command"),
        ("$ true\n\n^C\n$ echo\n", 11, "`true` shows no line by which to know that it is ready"),
        ("$ true\n$ true\n^C\n", 12, "`true` shows no line by which to know that it is ready"),
        ("$ echo hi &\nhi\n$ true\n^C\n^C\n", 15, "nothing is running that ^C could end"),
        ("$ sleep 100 &\nready\n", 12, "`sleep 100` printed nothing more where the page shows `ready`"),
        ("", 0, "a transcript without a command"),
    ],
)
def test_a_wrong_transcript_is_named_with_its_line(
    tmp_path: Path, text: str, line: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "AWAIT_SECONDS", 0.2)
    at, problem = prove(text, tmp_path)
    assert problem.startswith(reason)
    assert at == line


def test_a_command_that_ends_before_its_interrupt_is_refused(tmp_path: Path) -> None:
    text = "$ echo hi &\nhi\n$ sleep 1\n^C\n"
    assert prove(text, tmp_path) == (11, "`echo hi` ended by itself before ^C; leave ^C out")


def test_a_command_that_never_ends_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "COMMAND_SECONDS", 0.2)
    assert prove("$ sleep 100\n", tmp_path) == (11, "`sleep 100` was still running after 0.2 s; end it with ^C")


def test_a_server_is_awaited_and_interrupted(served: AProject) -> None:
    text = "$ python serve.py\nserving on ...\nready\n^C\nbye\n"
    assert prove(text, served.root, "melee_examples/board") == (0, "")


def test_a_server_is_interrupted_even_where_interrupts_are_ignored(served: AProject) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        text = "$ python serve.py\nserving on ...\nready\n^C\nbye\n"
        assert prove(text, served.root, "melee_examples/board") == (0, "")
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_wrong_last_words_of_a_server_are_named_with_their_line(served: AProject) -> None:
    text = "$ python serve.py &\nserving on ...\nready\n$ true\n^C\ngood night\n$ true\n"
    reason = "`python serve.py` printed `bye` where the page shows `good night`; correct the transcript"
    assert prove(text, served.root, "melee_examples/board") == (16, reason)


def test_commands_talk_to_a_server_in_the_background(served: AProject) -> None:
    url = "http://127.0.0.1:$(cat port)"
    fetch = f"""python -c "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).status)" {url}"""
    text = f"$ python serve.py &\n...\nready\n$ {fetch}\n200\n^C\n...GET...200...\nbye\n$ echo done\ndone\n"
    assert prove(text, served.root, "melee_examples/board") == (0, "")


def test_a_server_left_running_is_interrupted_at_the_end_of_the_block(served: AProject) -> None:
    text = "$ python serve.py &\nserving on ...\nready\n$ true\n"
    reason = "`python serve.py` printed `bye` where the page shows no more output; correct the transcript"
    assert prove(text, served.root, "melee_examples/board") == (13, reason)
    assert prove(text.replace("ready", "ready\n..."), served.root, "melee_examples/board") == (0, "")


def test_a_transcript_runs_in_a_copy_of_its_app(tmp_path: Path) -> None:
    project = AProject(tmp_path)
    project.write("melee_examples/board/app.py", "print('board')\n")
    project.write("melee_examples/board/data/app.sqlite3", "")
    assert prove("$ ls\napp.py\n$ python app.py > made\n$ cat made\nboard\n", tmp_path, "melee_examples/board") == (
        0,
        "",
    )
    assert not (tmp_path / "melee_examples/board/made").exists()


def test_an_app_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert prove("$ ls\n", tmp_path, "melee_examples/none") == (
        0,
        "app='melee_examples/none' is not a folder of the project; correct the name",
    )
