// The search field for images, dives, clusters, labels and pages; `/` moves to it.

import {ask, h, icon, whileShown} from "../core/element.js"
import {groups} from "../core/group_words.js"

const PAUSE = 150 // milliseconds after the last key

export function searchBox(model) {
  const input = h("input", {type: "search", placeholder: `Search images, ${groups()}, clusters, labels`, role: "combobox",
    "aria-label": "Search", "aria-expanded": "false", autocomplete: "off", spellcheck: "false"})
  const list = h("div", {class: "pop", role: "listbox", "aria-label": "Search results", hidden: true})
  const box = h("div", {class: "search", role: "search"}, icon("search"), input, h("kbd", {"aria-hidden": "true"}, "/"), list)
  let timer = null
  let latest = 0
  let chosen = 0

  const options = () => [...list.querySelectorAll(".hit")]
  const close = () => { list.hidden = true; input.setAttribute("aria-expanded", "false") }
  const choose = (number) => {
    const hits = options()
    if (!hits.length) return
    chosen = (number + hits.length) % hits.length
    hits.forEach((hit, at) => hit.setAttribute("aria-selected", String(at === chosen)))
    hits[chosen].scrollIntoView({block: "nearest"})
  }
  const pages = (word) => model.pages
    .filter((page) => page.title.toLowerCase().includes(word.toLowerCase()))
    .map((page) => ({kind: "Page", name: page.title, about: "", href: page.href}))

  async function look() {
    const word = input.value.trim()
    const mine = ++latest
    if (!word) { close(); return }
    const hits = await ask(`/api/v1/search?q=${encodeURIComponent(word)}`).catch(() => [])
    if (mine !== latest) return // a newer request was answered first
    show([...pages(word), ...hits], word)
  }

  function show(hits, word) {
    list.replaceChildren(...hits.map((hit) => h("a", {class: "hit", role: "option", href: hit.href, tabindex: "-1"},
      h("i", {class: "soft"}, hit.kind), h("b", {}, hit.name), h("span", {class: "soft"}, hit.about))))
    if (!hits.length) list.append(h("p", {class: "nothing"}, `Nothing found for “${word}”.`))
    list.hidden = false
    input.setAttribute("aria-expanded", "true")
    choose(0)
  }

  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(look, PAUSE) })
  input.addEventListener("focus", () => { if (input.value.trim()) look() })
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") { event.preventDefault(); choose(chosen + 1) }
    else if (event.key === "ArrowUp") { event.preventDefault(); choose(chosen - 1) }
    else if (event.key === "Enter" && !list.hidden) options()[chosen]?.click()
    else if (event.key === "Escape") { close(); input.blur() }
  })
  whileShown(model, document, "pointerdown", (event) => { if (!event.composedPath().includes(box)) close() })
  return box
}
