"""What melee announces: the logic calls a function here, this module chooses the words.

`to_lines()` is for a person at a terminal (`melee dev`), `to_json()` for a log collector, see `log_output`.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, tzinfo

from melee.log_output import FilteringBoundLogger, structlog
from melee.log_output import Logger as Logger
from melee.log_output import also_to as also_to
from melee.log_output import described as described
from melee.log_output import to_json as to_json
from melee.log_output import to_lines as to_lines
from melee.log_output import to_standard_output as to_standard_output

_log: FilteringBoundLogger = structlog.get_logger()


def of_object(name: str) -> FilteringBoundLogger:
    """The logger an object has as `self.log`: what it writes carries `object=Class/id`."""
    bound: FilteringBoundLogger = structlog.get_logger().bind(object=name)
    return bound


def of_request(id: str) -> AbstractContextManager[None]:
    """Inside, whatever is logged carries `request=id`; nothing of the kind for no id."""
    return structlog.contextvars.bound_contextvars(**({"request": id} if id else {}))


@contextmanager
def of_job(name: str, id: int) -> Iterator[FilteringBoundLogger]:
    """Inside, whatever is logged carries `job=NAME/id`; gives the logger that a job has as `resources.log`."""
    before = structlog.contextvars.bind_contextvars(job=f"{name}/{id}")
    try:
        yield _log
    finally:
        structlog.contextvars.reset_contextvars(**before)


def request_id() -> str:
    """The id that what is logged here carries; empty outside of a request."""
    id: str = structlog.contextvars.get_contextvars().get("request", "")
    return id


def timer_fired(name: str) -> None:
    _log.info(f"timer {name} -> on_timer")


def timer_failed(name: str, error: BaseException, has_set_another: bool) -> None:
    next_one = "the one it had set comes" if has_set_another else "it is not tried again"
    _log.error(f"timer {name} -> on_timer raised; {next_one}", exc_info=error)


def timer_waits(name: str, error: BaseException) -> None:
    _log.error(f"timer {name} is due but the object cannot be loaded; tried again later", exc_info=error)


def call_failed(name: str, method: str, error: BaseException) -> None:
    _log.warning(f"call {name}.{method} raised", exc_info=error)


def commit_failed(name: str, error: BaseException) -> None:
    _log.error(f"commit of {name} failed; its instance is dropped", exc_info=error)


def index_not_settled(error: BaseException) -> None:
    _log.error("the registry of objects cannot be written; it is early until it can", exc_info=error)


def registry_rebuilt(objects: int) -> None:
    _log.warning("the registry of objects was rebuilt from their files", objects=objects)


def wal_left_behind(path: str, error: BaseException) -> None:
    _log.warning(
        "the disk refused to move the WAL into its file; it is read from where it is", file=path, exc_info=error
    )


def file_left_behind(path: str, error: BaseException) -> None:
    _log.error("the file of an object that ended cannot be deleted", file=path, error=str(error))


def file_unreadable(path: str, error: BaseException) -> None:
    _log.error("this object's file cannot be read; it is left out", file=path, error=str(error))


def worker_listens(path: str, pid: int) -> None:
    _log.info("object worker listens", socket=path, pid=pid)


def worker_stops(reason: str) -> None:
    _log.info("object worker stops", reason=reason)


def frame_refused(problem: str) -> None:
    _log.warning("a connection sent what is no request; closed", problem=problem)


def fork_failed(error: OSError) -> None:
    _log.error("no process can be forked; tried again in a moment", error=str(error))


def request_failed(method: str, path: str, error: BaseException) -> None:
    _log.error(f"{method} {path} raised", exc_info=error)


def request_served(id: str, client: str, method: str, path: str, status: int, body_bytes: int, seconds: float) -> None:
    """The access log. The query is left out, since it may hold what nobody else should read."""
    milliseconds = round(seconds * 1000, 1)
    _log.info(
        "request", method=method, path=path, status=status, ms=milliseconds, bytes=body_bytes, client=client, request=id
    )


def request_lost(id: str, pid: int, reason: str) -> None:
    _log.error("the child of a request was lost", request=id, pid=pid, reason=reason)


def request_overran(id: str, pid: int, seconds: float) -> None:
    _log.error("a request took longer than its budget; its child is killed", request=id, pid=pid, seconds=seconds)


def disk_refused(id: str, what: str, problem: str) -> None:
    _log.error(f"there is no room for the {what} of a request", request=id, problem=problem)


def gateway_failed(id: str, error: BaseException) -> None:
    _log.error("the gateway failed on a request", request=id, exc_info=error)


def app_unavailable(id: str, problem: str) -> None:
    _log.error("a request found no app to serve it", request=id, problem=problem)


def process_ended(name: str, pid: int, exit_code: int, again_in_seconds: float) -> None:
    _log.error(f"the {name} ended", pid=pid, exit_code=exit_code, again_in_seconds=round(again_in_seconds, 1))


def start_failed(name: str, error: OSError, again_in_seconds: float) -> None:
    _log.error(f"the {name} cannot be started", error=str(error), again_in_seconds=round(again_in_seconds, 1))


def process_killed(name: str, pid: int, grace_seconds: float) -> None:
    _log.warning(f"the {name} was killed; it did not end by itself", pid=pid, grace_seconds=grace_seconds)


def request_refused(client: tuple[str, int] | None, status: int) -> None:
    address = f"{client[0]}:{client[1]}" if client else "a local socket"
    _log.info("refused what came over a connection", client=address, status=status)


def app_wakes_for_request(name: str) -> None:
    _log.info(f"{name} wakes: a request came")


def app_wakes_for_timer(name: str, due_at: float | None, zone: tzinfo) -> None:
    _log.info(f"{name} wakes: a timer or job is due at {_moment(due_at, zone)}")


def app_wakes_for_order(name: str) -> None:
    _log.info(f"{name} wakes: it was told to look")


def app_never_sleeps() -> None:
    _log.info("the jobs are in Postgres, where anybody may store one: the app does not sleep")


def app_sleeps(name: str, next_wake_at: float | None, zone: tzinfo) -> None:
    _log.info(f"{name} sleeps; next timer or job: {_moment(next_wake_at, zone)}")


def app_reloads(name: str) -> None:
    _log.info(f"{name} is loaded anew")


def app_reloaded(name: str) -> None:
    _log.info(f"{name} serves what is on disk now")


def reload_failed(name: str, problem: str) -> None:
    _log.error(f"{name} cannot be loaded anew; the old version goes on", problem=problem)


def worker_failed(name: str, problem: str) -> None:
    _log.error(f"the {name} cannot serve", problem=problem)


def job_failed(name: str, attempt: int, error: BaseException) -> None:
    _log.warning(f"job {name} raised", attempt=attempt, exc_info=error)


def job_done(name: str, id: int, seconds: float) -> None:
    _log.info(f"job {name}/{id} -> done", ms=round(seconds * 1000, 1))


def job_given_up(name: str, id: int, attempts: int, error: str) -> None:
    _log.error(f"job {name} failed for good", job=f"{name}/{id}", attempts=attempts, error=error.partition("\n")[0])


def job_lost(name: str, id: int, attempt: int, reason: str) -> None:
    _log.error(f"job {name} was cut off", job=f"{name}/{id}", attempt=attempt, reason=reason)


def job_reaped(name: str, id: int, status: str) -> None:
    _log.warning(f"job {name} was left by a worker that is gone", job=f"{name}/{id}", status=status)


def jobs_given_back(jobs: int) -> None:
    _log.info("jobs that had not ended are queued again", jobs=jobs)


def job_worker_works(queues: list[str], executors: int, pid: int) -> None:
    _log.info("job worker works", queues=" ".join(queues), executors=executors, pid=pid)


def job_worker_stops(reason: str) -> None:
    _log.info("job worker stops", reason=reason)


def job_store_failed(error: BaseException, again_in_seconds: float) -> None:
    _log.error("the job worker cannot use the database", error=str(error), again_in_seconds=round(again_in_seconds, 1))


def queue_not_counted(error: BaseException) -> None:
    _log.warning("the queued jobs cannot be counted, so /metrics is without them", error=str(error) or "it took long")


def jobs_unknown(names: list[str]) -> None:
    _log.warning("jobs are queued that no registered class runs", names=" ".join(names))


def server_stops(reason: str) -> None:
    _log.info("server stops", reason=reason)


def _moment(at: float | None, zone: tzinfo) -> str:
    return "none" if at is None else datetime.fromtimestamp(at, zone).isoformat(" ", "seconds")
