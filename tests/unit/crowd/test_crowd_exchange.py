"""Crowd answers as files: import, export, the job and the commands."""

import csv
import hashlib
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from benthoscope.app.cli import app
from benthoscope.app.pages.crowd.content import worker_rows
from benthoscope.engine.exchange.crowd_answers import (
    adjacency_judgements,
    numbered,
    read_judgements,
    read_pair_array,
    write_answers,
    write_pairs,
)
from benthoscope.engine.exchange.parsing.tables import read_table
from benthoscope.engine.jobs import run_now
from benthoscope.engine.metrics import adjusted_rand
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import NewImage, Workspace
from benthoscope.engine.workspace.crowd.campaigns import ask, known_pairs, new_tasks, with_gold
from benthoscope.engine.workspace.crowd.records import CampaignSettings, GoldPair
from tests.crowds import single_criterion_crowd

ITEMS, WORKERS = 40, 10


def read(text, **remaining):
    return read_judgements(read_table(text.encode(), source="a.csv"), source="a.csv", **remaining)


def test_rows_of_images_become_pairs_and_invalid_rows_are_reported():
    table = read(
        "task,worker,item,group\nt1,ann,a,1\nt1,ann,b,1\nt1,ann,c,2\nt1,bob,a,x\nt1,bob,b,y\nt1,ann,a,2\nt1,,a,1\n"
    )
    assert table.items == ("a", "b", "c") and table.workers == ("ann", "bob")
    flag_by_row = {
        (int(a), int(b), int(j)): bool(same)
        for a, b, j, same in zip(
            table.judgements.first, table.judgements.second, table.judgements.worker, table.judgements.same, strict=True
        )
    }
    assert flag_by_row == {(0, 1, 0): True, (0, 2, 0): False, (1, 2, 0): False, (0, 1, 1): False}
    texts = [str(problem) for problem in table.problems]
    assert any("line 7" in line and "second time" in line for line in texts)
    assert any("line 8" in line and "no worker" in line for line in texts)


def test_card_sorts_and_other_platforms_tables_are_read_by_their_own_column_names():
    cards = read("participant,card_id,card,category_id,category\n1,7,Fish,1,Animals\n1,8,Kelp,2,Plants\n")
    assert cards.items == ("Fish", "Kelp") and len(cards.judgements) == 1
    hits = read("HIT,WorkerId,Image,Cluster\nh,w,a.jpg,0\nh,w,b.jpg,0\n")
    assert hits.judgements.same.tolist() == [True]


def test_rows_of_pairs_are_read_and_invalid_ones_ignored():
    table = read("first,second,worker,same\na,b,w,1\nb,c,w,no\na,a,w,1\na,b,w,perhaps\nc,,w,1\n")
    assert table.judgements.same.tolist() == [True, False] and len(table.problems) == 3


def test_a_table_of_something_else_is_rejected():
    with pytest.raises(BadInput, match="neither task, worker"):
        read("x,y\n1,2\n")


def test_given_items_keep_their_numbers():
    assert read("first,second,worker,same\nb,a,w,1\n", items=["a", "b", "c"]).judgements.first.tolist() == [1]


def test_matrices_and_arrays_of_studies_become_judgements():
    asked = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    judgements = adjacency_judgements(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]), asked)
    assert sorted(zip(judgements.first, judgements.second, judgements.same, strict=True)) == [
        (0, 1, True),
        (0, 2, False),
    ]
    rows = read_pair_array(np.array([[1000, 7, 5, 1], [7, 30, 9, 0]]))
    assert (rows.n_items, rows.n_workers) == (3, 2) and rows.first.tolist() == [2, 0]
    with pytest.raises(BadInput):
        adjacency_judgements(np.zeros((2, 3)), np.zeros((2, 3)))


@pytest.fixture(scope="module")
def reef(tmp_path_factory):
    """A workspace whose crowd has sorted 40 images by four kinds."""
    folder = tmp_path_factory.mktemp("reef")
    with Workspace.create(folder / "reef") as made:
        group = made.library.group(made.library.collection("dives").id, "one")
        root = made.library.register_root(folder)
        ids = made.library.store_images([_picture(folder, root.id, group.id, number) for number in range(ITEMS)])
        settings = CampaignSettings(size=10, views=4, repeats=4, title="</script><b>=1+1")
        campaign = ask(made.crowd, "kinds", np.array(ids)[::-1], settings, np.random.default_rng(0))
        campaign = made.crowd.change(campaign.id, "open")
        made.kinds = single_criterion_crowd(0, n_items=ITEMS, n_workers=WORKERS, spammers=0.2)
        made.kinds.answer_all(made, campaign)
        yield made


def _picture(folder, root, group, number):
    buffer = io.BytesIO()
    Image.fromarray(np.full((30, 40, 3), 6 * number, np.uint8)).save(buffer, "JPEG")
    (folder / f"{number}.jpg").write_bytes(buffer.getvalue())
    sha = hashlib.sha256(buffer.getvalue()).hexdigest()
    return NewImage(root, f"{number}.jpg", group, len(buffer.getvalue()), 1, sha, 40, 30)


def test_written_answers_are_read_back_unchanged(reef):
    campaign = reef.crowd.named("kinds")
    answers = reef.crowd.answers(campaign.id)
    names = [f"image {number}" for number in range(ITEMS)]
    back = read(b"".join(write_answers(answers, names, ["=evil()"] * WORKERS)).decode(), items=names)
    direct = numbered(answers, ITEMS, WORKERS).judgements
    assert len(back.judgements) == len(direct) and back.judgements.same.sum() == direct.same.sum()
    pairs = b"".join(write_pairs(direct, names, [str(number) for number in range(WORKERS)])).decode()
    again = read(pairs, items=names).judgements
    assert (again.first == direct.first).all() and (again.same == direct.same).all()
    assert "'=evil()" in b"".join(write_answers(answers, names, ["=evil()"] * WORKERS)).decode()


def test_the_job_turns_answers_into_a_run_with_its_workers(reef):
    job = run_now(reef, "crowd", {"campaign": "kinds"})
    assert job.state == "done", job.error
    run = reef.runs.get(job.result["run"])
    item_by_image = {int(image): item for item, image in enumerate(reef.crowd.named("kinds").images)}
    truth = [reef.kinds.truth[item_by_image[int(image)]] for image in run.array("image_ids")]
    assert adjusted_rand(truth, run.array("labels")) > 0.9
    assert (np.diff(run.array("image_ids")) > 0).all() and run.array("weights").sum() == pytest.approx(1)
    assert run.array("confusion").shape == (WORKERS, run.summary["clusters"], run.summary["clusters"])
    rows = worker_rows(reef, reef.crowd.named("kinds"), run)
    spam = {row["number"] for row in rows if not row["looking"]}
    assert spam == set(np.flatnonzero(reef.kinds.spam))


def test_more_tasks_are_added_in_a_new_round(tmp_path):
    with Workspace.create(tmp_path / "w") as made:
        group = made.library.group(made.library.collection("dives").id, "one")
        root = made.library.register_root(tmp_path)
        ids = made.library.store_images([_picture(tmp_path, root.id, group.id, number) for number in range(ITEMS)])
        campaign = ask(
            made.crowd, "k", np.array(ids), CampaignSettings(size=10, views=3, repeats=2), np.random.default_rng(0)
        )
        campaign = made.crowd.change(campaign.id, "open")
        people = single_criterion_crowd(0, n_items=ITEMS, n_workers=WORKERS)
        people.answer_all(made, campaign)
        before = made.crowd.standing(campaign.id).tasks
        assert run_now(made, "crowd", {"campaign": "k", "more": 5}).state == "done"
        assert made.crowd.standing(campaign.id).tasks == before + 5
        stopped = {worker.number for worker in made.crowd.workers(campaign.id) if worker.state == "stopped"}
        assert stopped == set(np.flatnonzero(people.spam))  # workers who guess receive no more tasks
        single_criterion_crowd(0, n_items=ITEMS, n_workers=2 * WORKERS).answer_all(made, campaign, WORKERS)
        assert {answer.round for answer in made.crowd.answers(campaign.id)} == {1, 2}


def test_factorisation_needs_the_number_of_clusters(reef):
    with pytest.raises(BadInput, match="--clusters"):
        run_now(reef, "crowd", {"campaign": "kinds", "method": "nmf"})
    assert run_now(reef, "crowd", {"campaign": "kinds", "method": "nmf", "clusters": 4}).state == "done"
    with pytest.raises(BadInput, match="did you mean 'bayes'"):
        run_now(reef, "crowd", {"campaign": "kinds", "method": "bayse"})


def test_known_pairs_are_inserted_without_showing_an_image_twice():
    gold = (GoldPair(0, 1, True), GoldPair(2, 3, False))
    tasks = with_gold([np.arange(at, at + 6) for at in range(20)], gold, np.random.default_rng(0))
    assert all(len(set(task.tolist())) == 6 for task in tasks)
    known_tasks = [any({pair.first, pair.second} <= set(task.tolist()) for pair in gold) for task in tasks]
    assert sum(known_tasks[::4]) == 5
    practice = new_tasks(30, CampaignSettings(size=5, views=2), np.random.default_rng(0))[0]
    assert practice.kind == "practice" and practice.wanted == 0


def benthoscope(reef, *words, code=0):
    outcome = CliRunner().invoke(app, ["crowd", *words, "--workspace", str(reef.folder)])
    assert outcome.exit_code == code, outcome.output
    return outcome.output


def test_the_commands_list_open_write_and_make_pages(reef, tmp_path):
    listed = json.loads(benthoscope(reef, "workers", "kinds", "--json"))
    assert len(listed) == WORKERS and listed[0]["answers"] > 0
    assert "/crowd/" in benthoscope(reef, "open", "kinds", "--address", "http://vessel:8642")
    benthoscope(reef, "answers", "kinds", str(tmp_path / "a.csv"))
    rows = list(csv.DictReader((tmp_path / "a.csv").open(encoding="utf-8")))
    assert len(rows) == 10 * len(reef.crowd.answers(reef.crowd.named("kinds").id))
    clustered = CliRunner().invoke(app, ["crowd", "read", str(tmp_path / "a.csv"), "--json"])
    labels = {int(row["item"]): row["cluster"] for row in json.loads(clustered.output)}
    images = reef.crowd.named("kinds").images
    assert adjusted_rand(reef.kinds.truth, [labels[int(image)] for image in images]) > 0.9
    made = benthoscope(reef, "create", "second", "--collection", "dives", "--size", "5", "--views", "2")
    assert "benthoscope crowd open" in made
    benthoscope(reef, "pause", "second")
    assert "second" in benthoscope(reef) and "closed" in benthoscope(reef, "close", "second")


def test_exported_pages_are_self_contained_and_escape_texts(reef, tmp_path):
    benthoscope(reef, "pages", "kinds", str(tmp_path / "pages"))
    pages = sorted((tmp_path / "pages").iterdir())
    assert len(pages) == len(reef.crowd.tasks(reef.crowd.named("kinds").id))
    text = pages[0].read_text(encoding="utf-8")
    assert "&lt;/script&gt;&lt;b&gt;=1+1" in text and "{{" not in text
    assert text.count("data:image/jpeg;base64,") == 10 and not re.search(r"(src|href)=.?https?:", text)


def test_known_pairs_come_from_labels():
    terms = np.array([0, 5, 5, 7, 0, 7, 5])
    pairs = known_pairs(terms, 6, np.random.default_rng(0))
    assert len(pairs) == 6 and all(pair.same == (terms[pair.first] == terms[pair.second]) for pair in pairs)
    assert {pair.same for pair in pairs} == {True, False} and all(terms[pair.first] for pair in pairs)
    assert not known_pairs(np.zeros(5), 6, np.random.default_rng(0))


def test_the_files_of_the_page_name_no_other_host():
    folder = Path(__file__).parents[3] / "assets" / "crowd"
    texts = [path.read_text(encoding="utf-8") for path in folder.iterdir()]
    assert not any(re.search(r"https?://(?!www\.w3\.org)", text) for text in texts)
