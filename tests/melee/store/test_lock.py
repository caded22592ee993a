"""One process hosts the objects of a data folder; the second is told which one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from melee.errors import AlreadyRunning
from melee.store.lock import FolderLock
from tests.melee.child import child_that

TRY = (
    "import sys; from pathlib import Path; from melee.store.lock import FolderLock; "
    "lock = FolderLock(Path(sys.argv[1]))"
)
HOLD = f"{TRY}; print('held', flush=True); sys.stdin.read()"
WAIT = HOLD.replace("sys.argv[1])", "sys.argv[1]), wait_seconds=float(sys.argv[2])").replace("; sys.stdin.read()", "")
HOLD_A_PART = HOLD.replace("sys.argv[1])", "sys.argv[1]), slots=range(int(sys.argv[2]), int(sys.argv[3]))")


def hold(folder: Path, *slots: int) -> "subprocess.Popen[str]":
    """Another process that holds the lock, or the slots from the first number to before the second, until its input
    ends."""
    command = [sys.executable, "-c", HOLD_A_PART if slots else HOLD, str(folder), *map(str, slots)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    return holder


def test_a_folder_that_is_missing_is_made(tmp_path: Path) -> None:
    FolderLock(tmp_path / "app" / "data").release()
    assert (tmp_path / "app" / "data").is_dir()


def test_a_second_process_is_refused_and_told_which_one_holds_it(tmp_path: Path) -> None:
    with hold(tmp_path) as holder:
        with pytest.raises(AlreadyRunning) as caught:
            FolderLock(tmp_path)
        assert (caught.value.folder, caught.value.pid) == (str(tmp_path), holder.pid)
        holder.communicate()
    FolderLock(tmp_path).release()


def test_a_process_that_is_killed_lets_go(tmp_path: Path) -> None:
    with hold(tmp_path) as holder:
        holder.kill()
        holder.communicate()
    FolderLock(tmp_path).release()


def test_the_same_process_is_refused_too_and_the_first_keeps_the_lock(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    with pytest.raises(AlreadyRunning) as caught:
        FolderLock(tmp_path)
    assert caught.value.pid == os.getpid()
    done = subprocess.run([sys.executable, "-c", TRY, str(tmp_path)], capture_output=True, text=True, check=False)
    assert f"is in use by process {os.getpid()}" in done.stderr
    lock.release()
    FolderLock(tmp_path).release()


def test_another_way_to_write_the_folder_is_the_same_folder(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "data")
    lock = FolderLock(tmp_path / "data")
    with pytest.raises(AlreadyRunning):
        FolderLock(tmp_path / "link")
    lock.release()


def test_releasing_twice_is_harmless(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    lock.release()
    lock.release()
    with hold(tmp_path) as holder:
        holder.communicate()


def test_a_child_that_lingers_does_not_keep_the_folder_locked(tmp_path: Path) -> None:
    parents_end, childs_end = os.pipe()
    lock = FolderLock(tmp_path)

    def linger() -> None:
        os.close(childs_end)
        os.read(parents_end, 1)

    with child_that(linger):
        os.close(parents_end)
        lock.release()
        with hold(tmp_path) as holder:
            holder.communicate()
        os.close(childs_end)


def test_a_forked_child_is_refused_and_told_that_its_parent_holds_it(tmp_path: Path) -> None:
    def refused() -> None:
        with pytest.raises(AlreadyRunning) as caught:
            FolderLock(tmp_path)
        assert caught.value.pid == os.getppid()

    lock = FolderLock(tmp_path)
    with child_that(refused):
        pass
    lock.release()


def test_one_that_may_wait_has_the_lock_as_soon_as_the_other_lets_go(tmp_path: Path) -> None:
    with hold(tmp_path) as holder:
        command = [sys.executable, "-c", WAIT, str(tmp_path), "60"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as waiting:
            assert waiting.stdout
            while not is_waiting(waiting.pid):
                assert waiting.poll() is None
            holder.kill()
            assert waiting.stdout.readline() == "held\n"


def is_waiting(pid: int) -> bool:
    """Whether a process waits for a lock, as Linux lists them: `1: -> POSIX ADVISORY WRITE <pid> …`."""
    return any("->" in line and str(pid) in line.split() for line in Path("/proc/locks").read_text().splitlines())


def test_one_that_has_waited_long_enough_is_told_who_holds_it(tmp_path: Path) -> None:
    with hold(tmp_path) as holder:
        with pytest.raises(AlreadyRunning) as caught:
            FolderLock(tmp_path, wait_seconds=0.05)
        assert caught.value.pid == holder.pid
        holder.communicate()
    FolderLock(tmp_path, wait_seconds=0.05).release()


def test_processes_that_want_different_slots_each_have_theirs(tmp_path: Path) -> None:
    with hold(tmp_path, 0, 512) as first, hold(tmp_path, 512, 1024) as second:
        for slots, holder in ((range(511, 512), first), (range(512, 600), second), (range(1000, 2000), second)):
            with pytest.raises(AlreadyRunning) as caught:
                FolderLock(tmp_path, slots=slots)
            assert caught.value.pid == holder.pid
        FolderLock(tmp_path, slots=range(1024, 1025)).release()
        with pytest.raises(AlreadyRunning):
            FolderLock(tmp_path)
        first.communicate()
        FolderLock(tmp_path, slots=range(512)).release()
        second.communicate()


def test_who_holds_all_of_it_keeps_everybody_out(tmp_path: Path) -> None:
    with hold(tmp_path) as holder:
        with pytest.raises(AlreadyRunning) as caught:
            FolderLock(tmp_path, slots=range(1023, 1024))
        assert caught.value.pid == holder.pid
        holder.communicate()


# It replaces itself and says so; then, told to go on, it takes over the lock that it kept, says so and waits.
REPLACE = """
import os, sys
from pathlib import Path
from melee.store.lock import FolderLock
if len(sys.argv) == 2:
    lock = FolderLock(Path(sys.argv[1]))
    os.set_inheritable(lock.fileno(), True)
    os.execv(sys.executable, [*sys.orig_argv, str(lock.fileno())])
print("replaced", flush=True)
sys.stdin.readline()
lock = FolderLock(Path(sys.argv[1]), inherited=int(sys.argv[2]))
print("taken over", flush=True)
sys.stdin.read()
"""


def test_a_process_that_replaces_itself_keeps_it_all_the_time(tmp_path: Path) -> None:
    command = [sys.executable, "-c", REPLACE, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as holder:
        assert holder.stdin
        assert holder.stdout
        for line in ("replaced\n", "taken over\n"):
            assert holder.stdout.readline() == line
            with pytest.raises(AlreadyRunning) as caught:
                FolderLock(tmp_path)
            assert caught.value.pid == holder.pid
            holder.stdin.write("go on\n")
        holder.communicate()
    FolderLock(tmp_path).release()
