// Training: images on which a person differs from the consensus of the others, one decision each.

import {h, icon, redraw} from "../../core/element.js"
import {thumbnail} from "../../shared/tile_marks.js"
import {count} from "../../core/format.js"

const STEPS = {ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1}

export function trainingPart({tell, now}) {
  const element = h("div", {class: "training"})
  let at = 0 // position of the chosen image

  const decide = (act) => { const item = now().disagreements[at]; if (item) tell(act, {image: item.image}) }
  const choose = (position) => { at = position; draw() }

  function draw() {
    const {empty, summary, disagreements, more, link} = now()
    if (empty) return redraw(element, h("section", {class: "notice"}, icon("school"), h("h2", {}, empty.title), h("p", {}, empty.text), empty.link ? h("div", {class: "verbs"}, h("a", {class: "button main", href: empty.link[0]}, empty.link[1])) : null))
    at = Math.min(at, Math.max(disagreements.length - 1, 0))
    redraw(element, h("section", {class: "card pad"}, h("h2", {}, `${summary}.`), disagreements.length ? confusions() : h("p", {class: "soft"}, "You differ from the consensus on no other image."),
      h("p", {class: "soft"}, "The consensus is the label that most other people gave, or the one that resolved a conflict. It can be wrong: keep your label where you are sure. ", h("a", {href: link}, "Give more second labels"))),
      examples(), h("ul", {class: "differences", "aria-label": "Images on which you differ"}, disagreements.map(difference)), more ? h("p", {class: "soft"}, `and ${count(more)} more`) : null)
  }

  function confusions() {
    const chosen = String(now().chosen)
    const chip = ({ids, own, consensus, images}) => h("button", {class: String(ids) === chosen ? "chip on" : "chip", "aria-pressed": String(String(ids) === chosen), "data-key": `confusion-${ids}`, title: `You: ${own}. The others: ${consensus}`, onclick: () => tell("confusion", {ids: String(ids) === chosen ? [] : ids})}, `${own} → ${consensus}`, h("span", {class: "soft"}, count(images)))
    return h("div", {class: "line"}, h("span", {class: "soft"}, "Your label → consensus"), now().confusions.map(chip))
  }

  function examples() {
    if (!now().examples.some(({notes, images}) => notes || images.length)) return null
    const one = ({name, notes, images}) => h("div", {}, h("h2", {}, name), notes ? h("p", {class: "soft"}, notes) : null, h("div", {class: "examples"}, images.map((image) => h("img", {src: thumbnail(image, 320, now().version), alt: `Example of ${name}`}))))
    return h("section", {class: "card pad pair"}, now().examples.map(one))
  }

  function difference(item, position) {
    const on = position === at
    return h("li", {class: on ? "card difference on" : "card difference", "data-image": item.image, "aria-current": on ? "true" : null, onclick: () => { if (at !== position) choose(position) }},
      h("img", {src: thumbnail(item.image, 320, now().version), alt: `Image ${item.image}`, loading: "lazy"}),
      h("dl", {}, h("dt", {}, "You"), h("dd", {}, item.own), h("dt", {}, "Consensus"), h("dd", {}, item.consensus, h("span", {class: "soft"}, ` ${item.people}`))),
      h("div", {class: "line"}, h("button", {class: on ? "button main" : "button", "data-key": `adopt-${item.image}`, title: `Change your label to ${item.consensus}`, onclick: () => tell("adopt", {image: item.image})}, "Change mine", on ? h("kbd", {}, "a") : null), h("button", {class: "button", "data-key": `keep-${item.image}`, title: `Keep ${item.own}`, onclick: () => tell("keep", {image: item.image})}, "Keep mine", on ? h("kbd", {}, "k") : null)))
  }

  // Returns whether the key means something here.
  function key(event) {
    const {disagreements} = now()
    if (!disagreements.length) return false
    if (event.key in STEPS) {
      choose(Math.min(Math.max(at + STEPS[event.key], 0), disagreements.length - 1))
      element.querySelector(".difference.on")?.scrollIntoView({block: "nearest"})
    } else if (event.key === "a") decide("adopt")
    else if (event.key === "k") decide("keep")
    else return false
    return true
  }

  return {element, draw, key}
}
