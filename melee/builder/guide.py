"""Where the guide says what to use instead: one page, mostly with a heading, for each kind of finding."""

_WORK, _OBJECTS, _DATABASE = "guide/background-work", "guide/durable-objects", "guide/database"

THREADS = f"{_WORK}#threads"
QUEUES = f"{_WORK}#queues"
PROCESSES = f"{_WORK}#processes"
ASYNC_TASKS = f"{_WORK}#async-tasks"
SCHEDULERS = f"{_WORK}#schedulers"
JOB_SYSTEMS = f"{_WORK}#job-systems"

CLASSES = f"{_OBJECTS}#a-class-and-objects-of-it"
RESERVED_NAMES = f"{_OBJECTS}#the-class-side"
METHODS = f"{_OBJECTS}#methods"
JSON_SHAPE = f"{_OBJECTS}#what-crosses"
STORAGE = f"{_OBJECTS}#storage"

MIGRATIONS = f"{_DATABASE}#migrations"
STATEMENTS = f"{_DATABASE}#statements"

TEMPLATES = "reference/commands#melee-build"

JOBS = "guide/jobs"
CRON = "guide/cron"
