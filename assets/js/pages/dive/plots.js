// The plots of the Dive page: depth and altitude with clusters, the predicted column, and mixtures of clusters.

import {h} from "../../core/element.js"
import {Group, group, groups} from "../../core/group_words.js"
import {plotShelf, selectionWords} from "../../shared/plot_frame.js"
import {predictionPart, predictionPlot} from "./prediction.js"

const MOST_SIMILAR = 6 // bars below that of the dive

export function render({model}) {
  const tell = (act, rest = {}) => model.send_msg({act, ...rest})
  const plots = plotShelf(model)
  const choose = h("select", {"aria-label": `${Group()} of the plots`, onchange: () => tell("dive", {id: Number(choose.value)})})
  const chosen = h("div", {class: "chosen", role: "status"})
  const profile = h("div"), mixtures = h("div", {class: "diveplots"})
  const heading = h("h2")
  const prediction = predictionPart(model, tell)
  const root = h("div", {class: "diveplots"},
    h("section", {class: "plotbox"}, h("header", {}, heading, chosen, choose), profile),
    h("section", {class: "plotbox"}, h("h2", {}, "Predicted column"), prediction.element), mixtures)

  let latest = null // the plot in which the newest selection was made
  const marked = (plot) => (marks) => { latest = plot; tell("marks", {plot, marks}) }

  function draw() {
    const {dives, query, clustered, noun} = model
    choose.replaceChildren(...dives.map(([id, name]) => h("option", {value: id, selected: id === query.dive}, name)))
    choose.hidden = dives.length < 2
    const name = dives.find(([id]) => id === query.dive)?.[1] ?? ""
    heading.textContent = model.measures.length ? `${model.measures.join(" and ").replace(" A", " a")} along the ${group()}, with ${noun}s` : `Sequence of ${noun}s`
    put(profile, plots.frame("profile", {id: "profile", query, height: model.measures.length ? 240 * model.measures.length + 30 : 150, label: `${heading.textContent}: ${name}`,
      onpick: look, onselect: marked("profile")}))
    prediction.draw(model.prediction.chosen === null ? null : plots.frame(...predictionPlot(model.prediction, {onpick: look, onselect: marked("prediction")})))
    if (clustered) drawMixtures(query, name)
    else mixtures.replaceChildren()
    plots.prune()
    selectImages()
  }

  const look = ({image}) => tell("look", {id: Number(image)})
  const selectImages = () => { for (const name of ["profile", "prediction"]) plots.select(name, model.selected.map((id) => [id])) }

  function drawMixtures(query, name) {
    const part = (title, figure) => h("section", {class: "plotbox"}, h("h2", {}, title), figure)
    const similar = plots.frame("similar-mixtures", {id: "similar-mixtures", query, height: Math.max(130 + 26 * Math.min(MOST_SIMILAR + 1, model.dives.length), 240), onselect: marked("similar-mixtures"), label: `Mixture of ${name}, and the ${groups()} with the most similar mixtures`})
    const all = plots.frame("mixture-heatmap", {id: "mixture-heatmap", query: {run: query.run}, height: Math.min(Math.max(100 + 20 * model.dives.length, 260), 860), onselect: marked("mixture-heatmap"), label: `Share of every ${model.noun} in every ${group()}`})
    if (!mixtures.childElementCount) mixtures.append(part(`Mixture, and the ${groups()} with the most similar mixtures`, similar), part(`Shares of all ${model.noun}s in all ${groups()}, similar ones side by side`, all))
  }

  function drawChosen() {
    const {count, explore} = model.chosen
    chosen.replaceChildren(...(count ? selectionWords(count, explore, () => tell("clear")) : []))
    selectImages()
    for (const name of ["similar-mixtures", "mixture-heatmap"]) if (name !== latest || !count) plots.select(name, []) // selected elsewhere
    setTimeout(() => { latest = null })
  }

  for (const name of ["query", "dives", "measures", "clustered", "prediction"]) model.on(name, draw)
  for (const name of ["chosen", "selected"]) model.on(name, drawChosen)
  draw()
  drawChosen()
  return root
}

const put = (place, element) => { if (place.firstChild !== element) place.replaceChildren(element) }
