-- jobs_table
CREATE TABLE IF NOT EXISTS melee_jobs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    payload text NOT NULL,
    status text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'running', 'failed')),
    attempts integer NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT now(),
    enqueued_at timestamptz NOT NULL DEFAULT now(),
    last_error text
);

-- cron_table
CREATE TABLE IF NOT EXISTS melee_cron (
    job text NOT NULL, expression text NOT NULL, next_at timestamptz NOT NULL,
    PRIMARY KEY (job, expression)
);

-- columns
SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass('melee_jobs') AND attnum > 0;

-- lock
SELECT pg_advisory_xact_lock(hashtext('melee_jobs'));

-- settings
ALTER TABLE melee_jobs SET (
    -- A queue is rows that come and go, however many wait behind them.
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000
);

-- claim_index
CREATE INDEX IF NOT EXISTS melee_jobs_to_claim ON melee_jobs (queue, priority DESC, id, name)
    WHERE status = 'queued' AND is_due;

-- due_index
CREATE INDEX IF NOT EXISTS melee_jobs_due_later ON melee_jobs (due_at) WHERE status = 'queued' AND NOT is_due;

-- lease_index
CREATE INDEX IF NOT EXISTS melee_jobs_leased ON melee_jobs (leased_until) WHERE status = 'running';

-- failed_index
CREATE INDEX IF NOT EXISTS melee_jobs_failed ON melee_jobs (failed_at, id) WHERE status = 'failed';

-- key_index
CREATE UNIQUE INDEX IF NOT EXISTS melee_jobs_unique ON melee_jobs (name, unique_key)
    WHERE unique_key IS NOT NULL AND status <> 'failed';

-- insert_one
INSERT INTO melee_jobs (name, payload, queue, priority, max_attempts, enqueued_at, due_at, is_due)
VALUES (
    :name, :payload, :queue, :priority, :max_attempts, coalesce(to_timestamp(:now), now()),
    coalesce(to_timestamp(:at), coalesce(to_timestamp(:now), now()) + :in_seconds * interval '1 second'),
    coalesce(to_timestamp(:at) <= coalesce(to_timestamp(:now), now()), :in_seconds <= 0)
);

-- insert
INSERT INTO melee_jobs (name, payload, queue, priority, max_attempts, enqueued_at, due_at, is_due)
SELECT name, payload, queue, priority, max_attempts, moment, due_at, due_at <= moment
FROM unnest(
    :name::text[], :payload::text[], :queue::text[], :priority::integer[], :max_attempts::integer[],
    :at::double precision[], :in_seconds::double precision[]
) AS new (name, payload, queue, priority, max_attempts, at, in_seconds),
LATERAL (SELECT coalesce(to_timestamp(:now), now()) AS moment) AS clock,
LATERAL (SELECT coalesce(to_timestamp(at), moment + in_seconds * interval '1 second') AS due_at) AS due;

-- insert_unique
WITH new AS MATERIALIZED (
    -- As oldest counts who came first, not whose key does.
    SELECT *, nextval(pg_get_serial_sequence('melee_jobs', 'id')) AS id
    FROM unnest(
        :name::text[], :payload::text[], :queue::text[], :priority::integer[], :max_attempts::integer[],
        :at::double precision[], :in_seconds::double precision[], :unique_key::text[]
    ) WITH ORDINALITY AS new (name, payload, queue, priority, max_attempts, at, in_seconds, unique_key, place)
), stored AS (
    INSERT INTO melee_jobs (id, name, payload, queue, priority, max_attempts, unique_key, enqueued_at, due_at, is_due)
    OVERRIDING SYSTEM VALUE
    SELECT id, name, payload, queue, priority, max_attempts, unique_key, moment, due_at, due_at <= moment
    FROM new,
    LATERAL (SELECT coalesce(to_timestamp(:now), now()) AS moment) AS clock,
    LATERAL (SELECT coalesce(to_timestamp(at), moment + in_seconds * interval '1 second') AS due_at) AS due
    -- Two that store the same keys in one order never wait for each other in a circle.
    ORDER BY name COLLATE "C", unique_key COLLATE "C", place
    ON CONFLICT DO NOTHING
    RETURNING id
)
SELECT place FROM stored JOIN new USING (id);

-- let_due
-- An array of ids is looked up one by one, whatever the planner believes of the table.
UPDATE melee_jobs SET is_due = true WHERE id = ANY (ARRAY(
    SELECT id FROM melee_jobs
    WHERE status = 'queued' AND NOT is_due AND due_at <= coalesce(to_timestamp(:now), now())
    LIMIT 10000 FOR UPDATE SKIP LOCKED
));

-- claim
-- Flushed to the disk like all else: one that a crash of Postgres took back would be given again with its number, and
-- then two could say that they are done.
WITH candidates AS (
    SELECT due.id, due.priority FROM unnest(:queues::text[]) AS wanted (queue), LATERAL (
        SELECT id, priority FROM melee_jobs
        WHERE status = 'queued' AND is_due AND queue = wanted.queue AND name = ANY (:names::text[])
        ORDER BY priority DESC, id LIMIT :at_most FOR UPDATE SKIP LOCKED
    ) AS due
    ORDER BY due.priority DESC, due.id LIMIT :at_most
)
UPDATE melee_jobs SET
    status = 'running', attempts = attempts + 1, claims = claims + 1, worker = :worker,
    leased_until = coalesce(to_timestamp(:now), now()) + :lease_seconds * interval '1 second',
    unique_key = CASE WHEN name = ANY (:released_names::text[]) THEN NULL ELSE unique_key END
WHERE id = ANY (ARRAY(SELECT id FROM candidates))
RETURNING id, claims AS number, name, payload, attempts AS attempt, max_attempts, priority;

-- renew
-- That is to say it is running, in words that no index has: it is found by its id, not among all that run.
UPDATE melee_jobs SET leased_until = coalesce(to_timestamp(:now), now()) + :lease_seconds * interval '1 second'
FROM unnest(:ids::bigint[], :numbers::integer[]) AS claim (id, number)
WHERE melee_jobs.id = claim.id AND claims = number AND status NOT IN ('queued', 'failed')
RETURNING melee_jobs.id;

-- succeed
DELETE FROM melee_jobs USING unnest(:ids::bigint[], :numbers::integer[]) AS claim (id, number)
WHERE melee_jobs.id = claim.id AND claims = number AND status NOT IN ('queued', 'failed');

-- fail
UPDATE melee_jobs SET
    status = CASE WHEN again_in_seconds IS NULL THEN 'failed' ELSE 'queued' END,
    failed_at = CASE WHEN again_in_seconds IS NULL THEN coalesce(to_timestamp(:now), now()) END,
    due_at = coalesce(to_timestamp(:now), now()) + coalesce(again_in_seconds, 0) * interval '1 second',
    is_due = false, last_error = error, leased_until = NULL, worker = NULL
FROM unnest(:ids::bigint[], :numbers::integer[], :errors::text[], :again_in_seconds::double precision[])
    AS failure (id, number, error, again_in_seconds)
WHERE melee_jobs.id = failure.id AND claims = number AND status NOT IN ('queued', 'failed');

-- release
UPDATE melee_jobs SET
    status = 'queued', attempts = attempts - 1, is_due = true, leased_until = NULL, worker = NULL
FROM unnest(:ids::bigint[], :numbers::integer[]) AS claim (id, number)
WHERE melee_jobs.id = claim.id AND claims = number AND status NOT IN ('queued', 'failed');

-- reap
UPDATE melee_jobs SET
    status = CASE WHEN attempts < max_attempts THEN 'queued' ELSE 'failed' END,
    failed_at = CASE WHEN attempts < max_attempts THEN NULL ELSE coalesce(to_timestamp(:now), now()) END,
    due_at = coalesce(to_timestamp(:now), now()), is_due = attempts < max_attempts,
    last_error = 'its worker was lost during attempt ' || attempts || ', or did not renew its lease in time',
    leased_until = NULL, worker = NULL
WHERE id = ANY (ARRAY(
    SELECT id FROM melee_jobs WHERE status = 'running' AND leased_until < coalesce(to_timestamp(:now), now())
    LIMIT 10000 FOR UPDATE SKIP LOCKED
))
RETURNING *;

-- next_lease_end_at
SELECT min(leased_until) AS next_lease_end_at FROM melee_jobs WHERE status = 'running';

-- next_due_at
SELECT min(due_at) AS next_due_at FROM melee_jobs WHERE status = 'queued' AND NOT is_due;

-- now
SELECT now() AS now;

-- plan_tick
INSERT INTO melee_cron (job, expression, next_at) VALUES (:job, :expression, to_timestamp(:next_at))
ON CONFLICT DO NOTHING;

-- next_tick
SELECT next_at FROM melee_cron WHERE job = :job AND expression = :expression;

-- take_tick
UPDATE melee_cron SET next_at = to_timestamp(:next_at)
WHERE job = :job AND expression = :expression AND next_at <= to_timestamp(:now)
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
SELECT * FROM melee_jobs WHERE status <> 'failed' AND (:name::text IS NULL OR name = :name)
ORDER BY status = 'running' DESC, priority DESC, id LIMIT :at_most;

-- discard
DELETE FROM melee_jobs WHERE id = :id;

-- retry
UPDATE melee_jobs SET
    status = 'queued', attempts = 0, due_at = coalesce(to_timestamp(:now), now()), is_due = true, failed_at = NULL
WHERE id = ANY (:ids::bigint[]) AND status = 'failed' AND NOT EXISTS (
    SELECT FROM melee_jobs AS other
    WHERE other.name = melee_jobs.name AND other.unique_key = melee_jobs.unique_key AND other.status <> 'failed'
);

-- retryable_ids
SELECT id FROM melee_jobs
WHERE status = 'failed' AND (unique_key IS NULL OR id IN (
    SELECT max(id) FROM melee_jobs WHERE status = 'failed' AND unique_key IS NOT NULL GROUP BY name, unique_key));
