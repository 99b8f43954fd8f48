"""How long describing images takes: as this machine did before, or as an ordinary laptop does."""

from app.state.app_state import AppState

# Images a second on one core of an ordinary laptop, 1360 x 1024 JPEG; corrected by what this machine did before.
IMAGES_A_SECOND = {"deep": 25.0, "scspm": 10.0, "rp": 10.0, "segments": 6.0, "colour": 40.0, "mean": 90.0}
ENOUGH = 500  # images after which a pace says something


def describing_seconds(app: AppState, word: str, images: int, cores: int) -> float:
    """For one kind of description of this many images."""
    return images / (_pace(app, word) or IMAGES_A_SECOND[word] * cores)


def _pace(app: AppState, word: str) -> float | None:
    """Images a second that this machine made of one kind of description before."""
    for job in app.jobs.jobs:
        spent = (job.finished_at or 0) - (job.started_at or 0)
        if (job.kind == "features" and job.state == "done" and job.parameters.get("kinds") == [word]
                and job.done >= ENOUGH):
            return job.done / max(spent, 0.1)
    return None
