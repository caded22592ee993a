"""The form: who gets in, and what the others are told."""

import pytest
from melee.testing import AppUnderTest

from .conftest import emails, sign_up
from .mail_service import MailService, hangs


def test_whoever_signs_up_is_thanked(app: AppUnderTest) -> None:
    assert 'action="/signup"' in app.client.get("/").text
    signed_up = sign_up(app, " ada@example.org ")

    assert signed_up.status_code == 201
    assert "A mail to you is on its way." in signed_up.text
    assert emails(app) == ["ada@example.org"]


def test_the_visitor_does_not_wait_for_the_mail_service(
    app: AppUnderTest, service: MailService
) -> None:
    service.behave = hangs
    assert sign_up(app, "ada@example.org").status_code == 201
    assert not service.asked


@pytest.mark.parametrize(
    "email",
    ["", "  ", "ada", "@", "ada@", "@example.org", "a b@c.org", f"{'a' * 250}@b.org"],
)
def test_what_is_no_address_is_refused_with_a_message(
    app: AppUnderTest, email: str
) -> None:
    refused = sign_up(app, email)

    assert refused.status_code == 422
    assert "Write an address such as ada@example.org." in refused.text
    assert f'value="{email.strip()}"' in refused.text
    assert 'aria-invalid="true"' in refused.text
    assert (emails(app), app.jobs.run_pending()) == ([], 0)


def test_a_form_that_is_too_large_to_show_again_is_not_read(app: AppUnderTest) -> None:
    refused = sign_up(app, "x" * 20_000)

    assert refused.status_code == 413
    assert "xxx" not in refused.text


def test_a_form_without_the_field_is_refused(app: AppUnderTest) -> None:
    assert app.client.post("/signup").status_code == 422


@pytest.mark.parametrize("again", ["ada@example.org", "ADA@example.org"])
def test_nobody_signs_up_or_is_welcomed_twice(app: AppUnderTest, again: str) -> None:
    sign_up(app, "ada@example.org")
    refused = sign_up(app, again)

    assert refused.status_code == 422
    assert f"{again} is signed up already." in refused.text
    assert (emails(app), app.jobs.run_pending()) == (["ada@example.org"], 1)


def test_what_people_write_is_shown_as_text(app: AppUnderTest) -> None:
    for _ in range(2):
        answer = sign_up(app, '"><script>@example.org')

    assert "<script>" not in answer.text
    assert "&#34;&gt;&lt;script&gt;@example.org is signed up already." in answer.text
