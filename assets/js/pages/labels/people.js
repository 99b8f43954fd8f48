// Agreement between people: kappa, confusion tables, and conflicts to resolve.

import {h, redraw} from "../../core/element.js"
import {thumbnail} from "../../shared/tile_marks.js"
import {count} from "../../core/format.js"

const percent = (share) => `${Math.round(100 * share)} %`

export function peoplePart({tell, now, plots}) {
  const element = h("div", {class: "people"})

  function draw() {
    const {pairs, several, fleiss} = now()
    if (!several) return redraw(element, h("p", {class: "soft"}, "No image has labels by two people yet. In Review, press v to verify labels of others."))
    const row = (pair) => h("tr", {class: String(pair.ids) === String(now().confusion?.ids) ? "on" : null}, h("td", {}, h("button", {class: "plain", "data-key": `pair-${pair.ids}`, onclick: () => tell("pair", {ids: pair.ids})}, pair.names.join(" and "))),
      h("td", {class: "number"}, count(pair.images)), h("td", {class: "number"}, percent(pair.same)), h("td", {class: "number"}, pair.kappa.toFixed(2)))
    redraw(element, h("section", {class: "card pad"}, h("h2", {}, `${count(several)} images with labels by several people`), h("p", {class: "soft"}, `Fleiss' kappa ${fleiss.toFixed(2)}. Kappa is the agreement beyond chance: 1 is full agreement, 0 as much as by chance`),
      h("table", {}, h("thead", {}, h("tr", {}, ["Two people", "Images", "Same", "Cohen's kappa"].map((word, at) => h("th", {class: at ? "number" : null}, word)))), h("tbody", {}, pairs.map(row))),
      pairs.length > 1 ? plots.frame("agreement", {stamp: JSON.stringify(pairs), height: 120 + 30 * pairs.length, label: "Agreement between people"}) : null), table(), conflicts())
  }

  function table() {
    const {confusion} = now()
    if (!confusion) return null
    const [first, second] = confusion.ids, pair = now().pairs.find(({ids}) => String(ids) === String(confusion.ids))
    return h("section", {class: "card pad"}, h("h2", {}, `${confusion.names[0]} in rows, ${confusion.names[1]} in columns`),
      plots.frame("confusion", {query: {first_person: first, second_person: second}, stamp: JSON.stringify(pair), height: 320, label: `Labels of ${confusion.names.join(" and ")} for the same images`}),
      confusion.others ? h("p", {class: "soft"}, `and ${confusion.others} rarer labels`) : null)
  }

  function conflicts() {
    const {conflicts: open, conflict_count: number, version} = now()
    const one = (conflict) => h("li", {class: "conflict", "data-image": conflict.image}, h("img", {src: thumbnail(conflict.image, 320, version), alt: `Image ${conflict.image}`, loading: "lazy"}),
      h("div", {}, conflict.said.map((opinion, at) => h("button", {class: "chip", "data-key": `${conflict.image}-${at}`, title: `Resolve as ${opinion.name}`, onclick: () => tell("resolve", {image: conflict.image, term: opinion.term})}, h("span", {class: "soft"}, opinion.who), opinion.name))))
    return h("section", {class: "card pad"}, h("h2", {}, number ? `${count(number)} images with conflicting labels` : "No conflicts"), number ? h("p", {class: "soft"}, "Click the right label. The other one stays in the history") : null,
      h("ul", {class: "conflicts"}, open.map(one)), number > open.length ? h("p", {class: "soft"}, `and ${count(number - open.length)} more`) : null)
  }

  return {element, draw}
}
