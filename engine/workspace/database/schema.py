"""The tables of the catalogue. A change here needs a migration beside it; a test compares the two."""

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

# Named constraints, so that a later migration can find them on every database.
metadata = MetaData(naming_convention={
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
})

Id = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself only in a column called INTEGER
# Moments are seconds since 1970 UTC: they sort, subtract and load into arrays, and carry no time zone to mistake.
Moment = Float(53)


def _id() -> Column:
    return Column("id", Id, primary_key=True, autoincrement=True)


def _of(table: str, *, on_delete: str = "CASCADE", nullable: bool = False) -> Column:
    name = table.removeprefix("image_") if table != "image" else table
    return Column(f"{name}_id", Id, ForeignKey(f"{table}.id", ondelete=on_delete), nullable=nullable)


workspace = Table(
    "workspace", metadata,
    Column("id", String(36), primary_key=True),  # a UUID: tells copies of one workspace from another workspace
    Column("name", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
)

root = Table(
    "root", metadata, _id(),
    Column("path", Text, nullable=False, unique=True),  # absolute, where the images lay when last seen
    Column("beside", Text),  # the same, relative to the workspace: both may move together
)

collection = Table(
    "collection", metadata, _id(),
    Column("name", Text, nullable=False, unique=True),
    Column("kind", String(16), nullable=False),
    Column("details", JSON, nullable=False, default=dict),
    Column("created_at", Moment, nullable=False),
    CheckConstraint("kind in ('campaign', 'albums')", name="kind"),
)

image_group = Table(
    "image_group", metadata, _id(),
    _of("collection"),
    Column("name", Text, nullable=False),
    Column("details", JSON, nullable=False, default=dict),
    UniqueConstraint("collection_id", "name"),
)

image = Table(
    "image", metadata, _id(),
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
    Column("depth", Float(53)),     # metres below the surface
    Column("altitude", Float(53)),  # metres above the sea floor
    Column("details", JSON, nullable=False, default=dict),
    UniqueConstraint("root_id", "path"),
    Index("ix_image_group_taken", "group_id", "taken_at"),
    Index("ix_image_sha256", "sha256"),
)

import_problem = Table(
    "import_problem", metadata, _id(),
    Column("source", Text, nullable=False, index=True),
    Column("place", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("remedy", Text, nullable=False, default=""),
    Column("noted_at", Moment, nullable=False),
)

feature_set = Table(
    "feature_set", metadata, _id(),
    Column("name", Text, nullable=False, unique=True),
    Column("level", String(16), nullable=False),
    Column("width", Integer, nullable=False),
    Column("extractor", JSON, nullable=False),
    Column("created_at", Moment, nullable=False),
    CheckConstraint("level in ('image', 'segment')", name="level"),
)

job = Table(
    "job", metadata, _id(),
    Column("kind", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("state", String(16), nullable=False, index=True),
    Column("priority", Integer, nullable=False, default=0),
    Column("heavy", Boolean, nullable=False, default=True),
    Column("attempts", Integer, nullable=False, default=0),
    Column("cancel_requested", Boolean, nullable=False, default=False),
    Column("owner", Text),  # the process that runs it, for people to read
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

run = Table(
    "run", metadata, _id(),
    Column("name", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("features", Text, nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("provenance", JSON, nullable=False),
    Column("summary", JSON, nullable=False),  # bound, number of clusters, what a list of runs shows
    Column("folder", Text, nullable=False),
    Column("current", Boolean, nullable=False, default=False),
    Column("created_at", Moment, nullable=False),
    Column("deleted_at", Moment),  # a deleted run can be brought back until the workspace is tidied
)

cluster = Table(
    "cluster", metadata, _id(),
    _of("run"),
    Column("number", Integer, nullable=False),
    Column("level", String(16), nullable=False, default="image"),
    Column("size", BigInteger, nullable=False),
    Column("summary", JSON, nullable=False, default=dict),
    UniqueConstraint("run_id", "level", "number"),
)

person = Table(
    "person", metadata, _id(),
    Column("name", Text, nullable=False, unique=True),
    Column("created_at", Moment, nullable=False),
)

vocabulary = Table(
    "vocabulary", metadata, _id(),
    Column("name", Text, nullable=False, unique=True),
    Column("version", Text, nullable=False, default=""),
    Column("created_at", Moment, nullable=False),
)

term = Table(
    "term", metadata, _id(),
    _of("vocabulary"),
    Column("parent_id", Id, ForeignKey("term.id", ondelete="RESTRICT")),
    Column("name", Text, nullable=False),
    Column("code", Text),
    Column("colour", String(9)),
    Column("details", JSON, nullable=False, default=dict),
    UniqueConstraint("vocabulary_id", "parent_id", "name"),
)

# Append-only: rows are never updated or deleted, everything shown about labels is computed from them.
label_event = Table(
    "label_event", metadata,
    Column("number", Id, primary_key=True, autoincrement=True),
    Column("kind", String(16), nullable=False),
    Column("person_id", Id, ForeignKey("person.id", ondelete="RESTRICT"), nullable=False),
    Column("at", Moment, nullable=False),
    Column("term_id", Id, ForeignKey("term.id", ondelete="RESTRICT")),
    Column("undoes", Id, ForeignKey("label_event.number", ondelete="RESTRICT")),
    Column("count", Integer, nullable=False),
    Column("images", LargeBinary, nullable=False),  # ids, see packing.py: one bulk act of a million images is one row
    Column("first_image", BigInteger, nullable=False),  # least and greatest of them
    Column("last_image", BigInteger, nullable=False),
    Column("why", String(24), nullable=False),
    Column("run_id", Id, ForeignKey("run.id", ondelete="RESTRICT")),
    Column("rule", JSON, nullable=False, default=dict),
    Column("confidence", Float),
    CheckConstraint("kind in ('label', 'part', 'clear', 'refuse', 'audit', 'arrange', 'revert', 'undo')", name="kind"),
    Index("ix_label_event_first_image", "first_image", "last_image"),
)

# A person's keys: digits and capital letters.
favourite = Table(
    "favourite", metadata, _id(),
    _of("person"),
    Column("key", String(8), nullable=False),
    Column("term_id", Id, ForeignKey("term.id", ondelete="CASCADE"), nullable=False),
    UniqueConstraint("person_id", "key"),
)

# What a term of one vocabulary is called in another.
term_link = Table(
    "term_link", metadata, _id(),
    Column("source_id", Id, ForeignKey("term.id", ondelete="CASCADE"), nullable=False),
    Column("target_id", Id, ForeignKey("term.id", ondelete="CASCADE"), nullable=False),
    Column("relation", String(16), nullable=False),
    UniqueConstraint("source_id", "target_id"),
    CheckConstraint("relation in ('same', 'broader', 'narrower')", name="relation"),
)

selection = Table(
    "selection", metadata, _id(),
    Column("name", Text, nullable=False, unique=True),
    _of("person", on_delete="RESTRICT"),
    Column("at", Moment, nullable=False),
    Column("count", Integer, nullable=False),
    Column("images", LargeBinary, nullable=False),  # ids packed as those of label events
    Column("origin", JSON, nullable=False, default=dict),
)

# Asking many people: what is shown, to whom, and what they answered. Answers are never changed or deleted.
crowd_campaign = Table(
    "crowd_campaign", metadata, _id(),
    Column("name", Text, nullable=False, unique=True),
    Column("state", String(16), nullable=False),
    Column("link", String(64), nullable=False, unique=True),  # the unguessable part of the address people are given
    Column("settings", JSON, nullable=False),
    Column("images", LargeBinary, nullable=False),  # int64 ids; an item is the place of its image among them
    Column("count", Integer, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
    CheckConstraint("state in ('draft', 'open', 'paused', 'closed')", name="state"),
)

crowd_task = Table(
    "crowd_task", metadata, _id(),
    _of("crowd_campaign"),
    Column("number", Integer, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("items", JSON, nullable=False),
    Column("wanted", Integer, nullable=False),  # answers by different people
    Column("given", Integer, nullable=False, default=0),  # answers and tasks under way
    Column("round", Integer, nullable=False, default=1),
    UniqueConstraint("crowd_campaign_id", "number"),
    CheckConstraint("kind in ('task', 'practice')", name="kind"),
    Index("ix_crowd_task_open", "crowd_campaign_id", "kind", "given"),
)

crowd_worker = Table(
    "crowd_worker", metadata, _id(),
    _of("crowd_campaign"),
    Column("number", Integer, nullable=False),  # from 0, as judgements count workers
    Column("secret", String(64), nullable=False, unique=True),  # SHA-256 of what the worker's browser keeps
    Column("nickname", Text, nullable=False, default=""),
    Column("state", String(16), nullable=False),
    Column("joined_at", Moment, nullable=False),
    Column("gold_asked", Integer, nullable=False, default=0),
    Column("gold_right", Integer, nullable=False, default=0),
    UniqueConstraint("crowd_campaign_id", "number"),
    CheckConstraint("state in ('practice', 'working', 'stopped')", name="state"),
)

crowd_assignment = Table(
    "crowd_assignment", metadata, _id(),
    _of("crowd_task"),
    _of("crowd_worker"),
    Column("key", String(64), nullable=False, unique=True),  # opens the images of this task and no others
    Column("shown", JSON, nullable=False),  # the items in the order they are displayed
    Column("state", String(16), nullable=False),
    Column("given_at", Moment, nullable=False),
    Column("due_at", Moment, nullable=False),
    UniqueConstraint("crowd_task_id", "crowd_worker_id"),
    CheckConstraint("state in ('given', 'lapsed', 'answered')", name="state"),
    Index("ix_crowd_assignment_worker", "crowd_worker_id", "state"),
    Index("ix_crowd_assignment_due", "state", "due_at"),
)

crowd_answer = Table(
    "crowd_answer", metadata, _id(),
    Column("assignment_id", Id, ForeignKey("crowd_assignment.id", ondelete="CASCADE"), nullable=False, unique=True),
    Column("submission", String(64), nullable=False),  # the browser's word for this answer: sent again, it is the same
    Column("groups", JSON, nullable=False),  # a number or null for each item shown
    Column("seconds", Float, nullable=False),
    Column("at", Moment, nullable=False),
)

crowd_refusal = Table(
    "crowd_refusal", metadata, _id(),
    Column("crowd_campaign_id", Id, ForeignKey("crowd_campaign.id", ondelete="CASCADE")),
    Column("worker", Integer),
    Column("what", Text, nullable=False),
    Column("at", Moment, nullable=False),
    Index("ix_crowd_refusal_campaign", "crowd_campaign_id", "at"),
)
