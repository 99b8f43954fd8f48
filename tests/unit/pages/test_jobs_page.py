"""The rows of the Jobs page: what the table of finished jobs shows of each."""

from benthoscope.app.pages.jobs import finished_rows

JOB = {
    "id": 7,
    "title": "Describe images",
    "state": "done",
    "error": None,
    "created_at": 0.0,
    "started_at": 10.0,
    "finished_at": 12.5,
    "next": {"text": "Cluster these images", "href": "/library?cluster=gmc"},
}


def test_only_finished_jobs_are_rows():
    running = {**JOB, "id": 8, "state": "running", "finished_at": None}
    assert [row["id"] for row in finished_rows([running, JOB])] == [7]


def test_a_row_has_the_time_the_job_took_and_the_next_step():
    (row,) = finished_rows([JOB])
    assert (row["seconds"], row["added"], row["note"]) == (2.5, "1970-01-01 00:00", "")
    assert (row["next_text"], row["next_href"]) == ("Cluster these images", "/library?cluster=gmc")
    assert not row["can_retry"]


def test_a_failed_job_shows_its_error_and_can_be_retried():
    (row,) = finished_rows([{**JOB, "state": "failed", "error": "no images", "next": None}])
    assert (row["note"], row["next_href"], row["can_retry"]) == ("no images", None, True)


def test_a_job_that_never_started_took_no_time():
    (row,) = finished_rows([{**JOB, "state": "cancelled", "started_at": None, "next": None}])
    assert (row["seconds"], row["note"]) == (None, "Finished work is kept")
