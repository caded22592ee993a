"""What keeps the search index at what the products are."""

from melee import Job, Resources

from lib.index import forget, index


# --8<-- [start:reindex]
class ReindexProduct(Job):
    NAME = "reindex_product"
    QUEUE = "search"
    PRIORITY = -1
    UNIQUE_WHILE = "queued"

    product_id: int

    def unique_key(self) -> str:
        return str(self.product_id)

    def run(self, resources: Resources) -> None:
        with resources.db.transaction():
            product = resources.db.first(
                "SELECT id, name, description FROM products WHERE id = ?",
                self.product_id,
            )
            forget(resources.db, self.product_id)
            if product:
                index(resources.db, product)
                # --8<-- [end:reindex]


# --8<-- [start:forget]
class ForgetProduct(Job):
    NAME = "forget_product"
    QUEUE = "search"

    product_id: int

    def run(self, resources: Resources) -> None:
        forget(resources.db, self.product_id)
        # --8<-- [end:forget]
