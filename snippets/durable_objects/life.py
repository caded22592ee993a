"""The class side: which objects there are, and how one ends."""

from melee import Durable


class Basket(Durable):
    def put(self, product: str) -> None:
        self.storage.put(product, True)

    def products(self) -> list[str]:
        return self.storage.keys()

    # --8<-- [start:check_out]
    def check_out(self) -> list[str]:
        products = self.products()
        Basket.destroy(self.id)
        return products
        # --8<-- [end:check_out]


# --8<-- [start:tidy]
def tidy_up() -> int:
    """Ends every empty basket; returns how many are left."""
    for customer in Basket.list():
        if not Basket.get(customer).products():
            Basket.destroy(customer)
    return Basket.count()
    # --8<-- [end:tidy]
