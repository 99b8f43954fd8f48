// How far people agree beyond chance, where they do not, and what is to hold.

import {h, redraw} from "../dom.js"
import {thumbnail} from "../marks.js"
import {count} from "../told.js"

const percent = (share) => `${Math.round(100 * share)} %`

export function peoplePart({tell, now}) {
  const element = h("div", {class: "people"})

  function draw() {
    const {pairs, several, fleiss} = now()
    if (!several) return redraw(element, h("p", {class: "soft"}, "No image has labels of two people yet. In Review, v shows one person the labels of others."))
    const row = (pair) => h("tr", {class: String(pair.ids) === String(now().confusion?.ids) ? "on" : null}, h("td", {}, h("button", {class: "plain", "data-key": `pair-${pair.ids}`, onclick: () => tell("pair", {ids: pair.ids})}, pair.names.join(" and "))),
      h("td", {class: "number"}, count(pair.images)), h("td", {class: "number"}, percent(pair.same)), h("td", {class: "number"}, pair.kappa.toFixed(2)))
    redraw(element, h("section", {class: "card pad"}, h("h2", {}, `${count(several)} images with labels of several people`), h("p", {class: "soft"}, `Fleiss' kappa ${fleiss.toFixed(2)}: agreement beyond chance, 1 in full, 0 as by chance`),
      h("table", {}, h("thead", {}, h("tr", {}, ["Two people", "Images", "Same", "Cohen's kappa"].map((word, at) => h("th", {class: at ? "number" : null}, word)))), h("tbody", {}, pairs.map(row)))), table(), conflicts())
  }

  function table() {
    const {confusion} = now()
    if (!confusion) return null
    const most = Math.max(...confusion.counts.flat(), 1)
    const cell = (number, at, to) => h("td", {class: at === to ? "number same" : "number", style: `--share:${number / most}`}, number || "")
    return h("section", {class: "card pad"}, h("h2", {}, `${confusion.names[0]} in rows, ${confusion.names[1]} in columns`), h("div", {class: "scroll"}, h("table", {class: "confusion"},
      h("thead", {}, h("tr", {}, h("th", {}), confusion.terms.map((name) => h("th", {class: "turned"}, h("span", {}, name))), h("th", {class: "number"}, "Same"))),
      h("tbody", {}, confusion.counts.map((row, at) => h("tr", {}, h("th", {}, confusion.terms[at]), row.map((number, to) => cell(number, at, to)), h("td", {class: "number soft"}, percent(confusion.agreement[at]))))))),
    confusion.others ? h("p", {class: "soft"}, `and ${confusion.others} rarer terms`) : null)
  }

  function conflicts() {
    const {conflicts: open, conflict_count: number, version} = now()
    const one = (conflict) => h("li", {class: "conflict", "data-image": conflict.image}, h("img", {src: thumbnail(conflict.image, 320, version), alt: `Image ${conflict.image}`, loading: "lazy"}),
      h("div", {}, conflict.said.map((said, at) => h("button", {class: "chip", "data-key": `${conflict.image}-${at}`, title: `Settle it: ${said.name}`, onclick: () => tell("resolve", {image: conflict.image, term: said.term})}, h("span", {class: "soft"}, said.who), said.name))))
    return h("section", {class: "card pad"}, h("h2", {}, number ? `${count(number)} images on which people differ` : "Nobody differs"), number ? h("p", {class: "soft"}, "Click what is to hold; what the other said stays in the history") : null,
      h("ul", {class: "conflicts"}, open.map(one)), number > open.length ? h("p", {class: "soft"}, `and ${count(number - open.length)} more`) : null)
  }

  return {element, draw}
}
