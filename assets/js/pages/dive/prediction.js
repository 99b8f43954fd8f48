// A predicted column along a dive: which one, the colours of the map, the plot, and how good the prediction is.

import {h, redraw} from "../../core/element.js"
import {group} from "../../core/group_words.js"

const HEIGHT = 270

// `draw(figure)` shows the content of `prediction`; `figure` is the plot, or null if nothing is predicted.
export function predictionPart(model, tell) {
  const element = h("div", {class: "predicted"})
  const now = () => model.prediction
  const select = (label, key, options, chosen, changed) => h("select", {"aria-label": label, "data-key": key, onchange: (event) => changed(event.target.value)},
    options.map(([value, words]) => h("option", {value, selected: value === chosen}, words)))

  function draw(figure) {
    const {choices, chosen, shown, map_colours, map_by, legend} = now()
    const predict = h("button", {class: "button", type: "button", "data-key": "predict", onclick: () => tell("predict")}, "Predict a column…")
    if (!figure) return redraw(element, h("div", {class: "controls"}, h("span", {class: "space"}), predict),
      h("p", {class: "soft"}, `No column is predicted for this ${group()} yet. A prediction draws a measured or labelled number along the ${group()}, also where it is unknown, and says how good it is.`))
    redraw(element, h("div", {class: "controls"}, select("Predicted column", "column", choices, chosen, (id) => tell("prediction", {id: Number(id)})),
      h("label", {class: "soft"}, "Map: ", select("Colour of the map", "colour", map_colours, map_by, (by) => tell("map_by", {by})), ramp(legend)),
      h("span", {class: "space"}), h("a", {class: "button", download: "", href: shown.csv}, "Download CSV"), predict),
    figure, h("p", {class: shown.better ? "quality" : "quality poor"}, shown.sentence), shown.note ? h("p", {class: "soft"}, shown.note) : null)
  }

  return {element, draw}
}

export const predictionPlot = ({shown}, options) => ["prediction", {id: "prediction", query: shown.query, stamp: String(shown.at), height: HEIGHT, ...options,
  label: `${shown.title} along the ${group()}: predicted for ${shown.images} images, measured for ${shown.measured_images}`}]

function ramp({ends, colours, title}) {
  if (!ends) return null
  const bar = h("i", {class: "ramp", title})
  bar.style.background = `linear-gradient(90deg, ${colours.filter((_, at) => at % 20 === 0).join(", ")})`
  return h("span", {class: "legend"}, h("span", {}, ends[0]), bar, h("span", {}, ends[1]))
}
