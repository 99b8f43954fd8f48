// Controls from a description: {name, kind: select | toggle | range | button | text, title, value, choices, icon, caption}.

import {h, icon} from "../core/element.js"

export function render({model}) {
  const row = h("div", {class: "choices", role: "toolbar", "aria-label": model.title})
  const draw = () => fill(row, model.items, (message) => model.send_msg(message))
  model.on("items", draw)
  draw()
  return row
}

// Unchanged controls are not replaced, so that an open list does not close under the pointer.
export function fill(row, items, send) {
  const known = new Map([...row.children].map((element) => [element.dataset.key, element]))
  const wanted = items.map((item) => {
    const key = JSON.stringify([item.name, item.kind, item.choices, item.title, item.icon, item.caption, item.disabled])
    const element = known.get(key) ?? made(item, send)
    element.dataset.key = key
    element.update(item.value)
    return element
  })
  if (wanted.length !== row.children.length || wanted.some((element, at) => row.children[at] !== element)) row.replaceChildren(...wanted)
}

function made(item, send) {
  const tell = (value) => send({act: "set", name: item.name, value})
  return {select, toggle, range, button, text}[item.kind](item, tell, send)
}

const caption = (item) => (item.caption ? h("span", {class: "caption", "aria-hidden": "true"}, item.caption) : item.icon ? icon(item.icon) : null)

function select(item, tell) {
  const box = h("select", {"aria-label": item.title, title: item.title, disabled: item.disabled || null, onchange: () => tell(box.value)},
    item.choices.map(([value, word, off]) => h("option", {value, disabled: off || null}, word)))
  const element = h("label", {class: "choice"}, caption(item), box)
  element.update = (value) => { box.value = value ?? "" }
  return element
}

function toggle(item, tell) {
  const element = h("button", {class: "plain", title: item.title, "aria-label": item.title, onclick: () => tell(element.getAttribute("aria-pressed") !== "true")}, icon(item.icon))
  element.update = (value) => element.setAttribute("aria-pressed", String(Boolean(value)))
  return element
}

function range(item, tell) {
  const [least, most] = item.choices
  const box = h("input", {type: "range", min: least, max: most, step: 8, "aria-label": item.title, title: item.title, oninput: () => tell(Number(box.value))})
  const element = h("label", {class: "choice"}, caption(item), box)
  element.update = (value) => { if (document.activeElement !== box) box.value = value }
  return element
}

function button(item, tell, send) {
  const element = h("button", {class: `button${item.main ? " main" : ""}`, title: item.title, disabled: item.disabled || null, onclick: () => send({act: item.name})},
    item.icon ? icon(item.icon) : null, item.word ?? null)
  element.update = () => {}
  return element
}

function text(item) {
  const element = h("span", {class: "soft"})
  element.update = (value) => { element.textContent = value }
  return element
}
