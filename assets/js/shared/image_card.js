// A card about one image beside the pointer: picture, file, dive, depth, cluster with probability, and label.

import {ask, h} from "../core/element.js"
import {hoverCard} from "./hover_card.js"
import {thumbnail} from "../core/image_set_codec.js"

const PAUSE = 350 // milliseconds for which the pointer rests on an image, unless a view asks for another pause
const KEPT = 200 // answers that are not asked for again

// `run` and `version` return those of the page. Facts of an older version of the workspace are asked for again. `status` is
// an element that a screen reader announces: it gets the facts of an image that a key chose. With `preview`, a text that is
// known without the server, the card opens at once and follows the pointer.
export function imageCard({run, version, pause = PAUSE, status = null, preview = null}) {
  const card = hoverCard("tip facts")
  let answers = new Map()
  let shown = 0 // id of the image under the pointer
  let timer = null
  let place = null // the newest event over this image
  let versionKnown = null

  async function facts(id) {
    if (versionKnown !== version() || answers.size >= KEPT) answers = new Map()
    versionKnown = version()
    const address = `/api/v1/images/${id}/around${run() ? `?run=${run()}` : ""}`
    if (!answers.has(address)) answers.set(address, ask(address).catch(() => { answers.delete(address); return null }))
    return answers.get(address)
  }

  const picture = (id) => h("img", {src: thumbnail(id, 320, version()), alt: ""})

  async function open(id, spoken) {
    const told = await facts(id)
    if (shown !== id || !told) return
    const {image, group, kind, cluster_name, cluster_kind, probability, label, suggestion} = told
    const row = (name, value) => (value === null ? null : h("div", {}, h("dt", {}, name), h("dd", {}, value)))
    card.fill(picture(id), h("b", {}, image.path.split("/").pop()),
      h("dl", {}, row(kind, group), row("Depth", image.depth === null ? null : `${image.depth.toFixed(1)} m`), row(cluster_kind, cluster_name === null ? null : `${cluster_name.replace(`${cluster_kind} `, "")}${probability === null ? "" : `, probability ${probability.toFixed(2)}`}`),
        row("Label", label ?? (suggestion ? `none; perhaps ${suggestion.name}` : "none"))))
    card.show(place)
    if (spoken && status) status.textContent = [...card.element.querySelectorAll("b, dl div")].map((part) => [...part.children].map((each) => each.textContent).join(" ") || part.textContent).join(", ")
  }

  function hide() {
    clearTimeout(timer)
    shown = 0
    card.hide()
  }

  return {
    element: card.element,
    hide,
    // The pointer is over this image; 0 for none.
    point(event, id) {
      place = event
      if (id === shown) {
        if (id && preview) card.show(event)
        return
      }
      hide()
      if (!id) return
      shown = id
      if (preview) {
        card.fill(picture(id), h("span", {}, preview()))
        card.show(event)
      }
      timer = setTimeout(() => open(id, false), pause)
    },
    // A key chose this image; `event` gives its place.
    show(event, id) {
      hide()
      shown = id
      place = event
      return open(id, true)
    },
  }
}
