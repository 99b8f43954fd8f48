// What a crowd's answers came to: clusters, where images lie, schools of thought, people.

import {h, icon, s} from "./dom.js"
import {count} from "./told.js"

const WIDE = 560, HIGH = 380, MARGIN = 12 // of the plane
const CELL = 11, STRIP = 4 // of a table
const WEAK = 0.05 // gain of a judgement below which people may have guessed
const QUALITY = "What answers tell beyond chance, in nats a pair: near 0 for who guesses"
const thumbnail = (image) => `/thumbnails/image/${image}/128.jpg`
const percent = (share) => `${Math.round(share * 100)} %`

export function results(shown, acts) {
  const found = shown.result
  if (!found) return []
  return [clusters(found, acts), h("section", {class: "card details"}, h("h2", {}, "Where images lie"), h("div", {class: "beside"}, cloud(found, acts), disputed(found, acts))), schools(found, acts)]
}

function shot([image, sure], acts) {
  const words = `Image ${image}, ${percent(sure)} sure`
  return h("button", {class: "shot", title: words, onclick: () => acts.look(image, words)}, h("img", {src: thumbnail(image), alt: words, loading: "lazy"}))
}

function clusters(found, {send, names, look}) {
  const key = (one) => `${found.run}-${one.number}`
  const card = (one) => h("li", {style: `--own: ${found.colours[one.number]}`}, h("header", {}, h("b", {}, `${one.number + 1}`), h("span", {class: "soft"}, `${count(one.size)} images`),
    h("a", {class: "plain", href: `/explore?run=${found.run}&cluster=${one.number}`, title: "See them all in Explore", "aria-label": `Cluster ${one.number + 1} in Explore`}, icon("explore")),
    h("button", {class: "plain", title: "Ask about these among themselves: people make finer groups", "aria-label": `Refine cluster ${one.number + 1}`, onclick: () => send("refine", {cluster: one.number})}, icon("zoom_in"))),
  h("div", {class: "few"}, one.exemplars.map((exemplar) => shot(exemplar, {look}))),
  h("input", {"aria-label": `Name of cluster ${one.number + 1}`, placeholder: "Name it", maxlength: 120, value: names[key(one)] ?? "", oninput: (event) => { names[key(one)] = event.target.value }}))
  const adopt = () => send("adopt", {names: Object.fromEntries(found.clusters.map((one) => [one.number, names[key(one)] ?? ""]))})
  const button = (words, symbol, title, act) => h("button", {class: "button", title, onclick: act}, icon(symbol), words)
  return h("section", {class: "card details", "aria-label": "Clusters"}, h("header", {class: "head"}, h("h2", {}, `${found.clusters.length} clusters`), h("div", {class: "acts"},
    button("Adopt names as labels", "label", "Images people agree on get the names typed below", adopt),
    button("Make it the current run", "star", "Explore and Review open with these clusters", () => send("make_current")),
    button("Steer the next clustering", "route", "Clusters all images again, along what people tell apart", () => send("steer")))),
  found.gain !== null && found.gain < WEAK ? h("p", {role: "alert"}, "These answers hold little structure: people may have guessed, or the question is too hard.") : null,
  h("ul", {class: "clusters"}, found.clusters.map(card)))
}

function cloud(found, {look}) {
  const span = (at) => [Math.min(...found.points.map((point) => point[at])), Math.max(...found.points.map((point) => point[at]))]
  const [left, right] = span(0), [low, high] = span(1), place = (value, from, to, size) => MARGIN + ((value - from) / (to - from || 1)) * (size - 2 * MARGIN)
  const preview = h("figure", {class: "preview", hidden: true}, h("img", {alt: ""}), h("figcaption", {}))
  const over = (dot, image, words) => {
    const plane = dot.closest(".plane").getBoundingClientRect(), at = dot.getBoundingClientRect()
    preview.firstChild.src = thumbnail(image)
    preview.lastChild.textContent = words
    Object.assign(preview.style, {left: `${Math.min(at.left - plane.left + 14, plane.width - 140)}px`, top: `${Math.max(at.top - plane.top - 70, 0)}px`})
    preview.hidden = false
  }
  const dot = ([x, y, cluster, image]) => {
    const words = `Image ${image}, cluster ${cluster + 1}`
    return s("circle", {cx: place(x, left, right, WIDE), cy: place(y, high, low, HIGH), r: 4, fill: found.colours[cluster], onclick: () => look(image, words),
      onpointerenter: (event) => over(event.target, image, words), onpointerleave: () => { preview.hidden = true }})
  }
  return h("div", {class: "plane"}, s("svg", {viewBox: `0 0 ${WIDE} ${HIGH}`, class: "cloud", role: "img", "aria-label": `${found.points.length} images in ${found.clusters.length} clusters`}, ...found.points.map(dot)), preview)
}

function disputed(found, acts) {
  return h("div", {class: "disputed"}, h("h3", {}, "What people disagree on, the least sure first"), h("div", {class: "few"}, found.disputed.map((image) => shot(image, acts))))
}

function schools(found, acts) {
  if (!found.schools.length) return null
  const chip = (cluster) => h("span", {class: "chip", style: `--own: ${found.colours[cluster]}`}, `${cluster + 1}`, found.clusters[cluster].exemplars.slice(0, 2).map((image) => shot(image, acts)))
  return h("section", {class: "card details", "aria-label": "Schools of thought"}, h("h2", {}, found.schools.length === 1 ? "All who look go by the same" : `${found.schools.length} schools of thought`),
    h("p", {class: "soft"}, "The chance that images of two clusters come into one group, and the groups that gives."),
    h("ul", {class: "schools"}, found.schools.map((one) => h("li", {}, table(one.table, one.order, found.colours, `What school ${one.number + 1} puts together`),
      h("div", {}, h("b", {}, `School ${one.number + 1}`), h("span", {class: "soft"}, ` ${count(one.people)} people, ${one.groups.length} groups`),
        h("div", {class: "merged"}, one.groups.map((group) => h("span", {class: "group"}, group.map(chip)))))))))
}

export function people(shown) {
  if (!shown.workers.length) return null
  const found = shown.result
  const line = (one) => {
    const known = one.quality !== null && found?.tables[one.number]
    return h("tr", {class: one.looking ? null : "guess"}, h("td", {class: "number"}, one.number + 1), h("td", {}, one.nickname || "–"), h("td", {class: "number"}, count(one.answers)),
      h("td", {class: "number"}, one.gold_asked ? `${one.gold_right} of ${one.gold_asked}` : ""), h("td", {class: "number"}, one.quality === null ? "" : one.quality.toFixed(2)),
      h("td", {}, one.school === null ? "" : one.school + 1), h("td", {}, one.state === "stopped" ? "asked no further" : one.looking ? "" : "does not look"),
      h("td", {}, known ? table(found.tables[one.number], found.orders[one.number], found.colours, `What person ${one.number + 1} puts together`) : ""))
  }
  const heads = [["Nr", "number"], ["Nickname"], ["Answers", "number"], ["Known pairs", "number"], ["Quality", "number", QUALITY], ["School"], [""], ["Puts together"]]
  const best = [...shown.workers].sort((a, b) => (b.quality ?? -1) - (a.quality ?? -1))
  return h("details", {class: "card details", "data-part": "people"}, h("summary", {}, h("h2", {}, `${count(shown.workers.length)} people`)), h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "People"},
    h("table", {}, h("thead", {}, h("tr", {}, heads.map(([text, kind, title]) => h("th", {scope: "col", class: kind, title}, text)))), h("tbody", {}, best.map(line)))))
}

// Chances of one group, clusters in the order given; the strips say by colour which cluster is where.
function table(values, order, colours, words) {
  const size = STRIP + order.length * CELL + 1, at = (number) => STRIP + 1 + number * CELL
  const strip = order.flatMap((cluster, number) => [s("rect", {x: 0, y: at(number), width: STRIP, height: CELL - 1, fill: colours[cluster]}), s("rect", {x: at(number), y: 0, width: CELL - 1, height: STRIP, fill: colours[cluster]})])
  const cells = order.flatMap((row, y) => order.map((column, x) => s("rect", {class: "cell", x: at(x), y: at(y), width: CELL - 1, height: CELL - 1, "fill-opacity": values[row][column]},
    s("title", {}, `clusters ${row + 1} and ${column + 1}: ${percent(values[row][column])}`))))
  return s("svg", {viewBox: `0 0 ${size} ${size}`, width: size, height: size, class: "table", role: "img", "aria-label": words}, ...strip, ...cells)
}
