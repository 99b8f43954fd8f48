"""Topics of images: the infinite-word topic model, which infers its visual vocabulary, and its baselines."""

from benthoscope.engine.topics.classes.active_learning import ActiveRule, active_learning, margin_scores
from benthoscope.engine.topics.classes.classification import HistogramIntersectionSVM, PyramidKernel, TopicClassifier
from benthoscope.engine.topics.documents import Documents, as_documents
from benthoscope.engine.topics.estimator import InfiniteWordTopicModel
from benthoscope.engine.topics.generative import draw_corpus
from benthoscope.engine.topics.incremental import match_topics
from benthoscope.engine.topics.visual_lda import VisualLDA, word_sweep

__all__ = [
    "ActiveRule",
    "Documents",
    "HistogramIntersectionSVM",
    "InfiniteWordTopicModel",
    "PyramidKernel",
    "TopicClassifier",
    "VisualLDA",
    "active_learning",
    "as_documents",
    "draw_corpus",
    "margin_scores",
    "match_topics",
    "word_sweep",
]
