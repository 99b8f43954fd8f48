// Synchronises the query of the address with the model's `query`. The back button undoes each change.

import {whileShown} from "../core/element.js"

const read = () => Object.fromEntries(new URLSearchParams(window.location.search))
const same = (a, b) => new URLSearchParams(sorted(a)).toString() === new URLSearchParams(sorted(b)).toString()
const sorted = (query) => Object.entries(query).sort(([a], [b]) => (a < b ? -1 : 1))

export function keepAddress(model) {
  const write = () => {
    if (same(read(), model.query)) return
    const text = new URLSearchParams(sorted(model.query)).toString()
    window.history.pushState({}, "", window.location.pathname + (text ? `?${text}` : ""))
  }
  model.on("query", write)
  whileShown(model, window, "popstate", () => { model.query = read() })
}
