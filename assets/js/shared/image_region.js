// A rectangle drawn over an image with Shift held down.

import {h} from "../core/element.js"

const SMALLEST = 0.01 // of the image's sides; a smaller rectangle is a click

// `fractionAt(event)` returns [x, y] of the pointer as fractions of the image, or null without an image.
// `chosen(box)` gets the finished rectangle.
export function regionDrag(stage, fractionAt, chosen) {
  const frame = h("div", {class: "imageregion", hidden: true, "aria-hidden": "true"})
  stage.append(frame)
  stage.addEventListener("pointerdown", (event) => {
    const start = event.shiftKey && event.button === 0 ? fractionAt(event) : null
    if (!start) return
    event.preventDefault()
    event.stopImmediatePropagation() // Shift does not move the image
    stage.setPointerCapture(event.pointerId)
    const from = event
    const moved = (now) => outline(frame, stage, from, now)
    const ended = (now) => {
      stage.removeEventListener("pointermove", moved)
      frame.hidden = true
      const box = now.type === "pointerup" ? boxOf(start, fractionAt(now)) : null
      if (box) chosen(box)
    }
    stage.addEventListener("pointermove", moved)
    stage.addEventListener("pointerup", ended, {once: true})
    stage.addEventListener("pointercancel", ended, {once: true})
  }, true)
}

// The part of a rectangle between two corners that is inside the image; null if it is too small.
export function boxOf(one, other) {
  const inside = (value) => Math.min(Math.max(value, 0), 1)
  const [left, right] = [one[0], other[0]].map(inside).sort((a, b) => a - b)
  const [top, bottom] = [one[1], other[1]].map(inside).sort((a, b) => a - b)
  const box = {left, top, width: right - left, height: bottom - top}
  return box.width < SMALLEST || box.height < SMALLEST ? null : box
}

function outline(frame, stage, from, to) {
  const around = stage.getBoundingClientRect()
  frame.style.left = `${Math.min(from.clientX, to.clientX) - around.left}px`
  frame.style.top = `${Math.min(from.clientY, to.clientY) - around.top}px`
  frame.style.width = `${Math.abs(to.clientX - from.clientX)}px`
  frame.style.height = `${Math.abs(to.clientY - from.clientY)}px`
  frame.hidden = false
}
