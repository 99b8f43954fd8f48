"""Content of the predicted column of a dive: which one is shown, how good it is, and the colours of the map."""

from typing import Any

import numpy as np

from benthoscope.app.data.clusters.clustered_images import cluster_word
from benthoscope.app.data.colours import colouring, number_colouring
from benthoscope.app.data.column_predictions import AlignedPrediction, chosen_prediction, predictions_of_dive
from benthoscope.app.data.group_words import words_of_group
from benthoscope.app.data.measures import Measure
from benthoscope.app.pages.dive.model import CLUSTER, PREDICTED_COLOURS, DiveView
from benthoscope.app.pages.dive.stored_predictions import labels_changed_since
from benthoscope.engine.jobs.predict.predict_column import quality_sentence


def prediction_content(dive: DiveView) -> dict[str, dict[str, Any]]:
    """What the part with the predicted column shows, and the colours of the map: {component: {parameter: value}}."""
    predictions = predictions_of_dive(dive.app, dive.atlas, dive.index)
    chosen = chosen_prediction(predictions, dive.prediction)
    colours = _map_colours(dive, chosen)
    choices = [[each.id, _title(each)] for each in predictions]
    part: dict[str, Any] = {
        "choices": choices,
        "chosen": chosen.id if chosen else None,
        "legend": colours["legend"],
        "map_by": dive.map_by,
        "map_colours": [[CLUSTER, cluster_word(dive.atlas.run)], *map(list, PREDICTED_COLOURS.items())],
    }
    if chosen is None:
        return {"plots": {"prediction": {**part, "shown": {}}}, "map": colours["map"]}
    track = dive.atlas.track(dive.index)
    shown = {
        "title": chosen.facts["title"],
        "query": {"dive": dive.summary.group.id, "prediction": chosen.id},
        "at": chosen.facts["at"],
        "measured_images": int(np.isfinite(chosen.measured[track]).sum()),
        "images": int(np.isfinite(chosen.mean[track]).sum()),
        "csv": f"/api/v1/predictions/{chosen.id}/images.csv?dive={dive.summary.group.id}",
        **_quality(dive, chosen),
    }
    return {"plots": {"prediction": {**part, "shown": shown}}, "map": colours["map"]}


def _title(prediction: AlignedPrediction) -> str:
    """The column, and the images if they are not all: "Depth, dive north"."""
    scope = [str(prediction.facts[name]) for name in ("collection", "dive") if prediction.facts[name]]
    return ", ".join([str(prediction.facts["title"]), *scope])


def _quality(dive: DiveView, prediction: AlignedPrediction) -> dict[str, Any]:
    """How good the prediction is in this dive, as a sentence, and whether it is better than the mean."""
    words = words_of_group(dive.app, dive.summary.group.id)
    facts, unit = prediction.facts, prediction.facts["unit"]
    changed = labels_changed_since(dive.app, prediction)
    note = "Labels changed since this prediction was made; predict again to use them." if changed else ""
    own_quality = next((each["quality"] for each in facts["dives"] if each["id"] == dive.summary.group.id), None)
    if own_quality is not None:
        sentence = quality_sentence(
            own_quality, unit, f"blocks of this {words.singular}", f"the mean of the {words.singular}"
        )
        return {"better": own_quality["better"], "sentence": sentence, "note": note}
    other = (facts["new_dives"] or {}).get("quality")
    if other is None:
        sentence = f"This {words.singular} has no measured values, and too few others have some to test the prediction."
        return {"better": False, "sentence": sentence, "note": note}
    sentence = quality_sentence(other, unit, f"whole {words.plural}", f"the mean of the other {words.plural}")
    return {
        "better": other["better"],
        "sentence": f"This {words.singular} has no measured values. {sentence}",
        "note": note,
    }


def _map_colours(dive: DiveView, prediction: AlignedPrediction | None) -> dict[str, dict[str, Any]]:
    """{map, legend}: the colour of each image on the map."""
    atlas = dive.atlas
    if prediction is None or dive.map_by == CLUSTER:
        by, legend = colouring(dive.app, atlas, "cluster" if atlas.run else "dive"), {}
    else:
        facts, values = prediction.facts, getattr(prediction, dive.map_by)
        title = f"{PREDICTED_COLOURS[dive.map_by]}: {facts['title']}"
        measure = Measure(dive.map_by, title, facts["unit"], lambda app, atlas: values)
        by = number_colouring(measure, np.where(atlas.group == dive.index, values, np.nan))
        low, high, unit = by.ends or (0.0, 1.0, "")
        legend = {
            "title": title,
            "ends": [f"{low:.3g} {unit}".strip(), f"{high:.3g} {unit}".strip()],
            "colours": list(by.colours),
        }
    codes = {"code_url": dive.app.arrays.put(by.codes), "colours": list(by.colours), "names": list(by.names)}
    return {"map": codes, "legend": legend}
