"""A job that waits for several servers at once."""

import asyncio

import httpx
from melee import Job, Resources


# --8<-- [start:links]
class CheckLinks(Job):
    NAME = "check_links"

    urls: list[str]

    async def run(self, resources: Resources) -> None:
        async with httpx.AsyncClient(timeout=10) as client:
            answers = await asyncio.gather(*map(client.head, self.urls))
        for answer in answers:
            resources.log.info("a link", url=str(answer.url), status=answer.status_code)
            # --8<-- [end:links]
