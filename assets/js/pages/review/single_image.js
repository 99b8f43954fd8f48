// One image after the other: a key names it, the next is there at once, and what was said is told in bundles.

import {h, redraw} from "./dom.js"
import {thumbnail} from "./marks.js"
import {count} from "./told.js"

const BUNDLE = 200 // milliseconds for which keys are gathered before they are told
const NEAR_END = 150 // images left before more are asked for
const AHEAD = 12 // images fetched before they are looked at

// `changed` is called whenever another image is on the table.
export function oneByOne({tell, turn, now, changed}) {
  const picture = h("img", {class: "one", alt: "", draggable: "false"})
  const words = h("p", {class: "guess"})
  const element = h("div", {class: "single", hidden: true}, picture, words)
  let list = []
  let at = 0
  let waiting = []
  let said = 0
  let timer = null
  let asked = 0

  const current = () => list[at]

  function start() {
    list = []
    at = said = asked = 0
  }

  function show(content) {
    list = content.images
    element.dataset.at = at
    element.dataset.said = said
    const [id, term, sure] = current() ?? []
    element.dataset.id = id ?? ""
    if (id !== undefined) picture.src = thumbnail(id, 1024, now().version)
    else picture.removeAttribute("src")
    for (const [next] of list.slice(at + 1, at + AHEAD)) new Image().src = thumbnail(next, 1024, now().version)
    redraw(words, id === undefined ? (at < content.total ? "More is on its way" : "Every image has been seen")
      : term ? [`${now().terms[term] ?? ""} ${Math.round(100 * sure)} % `, h("kbd", {}, "a")] : null)
    changed()
    if (list.length < content.total && list.length - at < NEAR_END && asked !== list.length) {
      asked = list.length
      flush()
      tell("more")
    }
  }

  function name(term) {
    if (!term || !current()) return
    waiting.push([current()[0], term])
    said += 1
    at += 1
    timer ??= setTimeout(flush, BUNDLE)
    show({...now().single, images: list})
  }

  function flush() {
    clearTimeout(timer)
    timer = null
    if (waiting.length) tell("said", {pairs: waiting})
    waiting = []
  }

  function later() {
    if (current()) at += 1
    show({...now().single, images: list})
  }

  function undo() {
    flush()
    if (at) at -= 1
    if (said) said -= 1
    turn("undo")
  }

  return {
    element, start, show, name, later, undo, flush,
    guess: () => current()?.[1],
    told: () => `${count(said)} named · ${count(Math.max((now().single?.total ?? 0) - at, 0))} to go`,
  }
}
