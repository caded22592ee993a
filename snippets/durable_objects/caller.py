"""What a caller may do with each kind of error."""

from melee.errors import ObjectCallError, ObjectUnavailable, OutcomeUnknown, Overloaded
from snippets.durable_objects.account import Account


# --8<-- [start:pay]
def pay(customer: str, cents: int) -> str:
    try:
        Account.get(customer).pay(cents, "lunch")
    except ObjectCallError as error:
        return f"refused: {error.message}"
    except ObjectUnavailable:
        return "nothing happened: try again"
    except Overloaded:
        return "nothing happened: try again in a while"
    except OutcomeUnknown:
        return "look at your account before you try again"
    return "paid"
    # --8<-- [end:pay]
