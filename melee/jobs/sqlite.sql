-- jobs_table
CREATE TABLE IF NOT EXISTS melee_jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice
    name TEXT NOT NULL,
    payload TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'running', 'failed')),
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at REAL NOT NULL DEFAULT (unixepoch('subsec')),
    enqueued_at REAL NOT NULL DEFAULT (unixepoch('subsec')),
    last_error TEXT
) STRICT;

-- cron_table
CREATE TABLE IF NOT EXISTS melee_cron (
    job TEXT NOT NULL, expression TEXT NOT NULL, next_at REAL NOT NULL,
    PRIMARY KEY (job, expression)
) WITHOUT ROWID, STRICT;

-- columns
SELECT name FROM pragma_table_info('melee_jobs');

-- claim_index
CREATE INDEX IF NOT EXISTS melee_jobs_to_claim ON melee_jobs (queue, priority DESC, id, name)
    WHERE status = 'queued' AND is_due;

-- due_index
CREATE INDEX IF NOT EXISTS melee_jobs_due_later ON melee_jobs (due_at) WHERE status = 'queued' AND NOT is_due;

-- lease_index
CREATE INDEX IF NOT EXISTS melee_jobs_leased ON melee_jobs (leased_until) WHERE status = 'running';

-- failed_index
CREATE INDEX IF NOT EXISTS melee_jobs_failed ON melee_jobs (failed_at) WHERE status = 'failed';

-- key_index
CREATE UNIQUE INDEX IF NOT EXISTS melee_jobs_unique ON melee_jobs (name, unique_key)
    WHERE unique_key IS NOT NULL AND status <> 'failed';

-- insert
INSERT INTO melee_jobs (name, payload, queue, priority, unique_key, max_attempts, enqueued_at, due_at, is_due)
SELECT :name, :payload, :queue, :priority, :unique_key, :max_attempts, :now, :due_at, :due_at <= :now
WHERE true
ON CONFLICT DO NOTHING
RETURNING id;

-- let_due
UPDATE melee_jobs SET is_due = true WHERE id IN (
    SELECT id FROM melee_jobs WHERE status = 'queued' AND NOT is_due AND due_at <= :now ORDER BY due_at LIMIT 10000
);

-- candidates
SELECT id, priority FROM melee_jobs
WHERE status = 'queued' AND is_due AND queue = :queue AND name IN (SELECT value FROM json_each(:names))
ORDER BY priority DESC, id LIMIT :at_most;

-- claim
UPDATE melee_jobs SET
    status = 'running', attempts = attempts + 1, claims = claims + 1, worker = :worker,
    leased_until = :now + :lease_seconds,
    unique_key = iif(name IN (SELECT value FROM json_each(:released_names)), NULL, unique_key)
WHERE id IN (SELECT value FROM json_each(:ids))
RETURNING id, claims AS number, name, payload, attempts AS attempt, max_attempts, priority;

-- renew
UPDATE melee_jobs SET leased_until = :now + :lease_seconds
WHERE id = :id AND claims = :number AND status = 'running';

-- succeed
DELETE FROM melee_jobs WHERE id IN (SELECT value FROM json_each(:ids)) AND claims = :number AND status = 'running';

-- fail
UPDATE melee_jobs SET
    status = iif(:again_in_seconds IS NULL, 'failed', 'queued'),
    failed_at = iif(:again_in_seconds IS NULL, :now, NULL),
    due_at = :now + coalesce(:again_in_seconds, 0), is_due = false,
    last_error = :error, leased_until = NULL, worker = NULL
WHERE id = :id AND claims = :number AND status = 'running';

-- release
UPDATE melee_jobs SET
    status = 'queued', attempts = attempts - 1, is_due = false, leased_until = NULL, worker = NULL
WHERE id = :id AND claims = :number AND status = 'running';

-- reap
UPDATE melee_jobs SET
    status = iif(attempts < max_attempts, 'queued', 'failed'),
    failed_at = iif(attempts < max_attempts, NULL, :now),
    due_at = :now, is_due = false,
    last_error = 'its worker was lost during attempt ' || attempts || ', or did not renew its lease in time',
    leased_until = NULL, worker = NULL
WHERE status = 'running' AND leased_until < :now
RETURNING id;

-- next_lease_end_at
SELECT min(leased_until) AS next_lease_end_at FROM melee_jobs WHERE status = 'running';

-- next_due_at
SELECT min(due_at) AS next_due_at FROM melee_jobs WHERE status = 'queued' AND NOT is_due;

-- plan_tick
INSERT INTO melee_cron (job, expression, next_at) VALUES (:job, :expression, :next_at) ON CONFLICT DO NOTHING;

-- next_tick
SELECT next_at FROM melee_cron WHERE job = :job AND expression = :expression;

-- take_tick
UPDATE melee_cron SET next_at = :next_at
WHERE job = :job AND expression = :expression AND next_at <= :now
RETURNING next_at;

-- per_name
SELECT name, status, count(*) AS jobs FROM melee_jobs GROUP BY name, status ORDER BY name;

-- first_names
SELECT DISTINCT name FROM (
    SELECT name FROM melee_jobs WHERE status = 'queued' AND is_due ORDER BY queue, priority DESC, id LIMIT 10000
) AS first;

-- failed_count
SELECT count(*) AS jobs FROM melee_jobs WHERE status = 'failed';

-- get
SELECT * FROM melee_jobs WHERE id = :id;

-- failed
SELECT * FROM melee_jobs WHERE status = 'failed' ORDER BY failed_at DESC, id DESC LIMIT :at_most;

-- waiting
SELECT * FROM melee_jobs WHERE status <> 'failed' AND (:name IS NULL OR name = :name)
ORDER BY status = 'running' DESC, priority DESC, id LIMIT :at_most;

-- discard
DELETE FROM melee_jobs WHERE id = :id;

-- retry
UPDATE OR IGNORE melee_jobs SET
    status = 'queued', attempts = 0, due_at = :now, is_due = false, failed_at = NULL
WHERE id = :id AND status = 'failed';

-- retry_failed
UPDATE OR IGNORE melee_jobs SET
    status = 'queued', attempts = 0, due_at = :now, is_due = false, failed_at = NULL
WHERE status = 'failed' AND (unique_key IS NULL OR id IN (
    SELECT max(id) FROM melee_jobs WHERE status = 'failed' AND unique_key IS NOT NULL GROUP BY name, unique_key));
