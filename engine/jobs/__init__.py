"""Background jobs: a queue in the catalogue, progress, cancellation, checkpoints, and resuming after an
interruption."""

from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.jobs.kinds import JobKind, kind_named, kinds
from benthoscope.engine.jobs.queue import Job, JobQueue
from benthoscope.engine.jobs.runner import JobRunner, run_now

__all__ = ["Job", "JobContext", "JobKind", "JobQueue", "JobRunner", "kind_named", "kinds", "run_now"]
