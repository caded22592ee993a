"""melee: small Python web apps in which a request is one short process, and what outlives it is a durable object."""

from melee.clock import now
from melee.jobs.job import Job
from melee.jobs.resources import Resources
from melee.objects.durable import Durable
from melee.web.app import App

__all__ = ["App", "Durable", "Job", "Resources", "now"]
