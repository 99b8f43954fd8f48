"""Work in the background: a queue in the catalogue, progress, cancel, checkpoints, and resuming after a kill."""

from engine.jobs.context import JobContext
from engine.jobs.kinds import JobKind, kind_named, kinds
from engine.jobs.queue import Job, JobQueue
from engine.jobs.runner import JobRunner, run_now

__all__ = ["Job", "JobContext", "JobKind", "JobQueue", "JobRunner", "kind_named", "kinds", "run_now"]
