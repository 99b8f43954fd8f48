"""The tables of the catalogue. Each change needs a migration; a test compares both."""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.schema import SchemaItem

# Constraints have names, so that later migrations can find them in all databases.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_label)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Id = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows automatically only in INTEGER columns
# Times are seconds since 1970 UTC: easy to sort, subtract and load into arrays, and without a time zone.
Moment = Float(53)


def _id() -> Column:
    return Column("id", Id, primary_key=True, autoincrement=True)


def _of(table: str, *, on_delete: str = "CASCADE", nullable: bool = False) -> Column:
    name = table.removeprefix("image_") if table != "image" else table
    return Column(f"{name}_id", Id, ForeignKey(f"{table}.id", ondelete=on_delete), nullable=nullable)


def _table(name: str, *columns: SchemaItem) -> Table:
    """Return a table with these columns after its id, and with these constraints."""
    return Table(name, metadata, _id(), *columns)


workspace = Table(
    "workspace",
    metadata,
    # a UUID, which distinguishes copies of one workspace from other workspaces
    Column("id", String(36), primary_key=True),
    Column("name", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
)

root = _table(
    "root",
    Column("path", Text, nullable=False, unique=True),  # absolute path where the images were last seen
    Column("beside", Text),  # the same, relative to the workspace, because both may move together
)

collection = _table(
    "collection",
    Column("name", Text, nullable=False, unique=True),
    Column("kind", String(16), nullable=False),
    Column("details", JSON, nullable=False, default=dict),
    Column("created_at", Moment, nullable=False),
    CheckConstraint("kind in ('campaign', 'albums')", name="kind"),
)

image_group = _table(
    "image_group",
    _of("collection"),
    Column("name", Text, nullable=False),
    Column("details", JSON, nullable=False, default=dict),
    UniqueConstraint("collection_id", "name"),
)

image = _table(
    "image",
    _of("image_group"),
    _of("root", on_delete="RESTRICT"),
    Column("path", Text, nullable=False),  # relative to the root, with forward slashes
    Column("size", BigInteger, nullable=False),
    Column("mtime_ns", BigInteger, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    Column("taken_at", Moment),
    Column("latitude", Float(53)),
    Column("longitude", Float(53)),
    Column("depth", Float(53)),  # metres below the surface
    Column("altitude", Float(53)),  # metres above the sea floor
    Column("details", JSON, nullable=False, default=dict),
    Column("changed_at", Moment),  # time when its content was last replaced; empty if it never was
    UniqueConstraint("root_id", "path"),
    Index("ix_image_group_taken", "group_id", "taken_at"),
    Index("ix_image_sha256", "sha256"),
)

import_problem = _table(
    "import_problem",
    Column("source", Text, nullable=False, index=True),
    Column("place", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("remedy", Text, nullable=False, default=""),
    Column("noted_at", Moment, nullable=False),
)

feature_set = _table(
    "feature_set",
    Column("name", Text, nullable=False, unique=True),
    Column("level", String(16), nullable=False),
    Column("width", Integer, nullable=False),
    Column("extractor", JSON, nullable=False),
    Column("created_at", Moment, nullable=False),
    CheckConstraint("level in ('image', 'segment')", name="level"),
)

job = _table(
    "job",
    Column("kind", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("state", String(16), nullable=False, index=True),
    Column("priority", Integer, nullable=False, default=0),
    Column("heavy", Boolean, nullable=False, default=True),
    Column("attempts", Integer, nullable=False, default=0),
    Column("cancel_requested", Boolean, nullable=False, default=False),
    Column("owner", Text),  # the process that runs it, for information
    Column("done", Float, nullable=False, default=0),
    Column("total", Float),
    Column("rate", Float),
    Column("message", Text, nullable=False, default=""),
    Column("figures", JSON, nullable=False, default=dict),
    Column("result", JSON),
    Column("error", Text),
    Column("traceback", Text),
    Column("created_at", Moment, nullable=False),
    Column("started_at", Moment),
    Column("updated_at", Moment),
    Column("finished_at", Moment),
    CheckConstraint("state in ('queued', 'running', 'done', 'failed', 'cancelled')", name="state"),
)

run = _table(
    "run",
    Column("name", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("features", Text, nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("provenance", JSON, nullable=False),
    Column("summary", JSON, nullable=False),  # bound, number of clusters and other values for lists of runs
    Column("folder", Text, nullable=False),
    Column("current", Boolean, nullable=False, default=False),
    Column("created_at", Moment, nullable=False),
    Column("deleted_at", Moment),  # a deleted run can be restored until the workspace is tidied
)

cluster = _table(
    "cluster",
    _of("run"),
    Column("number", Integer, nullable=False),
    Column("level", String(16), nullable=False, default="image"),
    Column("size", BigInteger, nullable=False),
    Column("summary", JSON, nullable=False, default=dict),
    UniqueConstraint("run_id", "level", "number"),
)

person = _table(
    "person",
    Column("name", Text, nullable=False, unique=True),
    Column("created_at", Moment, nullable=False),
)

vocabulary = _table(
    "vocabulary",
    Column("name", Text, nullable=False, unique=True),
    Column("version", Text, nullable=False, default=""),
    Column("created_at", Moment, nullable=False),
)

term = _table(
    "term",
    _of("vocabulary"),
    Column("parent_id", Id, ForeignKey("term.id", ondelete="RESTRICT")),
    Column("name", Text, nullable=False),
    Column("code", Text),
    Column("colour", String(9)),
    Column("details", JSON, nullable=False, default=dict),
    UniqueConstraint("vocabulary_id", "parent_id", "name"),
)

# Append-only: rows are never updated or deleted; all current labels are computed from them.
label_event = Table(
    "label_event",
    metadata,
    Column("number", Id, primary_key=True, autoincrement=True),
    Column("kind", String(16), nullable=False),
    Column("person_id", Id, ForeignKey("person.id", ondelete="RESTRICT"), nullable=False),
    Column("at", Moment, nullable=False),
    Column("term_id", Id, ForeignKey("term.id", ondelete="RESTRICT")),
    Column("undoes", Id, ForeignKey("label_event.number", ondelete="RESTRICT")),
    Column("count", Integer, nullable=False),
    # ids, see id_packing.py: a bulk label of a million images is one row
    Column("images", LargeBinary, nullable=False),
    Column("first_image", BigInteger, nullable=False),  # the smallest and the largest id
    Column("last_image", BigInteger, nullable=False),
    Column("why", String(24), nullable=False),
    Column("run_id", Id, ForeignKey("run.id", ondelete="RESTRICT")),
    Column("rule", JSON, nullable=False, default=dict),
    Column("confidence", Float),
    CheckConstraint(
        "kind in ('label', 'opinion', 'part', 'clear', 'refuse', 'audit', 'arrange', 'revert', 'undo')", name="kind"
    ),
    Index("ix_label_event_first_image", "first_image", "last_image"),
)

# Keyboard shortcuts of a person: digits and capital letters.
favourite = _table(
    "favourite",
    _of("person"),
    Column("key", String(8), nullable=False),
    Column("term_id", Id, ForeignKey("term.id", ondelete="CASCADE"), nullable=False),
    UniqueConstraint("person_id", "key"),
)

# Links between the terms of two vocabularies.
term_link = _table(
    "term_link",
    Column("source_id", Id, ForeignKey("term.id", ondelete="CASCADE"), nullable=False),
    Column("target_id", Id, ForeignKey("term.id", ondelete="CASCADE"), nullable=False),
    Column("relation", String(16), nullable=False),
    UniqueConstraint("source_id", "target_id"),
    CheckConstraint("relation in ('same', 'broader', 'narrower')", name="relation"),
)

selection = _table(
    "selection",
    Column("name", Text, nullable=False, unique=True),
    _of("person", on_delete="RESTRICT"),
    Column("at", Moment, nullable=False),
    Column("count", Integer, nullable=False),
    Column("images", LargeBinary, nullable=False),  # ids packed as those of label events
    Column("origin", JSON, nullable=False, default=dict),
)

# Crowd campaigns: tasks, workers and answers. Answers are never changed or deleted.
crowd_campaign = _table(
    "crowd_campaign",
    Column("name", Text, nullable=False, unique=True),
    Column("state", String(16), nullable=False),
    Column("link", String(64), nullable=False, unique=True),  # the secret part of the address given to workers
    Column("settings", JSON, nullable=False),
    Column("images", LargeBinary, nullable=False),  # int64 ids; an item is the position of its image among them
    Column("count", Integer, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
    CheckConstraint("state in ('draft', 'open', 'paused', 'closed')", name="state"),
)

crowd_task = _table(
    "crowd_task",
    _of("crowd_campaign"),
    Column("number", Integer, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("items", JSON, nullable=False),
    Column("wanted", Integer, nullable=False),  # number of answers by different people
    Column("given", Integer, nullable=False, default=0),  # answers and tasks in progress
    Column("round", Integer, nullable=False, default=1),
    UniqueConstraint("crowd_campaign_id", "number"),
    CheckConstraint("kind in ('task', 'practice')", name="kind"),
    Index("ix_crowd_task_open", "crowd_campaign_id", "kind", "given"),
)

crowd_worker = _table(
    "crowd_worker",
    _of("crowd_campaign"),
    Column("number", Integer, nullable=False),  # from 0, as judgements count workers
    Column("secret", String(64), nullable=False, unique=True),  # SHA-256 of the secret stored in the worker's browser
    Column("nickname", Text, nullable=False, default=""),
    Column("state", String(16), nullable=False),
    Column("joined_at", Moment, nullable=False),
    Column("gold_asked", Integer, nullable=False, default=0),
    Column("gold_right", Integer, nullable=False, default=0),
    UniqueConstraint("crowd_campaign_id", "number"),
    CheckConstraint("state in ('practice', 'working', 'stopped')", name="state"),
)

crowd_assignment = _table(
    "crowd_assignment",
    _of("crowd_task"),
    _of("crowd_worker"),
    Column("key", String(64), nullable=False, unique=True),  # gives access to the images of this task only
    Column("shown", JSON, nullable=False),  # the items in display order
    Column("state", String(16), nullable=False),
    Column("given_at", Moment, nullable=False),
    Column("due_at", Moment, nullable=False),
    UniqueConstraint("crowd_task_id", "crowd_worker_id"),
    CheckConstraint("state in ('given', 'lapsed', 'answered')", name="state"),
    Index("ix_crowd_assignment_worker", "crowd_worker_id", "state"),
    Index("ix_crowd_assignment_due", "state", "due_at"),
)

crowd_answer = _table(
    "crowd_answer",
    Column("assignment_id", Id, ForeignKey("crowd_assignment.id", ondelete="CASCADE"), nullable=False, unique=True),
    # the browser's identifier of this answer; the same if it is sent again
    Column("submission", String(64), nullable=False),
    Column("groups", JSON, nullable=False),  # a number or null for each shown item
    Column("seconds", Float, nullable=False),
    Column("at", Moment, nullable=False),
)

crowd_refusal = _table(
    "crowd_refusal",
    Column("crowd_campaign_id", Id, ForeignKey("crowd_campaign.id", ondelete="CASCADE")),
    Column("worker", Integer),
    Column("what", Text, nullable=False),
    Column("at", Moment, nullable=False),
    Index("ix_crowd_refusal_campaign", "crowd_campaign_id", "at"),
)

# Random images and their answers. Rows are never updated or deleted; the state of a draw follows from its answers and
# the label log.
sampling_frame = _table(
    "sampling_frame",
    Column("purpose", String(16), nullable=False),
    Column("parent_kind", String(16), nullable=False),
    Column("parent_id", Id),  # of the dive, campaign or label event; null for the whole workspace
    Column("seed", BigInteger, nullable=False),
    Column("rule", JSON, nullable=False, default=dict),
    Column("images", LargeBinary, nullable=False),  # ids packed as those of label events
    Column("images_hash", String(64), nullable=False),
    Column("size", Integer, nullable=False),
    Column("label_event", BigInteger, nullable=False),  # the newest label event when the frame was created
    _of("person", on_delete="RESTRICT"),
    Column("created_at", Moment, nullable=False),
    CheckConstraint("purpose in ('cover', 'stop', 'audit', 'repeat', 'double')", name="purpose"),
    CheckConstraint("parent_kind in ('dive', 'campaign', 'workspace', 'event', 'labels')", name="parent_kind"),
    Index("ix_sampling_frame_parent", "purpose", "parent_kind", "parent_id"),
)

# A series of draws that represent the same images: those that could be drawn when the series started.
sampling_wave = _table(
    "sampling_wave",
    Column("frame_id", Id, ForeignKey("sampling_frame.id", ondelete="RESTRICT"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("label_event", BigInteger, nullable=False),  # the newest label event when the wave started
    Column("images", LargeBinary, nullable=False),  # images that could be drawn then
    Column("size", Integer, nullable=False),
    Column("budget", Integer, nullable=False, default=0),  # number of requested draws; 0: not specified
    Column("created_at", Moment, nullable=False),
    UniqueConstraint("frame_id", "number"),
)

sampling_draw = _table(
    "sampling_draw",
    Column("frame_id", Id, ForeignKey("sampling_frame.id", ondelete="RESTRICT"), nullable=False),
    Column("number", Integer, nullable=False),  # the order of the draws of a frame, from 1
    Column("wave", Integer, nullable=False),
    Column("image_id", Id, nullable=False),
    Column("probability", Float(53), nullable=False),  # of this image at this draw, given all earlier draws
    Column("eligible", Integer, nullable=False),  # images that could be drawn at this draw
    Column("stratum", Integer),
    Column("page", Integer),
    Column("person_id", Id, ForeignKey("person.id", ondelete="RESTRICT")),  # the person whose page showed it
    Column("at", Moment, nullable=False),
    Column("guess_term_id", Id),  # the model's suggestion before the draw was answered
    Column("guess_probability", Float),
    Column("guess_model", Text),
    Column("label_event", BigInteger, nullable=False),  # the newest label event at the time of the draw
    Column("earlier_term_id", Id),  # the label of the image at the time of the draw
    Column("earlier_event", BigInteger),
    UniqueConstraint("frame_id", "number"),
    UniqueConstraint("frame_id", "image_id", name="uq_sampling_draw_image"),
    Index("ix_sampling_draw_image_id", "image_id"),
)

# An answer to a draw, or its withdrawal, after which the draw is open again.
sampling_answer = _table(
    "sampling_answer",
    Column("draw_id", Id, ForeignKey("sampling_draw.id", ondelete="RESTRICT"), nullable=False),
    Column("state", String(16), nullable=False),
    Column("term_id", Id, ForeignKey("term.id", ondelete="RESTRICT")),
    Column("event", BigInteger),  # label event; the answer does not count while this event is undone
    _of("person", on_delete="RESTRICT"),
    Column("seconds", Float),
    Column("blind", Boolean, nullable=False),  # whether the suggestion was hidden
    Column("at", Moment, nullable=False),
    CheckConstraint("state in ('answered', 'cannot tell', 'withdrawn')", name="state"),
    Index("ix_sampling_answer_draw_id", "draw_id"),
)

# Live dives: images that are taken in while the vehicle is in the water.
live_dive = _table(
    "live_dive",
    Column("name", Text, nullable=False),
    Column("folder", Text, nullable=False),  # absolute path of the folder that is watched
    _of("image_group"),
    _of("root", on_delete="RESTRICT"),
    Column("state", String(16), nullable=False),
    Column("settings", JSON, nullable=False),
    Column("descriptor", JSON, nullable=False, default=dict),  # the feature set the dive began with
    Column("requests", JSON, nullable=False, default=dict),  # requests of people: learn, finish
    Column("notice", Text, nullable=False, default=""),  # the present obstacle of the watch
    Column("run_id", Id, ForeignKey("run.id", ondelete="SET NULL")),  # the run stored after the dive
    Column("created_at", Moment, nullable=False),
    Column("finished_at", Moment),
    CheckConstraint("state in ('watching', 'finished')", name="state"),
)

live_image = _table(
    "live_image",
    _of("live_dive"),
    _of("image"),
    Column("cluster", Integer),  # lasting number of the cluster; empty before the first round
    Column("probability", Float),
    Column("percentile", Float),  # share of images that are at least as unusual; empty until it is known
    Column("new_cluster", Float),  # probability of a cluster that is not yet known
    Column("novel", Boolean, nullable=False, default=False),
    Column("round", Integer),  # the round whose clusters were used
    Column("learned_in", Integer),  # the round that learned the image; empty while it waits
    Column("problem", Text),  # why the image cannot be described; it is not learned
    Column("vector", LargeBinary),  # float32 features until they are in the feature set
    Column(
        "outside", Float
    ),  # squared distance of the description from its features; empty if not described on arrival
    Column("arrived_at", Moment, nullable=False),
    Column("seconds", Float, nullable=False),  # from the first sight of the file until it was stored here
    UniqueConstraint("live_dive_id", "image_id"),
    Index("ix_live_image_learned", "live_dive_id", "learned_in"),
    Index("ix_live_image_novel", "live_dive_id", "novel"),
)

live_round = _table(
    "live_round",
    _of("live_dive"),
    Column("number", Integer, nullable=False),
    Column("images", Integer, nullable=False),  # learned so far
    Column("clusters", JSON, nullable=False),  # {number: expected images}
    Column("events", JSON, nullable=False),  # [kind, cluster, other cluster or null]
    Column("memory", JSON, nullable=False),
    Column("budget_binds", Boolean, nullable=False),
    Column("score", Float),  # mean log density of the new images before they were learned
    Column("seconds", Float, nullable=False),
    Column("at", Moment, nullable=False),
    UniqueConstraint("live_dive_id", "number"),
)

# Merges, splits and names of the clusters of a live dive. Rows are never updated or deleted.
live_edit = _table(
    "live_edit",
    _of("live_dive"),
    _of("person", on_delete="RESTRICT"),
    Column("kind", String(16), nullable=False),
    Column("rule", JSON, nullable=False),
    Column("undoes", Id, ForeignKey("live_edit.id", ondelete="RESTRICT")),
    Column("at", Moment, nullable=False),
    CheckConstraint("kind in ('name', 'merge', 'split', 'undo')", name="kind"),
)
