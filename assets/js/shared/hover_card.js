// A card beside the pointer, above everything on the page, always inside the window and never under the pointer.

import {h} from "../core/element.js"

const AWAY = 14 // pixels between the pointer and the card
const EDGE = 6 // free pixels at the edge of the window

// Where a card lies: to the right of and below the pointer, or on the other side if there is no room. Where it fits on
// neither side in one direction, it is moved along the edge of the window, beside the pointer in the other direction.
export function cardPlace([x, y], card, frame) {
  return {left: start(x, card.width, frame.width), top: start(y, card.height, frame.height)}
}

function start(at, length, room) {
  const after = at + AWAY, before = at - AWAY - length
  if (after + length <= room - EDGE) return after
  return before >= EDGE ? before : Math.max(Math.min(after, room - length - EDGE), EDGE)
}

export function hoverCard(kind = "tip", attributes = {}) {
  const element = h("div", {class: kind, popover: "manual", ...attributes})
  let at = [0, 0]

  function place() {
    const {left, top} = cardPlace(at, {width: element.offsetWidth, height: element.offsetHeight}, {width: window.innerWidth, height: window.innerHeight})
    element.style.left = `${left}px`
    element.style.top = `${top}px`
  }

  return {
    element,
    fill: (...children) => element.replaceChildren(...children.filter(Boolean)),
    // `event` gives the position of the pointer.
    show(event) {
      at = [event.clientX, event.clientY]
      if (!element.isConnected) return
      if (!element.matches(":popover-open")) element.showPopover()
      place()
      const image = element.querySelector("img")
      if (image && !image.complete) image.addEventListener("load", place, {once: true}) // the card is taller then
    },
    hide() { if (element.matches(":popover-open")) element.hidePopover() },
  }
}
