// Agreement between people: second labels, kappa, confusion tables, and conflicts to resolve.

import {h, redraw} from "../../core/element.js"
import {thumbnail} from "../../shared/tile_marks.js"
import {count} from "../../core/format.js"

const MOST = 20 // rows of confused labels
const percent = (share) => `${Math.round(100 * share)} %`

export function peoplePart({tell, now, plots}) {
  const element = h("div", {class: "people"})

  function draw() {
    const {pairs, several, fleiss} = now()
    if (!several) return redraw(element, blind(), h("p", {class: "soft"}, "No image has labels by two people yet. In Review, press v to verify labels of others."))
    const row = (pair) => h("tr", {class: String(pair.ids) === String(now().confusion?.ids) ? "on" : null}, h("td", {}, h("button", {class: "plain", "data-key": `pair-${pair.ids}`, onclick: () => tell("pair", {ids: pair.ids})}, pair.names.join(" and "))),
      h("td", {class: "number"}, count(pair.images)), h("td", {class: "number"}, percent(pair.same)), h("td", {class: "number"}, pair.kappa.toFixed(2)))
    redraw(element, blind(), h("section", {class: "card pad"}, h("h2", {}, `${count(several)} images with labels by several people, however they were given`), h("p", {class: "soft"}, `Fleiss' kappa ${fleiss.toFixed(2)}. Kappa is the agreement beyond chance: 1 is full agreement, 0 as much as by chance`),
      h("table", {}, h("thead", {}, h("tr", {}, ["Two people", "Images", "Same", "Cohen's kappa"].map((word, at) => h("th", {class: at ? "number" : null}, word)))), h("tbody", {}, pairs.map(row))),
      pairs.length > 1 ? plots.frame("agreement", {stamp: JSON.stringify(pairs), height: 120 + 30 * pairs.length, label: "Agreement between people"}) : null), table(), conflicts())
  }

  // Agreement in second labels that were given without seeing the first.
  function blind() {
    const {images, kappa, pairs, people, terms, blame_is_shared: two, least} = now().blind
    const ask = h("a", {class: images ? "button" : "button main", "data-key": "double", href: "/learn?queue=double"}, "Give second labels")
    if (!images) return h("section", {class: "card pad"}, h("h2", {}, "No second labels yet"), h("p", {class: "soft"}, "Label random images that others labelled, without seeing their labels. Only this shows how well people agree, and how far the model can trust whom."), ask)
    const number = (text) => h("td", {class: "number"}, text), cell = (text) => h("td", {}, text), head = (words, numbers) => h("thead", {}, h("tr", {}, words.map((word) => h("th", {class: numbers.includes(word) ? "number" : null}, word))))
    const limits = ({low, high}) => `${percent(low)} to ${percent(high)}`
    return h("section", {class: "card pad blind"}, h("div", {class: "tools"}, h("h2", {}, `${count(images)} random ${images === 1 ? "image" : "images"} with second labels, given without seeing the first`), h("span", {class: "space"}), ask),
      h("p", {class: "soft"}, `Fleiss' kappa ${kappa.toFixed(2)}. Kappa is the agreement beyond chance: 1 is full agreement, 0 as much as by chance`),
      h("div", {class: "tables"},
        h("table", {}, head(["Two people", "Images", "Same", "Cohen's kappa"], ["Images", "Same", "Cohen's kappa"]), h("tbody", {}, pairs.map((pair) => h("tr", {}, h("td", {}, pair.people.join(" and ")), number(count(pair.images)), number(count(pair.same)), number(pair.kappa.toFixed(2)))))),
        h("table", {}, head(["Person", "As the others", "95 % interval", "Used by the model"], ["As the others", "95 % interval"]), h("tbody", {}, people.map((one) => h("tr", {}, cell(one.person), number(`${count(one.same)} of ${count(one.images)}`), number(limits(one)), cell(one.used ? "yes" : `from ${count(least)} labels on`)))))),
      h("h2", {}, "Which labels are confused"),
      h("p", {class: "soft"}, two ? "With two people it is unknown who is right where they differ, so the estimate blames both. A third person, or resolved conflicts, show who is right." : "The last column is estimated by a model from all second labels, without an interval. Training weights each label by it."),
      h("table", {}, head(["Person", "Label of the others", "The same", "95 % interval", "Otherwise mostly", "Estimated right"], ["The same", "95 % interval", "Estimated right"]), h("tbody", {}, terms.slice(0, MOST).map((one) => h("tr", {}, cell(one.person), cell(one.term), number(`${count(one.same)} of ${count(one.images)}`), number(limits(one)), cell(one.instead ? `${one.instead} (${count(one.instead_images)})` : ""), number(one.right === null ? "too few images" : `about ${percent(one.right)}`))))),
      terms.length > MOST ? h("p", {class: "soft"}, `and ${count(terms.length - MOST)} more with fewer differences; benthoscope labels agreement lists all`) : null)
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
