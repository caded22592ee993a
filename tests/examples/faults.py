"""Mistakes in the examples, each with the test of the example that must fail because of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """In a file of an example something right is replaced by something wrong, which one of its tests must catch."""

    example: str
    file: str
    right: str
    wrong: str
    caught_by: str


FAULTS = {
    "a day has 86400 seconds": Fault(
        "board",
        "lib/stats.py",
        "return datetime.combine(tomorrow, time(0), tzinfo=here.tzinfo)",
        "today = datetime.combine(here, time(0), tzinfo=here.tzinfo)\n"
        "    return datetime.fromtimestamp(today.timestamp() + 86_400, here.tzinfo)",
        "test_a_day_lasts_until_the_next_local_midnight[clocks-go-forward-in-Paris]",
    ),
    "a day goes too early": Fault(
        "board", "lib/stats.py", "KEPT_DAYS = 30", "KEPT_DAYS = 29", "test_a_day_is_kept_for_the_30_days_after_it"
    ),
    "a day goes too late": Fault(
        "board", "lib/stats.py", "KEPT_DAYS = 30", "KEPT_DAYS = 31", "test_a_day_is_kept_for_the_30_days_after_it"
    ),
    "the timer is not set again": Fault(
        "board",
        "lib/stats.py",
        "oldest.isoformat())\n        self.timer(at=next_midnight())",
        "oldest.isoformat())",
        "test_the_timer_fires_at_each_midnight",
    ),
    "the date is that of UTC": Fault(
        "board",
        "lib/stats.py",
        "now().date().isoformat()",
        "(now() - now().utcoffset()).date().isoformat()",
        "test_midnight_is_that_of_the_apps_time_zone",
    ),
    "what people write is HTML": Fault(
        "board",
        "templates/note.html",
        "<p>{{ note.text }}",
        "<p>{{ note.text|safe }}",
        "test_what_people_write_is_shown_as_text",
    ),
    "forms of other sites pass": Fault(
        "board", "app.py", 'site.rstrip("/") != request.host', "not site", "test_a_form_of_another_site_is_refused"
    ),
    "a note may be empty": Fault(
        "board",
        "app.py",
        "not 1 <= len(text)",
        "not 0 <= len(text)",
        "test_a_note_that_is_empty_or_too_long_is_refused_with_a_message",
    ),
    "the feed is not read again": Fault(
        "feed",
        "lib/refresher.py",
        "        self.timer(after=EVERY_SECONDS)\n",
        "",
        "test_it_is_read_again_every_ten_minutes",
    ),
    "a feed that fails stops the timer": Fault(
        "feed",
        "lib/refresher.py",
        "except (http.Error, msgspec.ValidationError)",
        "except msgspec.ValidationError",
        "test_what_was_read_last_stays_until_the_server_is_good_again[fails]",
    ),
    "a feed of another shape stops the timer": Fault(
        "feed",
        "lib/refresher.py",
        "except (http.Error, msgspec.ValidationError)",
        "except http.Error",
        "test_what_was_read_last_stays_until_the_server_is_good_again[sends_no_items]",
    ),
    "the page of an error is taken for a feed": Fault(
        "feed",
        "lib/refresher.py",
        "answer.raise_for_status().json()",
        "answer.json()",
        "test_what_was_read_last_stays_until_the_server_is_good_again[fails]",
    ),
    "any link will do": Fault(
        "feed",
        "lib/refresher.py",
        'pattern="^https?://"',
        'pattern=":"',
        "test_what_was_read_last_stays_until_the_server_is_good_again[sends_a_script_for_a_link]",
    ),
    "a title has no end": Fault(
        "feed",
        "lib/refresher.py",
        "min_length=1, max_length=500",
        "min_length=1",
        "test_what_was_read_last_stays_until_the_server_is_good_again[sends_a_title_without_an_end]",
    ),
    "mistakes are caught, too": Fault(
        "feed",
        "lib/refresher.py",
        "        self._refresh()\n        self.timer(after=EVERY_SECONDS)",
        "        self.timer(after=EVERY_SECONDS)\n        self._refresh()",
        "test_a_mistake_in_the_app_stops_the_timer",
    ),
    "what was read is not kept": Fault(
        "feed",
        "lib/refresher.py",
        'feed = self.storage.get("feed")',
        'feed = getattr(self, "_feed", None)',
        "test_the_feed_stays_when_the_object_is_unloaded_and_after_a_restart",
    ),
    "visitors read the feed": Fault(
        "feed",
        "lib/refresher.py",
        '        feed = self.storage.get("feed")\n',
        '        self._refresh()\n        feed = self.storage.get("feed")\n',
        "test_the_first_visitor_is_told_that_nothing_has_been_read",
    ),
    "a crowd holds the mails off": Fault(
        "signup",
        "lib/outbox.py",
        'self.storage.put("drains_soon", True)',
        'self.storage.put("drains_soon", False)',
        "test_a_crowd_without_an_end_does_not_hold_the_mails_off",
    ),
    "a new job waits for the next look": Fault(
        "signup",
        "lib/outbox.py",
        "        self._drain_soon()\n",
        "",
        "test_a_mail_goes_out_a_second_later_though_the_next_look_is_a_minute_away",
    ),
    "a job is done once only": Fault(
        "signup",
        "lib/outbox.py",
        "ATTEMPTS_AT_MOST = 5",
        "ATTEMPTS_AT_MOST = 1",
        "test_a_failure_is_counted_and_the_job_tried_again_five_seconds_later",
    ),
    "a job is tried for ever": Fault(
        "signup",
        "lib/outbox.py",
        "attempts >= ATTEMPTS_AT_MOST",
        "attempts > ATTEMPTS_AT_MOST",
        "test_a_job_that_always_fails_is_given_up_after_five_attempts",
    ),
    "an error of the service is a success": Fault(
        "signup",
        "lib/outbox.py",
        "        answer.raise_for_status()\n",
        "        _ = answer\n",
        "test_a_failure_is_counted_and_the_job_tried_again_five_seconds_later",
    ),
    "each try has a key of its own": Fault(
        "signup",
        "lib/outbox.py",
        "idempotency_key=key",
        "idempotency_key=uuid.uuid4().hex",
        "test_a_worker_killed_while_it_mails_mails_again_with_the_same_key",
    ),
    "all of a round wait for a service that hangs": Fault(
        "signup",
        "lib/outbox.py",
        "error.status is None",
        "error.status == 0",
        "test_while_the_service_hangs_each_round_waits_for_one_answer_only",
    ),
    "a mail counts as sent before it is": Fault(
        "signup",
        "lib/outbox.py",
        "        try:\n            self._deliver(job)\n",
        "        self._remove(job)\n        try:\n            self._deliver(job)\n",
        "test_a_worker_killed_while_it_mails_mails_again_with_the_same_key",
    ),
    "a mail has no key": Fault(
        "signup",
        "lib/outbox.py",
        "            idempotency_key=key,\n",
        "",
        "test_each_job_has_a_key_of_its_own_and_keeps_it",
    ),
    "a mail of a member counts as sent before it is": Fault(
        "signup_exactly_once",
        "lib/members.py",
        "        try:\n            self._deliver(job)\n",
        "        self._remove(job)\n        try:\n            self._deliver(job)\n",
        "test_a_worker_killed_while_it_mails_mails_again_with_the_same_key",
    ),
    "a mail of a member has no key": Fault(
        "signup_exactly_once",
        "lib/members.py",
        "            idempotency_key=key,\n",
        "",
        "test_each_job_has_a_key_of_its_own_and_keeps_it",
    ),
    "a bad job stops the others": Fault(
        "signup",
        "lib/outbox.py",
        "except Exception as error:",
        "except http.Error as error:",
        "test_a_job_that_fails_does_not_hold_up_the_others",
    ),
    "the newest job comes first": Fault(
        "signup",
        "lib/outbox.py",
        "ORDER BY id ASC",
        "ORDER BY id DESC",
        "test_20_jobs_are_done_at_once_the_oldest_first",
    ),
    "a member may be without a job": Fault(
        "signup_exactly_once",
        "lib/members.py",
        "with self.storage.transaction():",
        "if True:",
        "test_a_member_whose_job_cannot_be_written_is_no_member",
    ),
    "a night has 86400 seconds": Fault(
        "nightly",
        "lib/nightly.py",
        "moment = datetime.combine(tomorrow, at, tzinfo=here.tzinfo).timestamp()",
        "moment += 86_400",
        "test_each_night_it_is_wiped_once_at_the_time_on_the_wall[Paris-three-when-clocks-go-forward]",
    ),
    "times on the wall are compared": Fault(
        "nightly",
        "lib/nightly.py",
        "if moment <= here.timestamp():",
        "if at <= here.time():",
        "test_a_whiteboard_made_in_the_hour_that_comes_twice_waits_for_the_next_night",
    ),
    "a time that the clocks skip is shown": Fault(
        "nightly",
        "lib/nightly.py",
        "return datetime.fromtimestamp(moment, here.tzinfo)",
        "return datetime.combine(datetime.fromtimestamp(moment, here.tzinfo), at, tzinfo=here.tzinfo)",
        "test_the_page_says_what_the_clocks_show_when_a_time_is_skipped",
    ),
    "a night that was missed is forgotten": Fault(
        "nightly",
        "lib/whiteboard.py",
        "SET lines = lines + excluded.lines",
        "SET lines = excluded.lines",
        "test_two_wipes_on_one_date_add_up",
    ),
    "a user may be without a job": Fault(
        "welcome",
        "app.py",
        "with app.db.transaction():",
        "if True:",
        "test_a_user_whose_job_cannot_be_stored_is_no_user",
    ),
    "each try of a welcome has a key of its own": Fault(
        "welcome",
        "jobs/send_welcome.py",
        'idempotency_key=f"welcome-{self.user_id}"',
        "idempotency_key=os.urandom(8).hex()",
        "test_a_mail_that_was_sent_twice_arrives_once",
    ),
    "an error of the service ends the job": Fault(
        "welcome",
        "jobs/send_welcome.py",
        "        answer.raise_for_status()\n",
        "        _ = answer\n",
        "test_a_mail_that_fails_is_tried_again_after_5_and_20_seconds",
    ),
    "each change is a job": Fault(
        "search_index",
        "jobs/search.py",
        "return str(self.product_id)",
        "return str(id(self))",
        "test_ten_changes_in_a_row_are_one_job",
    ),
    "a late change is lost": Fault(
        "search_index",
        "jobs/search.py",
        'UNIQUE_WHILE = "queued"',
        'UNIQUE_WHILE = "unfinished"',
        "test_a_change_made_while_the_job_runs_is_not_lost",
    ),
    "a withdrawal waits its turn": Fault(
        "search_index",
        "jobs/search.py",
        "PRIORITY = -1",
        "PRIORITY = 0",
        "test_a_withdrawal_overtakes_a_flood_of_changes",
    ),
    "what is withdrawn is found": Fault(
        "search_index",
        "jobs/search.py",
        "            if product:\n",
        '            product = product or {"id": self.product_id, "name": "Tea", "description": ""}\n'
        "            if product:\n",
        "test_a_product_that_is_withdrawn_is_not_found_though_a_change_was_queued",
    ),
    "what is changed is there twice": Fault(
        "search_index",
        "jobs/search.py",
        "            forget(resources.db, self.product_id)\n            if product:\n",
        "            if product:\n",
        "test_a_job_that_runs_twice_does_no_harm",
    ),
    "only whole words are found": Fault(
        "search_index",
        "lib/index.py",
        """f'"{word}"*' for word""",
        """f'"{word}"' for word""",
        "test_a_product_is_found_by_its_words[gre]",
    ),
    "working days are those of UTC": Fault(
        "digest",
        "app.py",
        "CRON_TZ=Europe/Paris ",
        "",
        "test_in_summer_the_daily_one_follows_the_clocks_and_the_weekly_one_does_not",
    ),
    "a second try is a second digest": Fault(
        "digest",
        "jobs/send_digest.py",
        "if unsent:",
        "if unsent is True:",
        "test_a_second_try_sends_the_same_links_with_the_same_key",
    ),
    "a digest that fails does not hold off the next": Fault(
        "digest",
        "jobs/send_digest.py",
        "return self.period",
        "return None",
        "test_while_a_digest_fails_the_next_morning_adds_no_second_one",
    ),
    "both digests share their links": Fault(
        "digest",
        "jobs/send_digest.py",
        '"(SELECT link_id FROM in_digests WHERE period = ?)",',
        "\"(SELECT link_id FROM in_digests WHERE ? <> '')\",",
        "test_on_a_weekend_there_is_none_and_on_monday_there_are_two",
    ),
}
