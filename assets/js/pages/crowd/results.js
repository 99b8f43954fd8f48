// Results of a campaign: clusters, positions of images, schools of thought, people.

import {h, icon, s} from "../../core/element.js"
import {count} from "../../core/format.js"

const CELL = 11, STRIP = 4 // pixels of the small table of a person
const WEAK = 0.05 // gain per judgement below which people may have guessed
const thumbnail = (image) => `/thumbnails/image/${image}/128.jpg`
const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`
const percent = (share) => `${Math.round(share * 100)} %`

export function results(shown, acts) {
  const result = shown.result
  if (!result) return []
  return [clusters(result, acts), h("section", {class: "card details"}, h("h2", {}, "Positions of images"), h("div", {class: "beside"}, cloud(shown, acts), disputed(result, acts))), schools(shown, acts)]
}

function shot([image, sure], acts) {
  const words = `Image ${image}, ${percent(sure)} sure`
  return h("button", {class: "shot", title: words, onclick: () => acts.look(image, words)}, h("img", {src: thumbnail(image), alt: words, loading: "lazy"}))
}

function clusters(result, {send, names, look}) {
  const key = (one) => `${result.run}-${one.number}`
  const card = (one) => h("li", {style: `--own: ${result.colours[one.number]}`}, h("header", {}, h("b", {}, `${one.number + 1}`), h("span", {class: "soft"}, `${count(one.size)} images`),
    h("a", {class: "plain", href: `/explore?run=${result.run}&cluster=${one.number}`, title: "Open in Explore", "aria-label": `Cluster ${one.number + 1} in Explore`}, icon("explore")),
    h("button", {class: "plain", title: "Start a campaign within this cluster: people make finer groups", "aria-label": `Refine cluster ${one.number + 1}`, onclick: () => send("refine", {cluster: one.number})}, icon("zoom_in"))),
  h("div", {class: "few"}, one.exemplars.map((exemplar) => shot(exemplar, {look}))),
  h("input", {"aria-label": `Name of cluster ${one.number + 1}`, placeholder: "Label", maxlength: 120, value: names[key(one)] ?? "", oninput: (event) => { names[key(one)] = event.target.value }}))
  const adopt = () => send("adopt", {names: Object.fromEntries(result.clusters.map((one) => [one.number, names[key(one)] ?? ""]))})
  const button = (words, symbol, title, act) => h("button", {class: "button", title, onclick: act}, icon(symbol), words)
  return h("section", {class: "card details", "aria-label": "Clusters"}, h("header", {class: "head"}, h("h2", {}, `${result.clusters.length} clusters`), h("div", {class: "acts"},
    button("Label images", "label", "Give the names typed below to the images people agree on", adopt),
    button("Make current", "star", "Open Explore and Review with these clusters", () => send("make_current")),
    button("Use as constraints", "route", "Cluster all images again with the answers as constraints", () => send("steer")))),
  result.gain !== null && result.gain < WEAK ? h("p", {role: "alert"}, "These answers contain little information: people may have guessed, or the question is too hard.") : null,
  h("ul", {class: "clusters"}, result.clusters.map(card)))
}

function cloud(shown, {look, plots}) {
  return h("div", {class: "plane"}, plots.frame("crowd-positions", {query: {campaign: shown.id}, stamp: shown.result.run, height: 400, label: `Positions of ${shown.result.points} images in ${shown.result.clusters.length} clusters`,
    onpick: ({image, cluster}) => look(image, `Image ${image}, cluster ${cluster}`)}))
}

function disputed(result, acts) {
  return h("div", {class: "disputed"}, h("h3", {}, "Images people disagree on, the least certain first"), h("div", {class: "few"}, result.disputed.map((image) => shot(image, acts))))
}

function schools(shown, acts) {
  const {result} = shown
  if (!result.schools.length) return null
  const chip = (cluster) => h("span", {class: "chip", style: `--own: ${result.colours[cluster]}`}, `${cluster + 1}`, result.clusters[cluster].exemplars.slice(0, 2).map((image) => shot(image, acts)))
  return h("section", {class: "card details", "aria-label": "Schools of thought"}, h("h2", {}, result.schools.length === 1 ? "All careful raters agree" : `${result.schools.length} schools of thought`),
    h("p", {class: "soft"}, "How likely people are to put images of two clusters into one group, and the resulting groups."),
    h("ul", {class: "schools"}, result.schools.map((one) => h("li", {}, acts.plots.frame("school", {query: {campaign: shown.id, school: one.number}, stamp: result.run, height: schoolHeight(result), label: `Clusters that school ${one.number + 1} puts together`}),
      h("div", {}, h("b", {}, `Group ${one.number + 1}`), h("span", {class: "soft"}, ` ${plural(one.people, "person", "people")}, ${plural(one.groups.length, "group", "groups")}`),
        h("div", {class: "merged"}, one.groups.map((group) => h("span", {class: "group"}, group.map(chip)))))))))
}

// A small table of the clusters that a person puts together, if there are enough answers of this person; a click shows
// the plot with its values.
export function together(result, {id, measured}, show) {
  if (!measured || !result?.tables[id]) return ""
  return h("button", {class: "plain", title: `Show the plot of person ${id + 1}`, "aria-label": `Show the plot of person ${id + 1}`, onclick: () => show(id)}, table(result.tables[id], result.orders[id], result.colours, `Clusters that person ${id + 1} puts together`))
}

const schoolHeight = (result) => Math.min(Math.max(100 + 20 * result.clusters.length, 260), 860)

export function personPlot(shown, person, plots) {
  if (person === null || !shown?.result?.tables[person]) return [h("p", {class: "soft"}, "Click a small table to show its values.")]
  return [plots.frame("worker", {query: {campaign: shown.id, person}, stamp: shown.result.run, height: schoolHeight(shown.result), label: `Clusters that person ${person + 1} puts together`})]
}

// Probabilities of one group for each pair of clusters; the coloured strips identify the clusters.
function table(values, order, colours, words) {
  const size = STRIP + order.length * CELL + 1, at = (number) => STRIP + 1 + number * CELL
  const strip = order.flatMap((cluster, number) => [s("rect", {x: 0, y: at(number), width: STRIP, height: CELL - 1, fill: colours[cluster]}), s("rect", {x: at(number), y: 0, width: CELL - 1, height: STRIP, fill: colours[cluster]})])
  const cells = order.flatMap((row, y) => order.map((column, x) => s("rect", {class: "cell", x: at(x), y: at(y), width: CELL - 1, height: CELL - 1, "fill-opacity": values[row][column]},
    s("title", {}, `clusters ${row + 1} and ${column + 1}: ${percent(values[row][column])}`))))
  return s("svg", {viewBox: `0 0 ${size} ${size}`, width: size, height: size, class: "table", role: "img", "aria-label": words}, ...strip, ...cells)
}
