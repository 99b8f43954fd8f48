// Labelling one by one: a key labels the image, the next one appears at once, and labels are sent in bundles.

import {h, redraw} from "../../core/element.js"
import {thumbnail} from "../../shared/tile_marks.js"
import {count} from "../../core/format.js"

const BUNDLE = 200 // milliseconds for which labels are collected before they are sent
const NEAR_END = 150 // remaining images at which more are requested
const AHEAD = 12 // images that are preloaded

// `changed` is called whenever another image is shown.
export function oneByOne({tell, turn, now, changed}) {
  const picture = h("img", {class: "one", alt: "", draggable: "false"})
  const words = h("p", {class: "guess"})
  const element = h("div", {class: "single", hidden: true}, picture, words)
  let list = []
  let at = 0
  let waiting = []
  let labelled = 0
  let timer = null
  let asked = 0

  const current = () => list[at]

  function start() {
    list = []
    at = labelled = asked = 0
  }

  function show(content) {
    list = content.images
    element.dataset.at = at
    element.dataset.said = labelled
    const [id, term, sure] = current() ?? []
    element.dataset.id = id ?? ""
    if (id !== undefined) picture.src = thumbnail(id, 1024, now().version)
    else picture.removeAttribute("src")
    for (const [next] of list.slice(at + 1, at + AHEAD)) new Image().src = thumbnail(next, 1024, now().version)
    redraw(words, id === undefined ? (at < content.total ? "Loading more images" : "You have seen every image")
      : term ? [`${now().terms[term] ?? ""} ${now().measured ? `${Math.round(100 * sure)} % ` : ""}`, h("kbd", {}, "a")] : null)
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
    labelled += 1
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
    if (labelled) labelled -= 1
    turn("undo")
  }

  return {
    element, start, show, name, later, undo, flush,
    guess: () => current()?.[1],
    told: () => `${count(labelled)} labelled · ${count(Math.max((now().single?.total ?? 0) - at, 0))} left`,
  }
}
