// Plots that the server draws (app/data/figures.py), shown by BokehJS. They are loaded after the first paint of a page,
// and only while they are in view. Marks that stand for images can be selected and opened in Explore.

import {ask, h, icon, whileShown} from "../core/element.js"
import {count} from "../core/format.js"
import {copyText, saveFile, saveText} from "../core/hand_over.js"
import {idle, painted} from "../core/painted.js"
import {isMark, keyOf, marksOf, marksWithPlaces, nearestMark, nextMark, sameMark, textOf} from "./plot_marks.js"

const MARGIN = "200px" // a plot is loaded when it is nearer than this to the view
const LIVE = 4000 // milliseconds between two drawings of a plot that grows
const CLICK = 4 // pixels that the pointer may move between pressing and releasing
const TOOL = 32, BUTTONS = 100 // pixels of a tool of BokehJS, and of the buttons of a plot
const STEPS = {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}

const look = () => (document.documentElement.dataset.look === "dark" ? "dark" : "light")

export function address(name, query, more = {}) {
  const given = Object.entries({...query, ...more}).filter(([, value]) => value !== null && value !== undefined && value !== false)
  return `/api/v1/plots/${name}?${new URLSearchParams(given)}`
}

// The plots of a part of a page that is drawn as a whole. `frame` returns the element of a plot; a plot with the same name
// and query, or with the same `id`, keeps its element when the part is drawn again. After drawing, `prune` ends the
// others. Options of a plot:
//   query: what it shows; or values: a plot of the page's own values
//   stamp: a text that changes with the values of the plot; the plot is then drawn again
//   live: whether it grows, and is drawn again every few seconds
//   onpick(mark): called with the values of the clicked mark, or of the image nearest to the click along the x axis
//   onplace({x, y}): called with the place of a click, in the values of the axes
//   onhover(mark or null): called when the pointer comes to another mark
//   onmarks(marks): called when the selected marks change, besides what onselect does
//   adds: whether a selection adds to the one before, without the Shift key
//   onselect(marks): what to do with selected marks; without it, they can be opened in Explore
export function plotShelf(model) {
  const frames = new Map()
  let used = new Set()
  const frame = (name, {id = null, ...options}) => {
    const key = id ?? JSON.stringify([name, options.query])
    if (!frames.has(key)) frames.set(key, new PlotFrame(name, options))
    used.add(key)
    const each = frames.get(key)
    each.update(options)
    return each.element
  }
  const prune = () => {
    for (const [key, each] of frames) {
      if (used.has(key)) continue
      each.end()
      frames.delete(key)
    }
    used = new Set()
  }
  // Shows which marks are selected elsewhere on the page.
  const select = (id, marks) => frames.get(id)?.select(marks)
  const themed = new MutationObserver(() => frames.forEach((each) => each.refresh()))
  themed.observe(document.documentElement, {attributes: true, attributeFilter: ["data-look"]})
  whileShown(model, window, "beforeprint", () => frames.forEach((each) => each.seen(true))) // also those that are not in view
  model.on("remove", () => { themed.disconnect(); frames.forEach((each) => each.end()); frames.clear() })
  return {frame, prune, select}
}

class PlotFrame {
  constructor(name, {query = {}, values = null, stamp = "", label, height = 260, onpick = null, onplace = null, onselect = null, onhover = null, onmarks = null, adds = false, live = false}) {
    Object.assign(this, {adds, name, query, values, stamp, label, onpick, onplace, onselect, onhover, onmarks, shown: null, text: "", over: false, inView: false, stale: true})
    Object.assign(this, {columns: [], marks: [], muted: new Set(), at: null, pressed: null, latest: 0, coming: null})
    this.stage = h("div", {class: "stage waiting", style: `min-height: ${height}px`, tabindex: "0", role: "group", "aria-label": label})
    this.ring = h("i", {class: "ring", hidden: true})
    this.chosen = h("span", {class: "chosen", role: "status"})
    this.note = h("span", {class: "soft", role: "status"})
    const act = (symbol, words, does) => h("button", {class: "plain", type: "button", title: words, "aria-label": `${words}: ${label}`, onclick: does}, icon(symbol))
    this.element = h("figure", {class: "plot-frame", "aria-label": label, "data-plot": name}, this.stage, h("figcaption", {}, this.chosen, this.note,
      act("image", "Save as PNG", () => this.save("png")), act("polyline", "Save as SVG", () => this.save("svg")), act("content_copy", "Copy data as CSV", () => this.copy())))
    this.stage.addEventListener("pointerdown", (event) => { this.pressed = [event.clientX, event.clientY]; this.hides = event.shiftKey }, {capture: true})
    if (onhover) for (const kind of ["pointermove", "pointerleave"]) this.stage.addEventListener(kind, (event) => this.hover(kind === "pointermove" ? event : null))
    this.stage.addEventListener("click", (event) => this.click(event))
    this.stage.addEventListener("keydown", (event) => this.key(event))
    this.stage.addEventListener("focus", () => this.showRing())
    this.stage.addEventListener("blur", () => this.showRing())
    this.watch = new IntersectionObserver((seen) => this.seen(seen.at(-1).isIntersecting), {rootMargin: MARGIN})
    this.watch.observe(this.element)
    this.grow(live)
  }

  update({query = {}, values = null, stamp = "", label, onpick = null, onplace = null, onselect = null, live = false}) {
    Object.assign(this, {onpick, onplace, onselect}) // of the newest drawing
    if (live !== this.live) this.grow(live)
    if (JSON.stringify([query, values, stamp]) === JSON.stringify([this.query, this.values, this.stamp])) return
    Object.assign(this, {query, values, stamp, label})
    for (const part of [this.element, this.stage]) part.setAttribute("aria-label", label)
    this.refresh()
  }

  grow(live) {
    this.live = live
    clearInterval(this.timer)
    if (live) this.timer = setInterval(() => { if (!this.element.matches(":hover")) this.refresh() }, LIVE)
  }

  seen(inView) {
    this.inView = inView
    if (inView && this.stale) painted.then(() => idle(() => this.draw()))
  }

  // Draws the plot again now, or when it is in view. The page may be about to put its element into another place.
  refresh() {
    this.stale = true
    queueMicrotask(() => this.draw())
  }

  // A plot of the page's own values is drawn from what is sent; the others from the workspace.
  request(more) {
    if (!this.values) return [address(this.name, this.query, more), {}]
    return [address(`${this.name}/values`, {}, more), {method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify(this.values)}]
  }

  async draw() {
    if (this.over || !this.stale || !this.inView || !this.element.isConnected) return
    this.stale = false
    const number = ++this.latest
    let coming = null
    try {
      const item = await ask(...this.request({theme: look()}))
      const text = JSON.stringify(item)
      if (this.over || number !== this.latest || text === (this.coming ?? this).text) return
      this.discard()
      coming = this.coming = {place: h("div", {class: "coming"}), text, item, shown: null}
      this.stage.append(coming.place)
      coming.shown = await window.Bokeh.embed.embed_item(item, coming.place)
      if (this.coming !== coming) return clear(coming.shown)
      await drawn(coming.shown)
      if (this.coming === coming) this.replace(coming)
    } catch (error) {
      if (coming && this.coming === coming) this.discard()
      if (this.shown) return // the plot that is there is better than none
      this.stage.classList.remove("waiting")
      this.stage.replaceChildren(h("p", {class: "soft nothing"}, error.message))
    }
  }

  // The new plot takes the place of the one before. The mark that the keys have reached, and muted parts, stay.
  replace({place, text, item, shown}) {
    const {at} = this
    const muted = new Set(this.parts.filter((part) => part.muted && !this.muted.has(part)).map((part) => part.name))
    clear(this.shown)
    for (const before of [...this.stage.children]) if (before !== place && before !== this.ring) before.remove()
    place.classList.remove("coming")
    this.stage.append(this.ring)
    Object.assign(this, {shown, text, columns: item.marks ?? [], coming: null})
    this.stage.classList.remove("waiting")
    this.stage.style.minHeight = ""
    this.stage.dataset.drawn = look()
    this.element.classList.toggle("oneline", this.root.model.toolbar_location === "below" && this.isWide())
    for (const part of this.parts) if (muted.has(part.name)) part.muted = true
    this.listen()
    if (this.marks.length && !this.onselect) this.offer(this.marks) // they may stand for other images now
    this.at = at && sameMark(marksWithPlaces(this.views, this.columns), at)
    this.showRing()
  }

  // Ends a plot that is not shown yet, because another one is newer.
  discard() {
    if (!this.coming) return
    clear(this.coming.shown)
    this.coming.place.remove()
    this.coming = null
  }

  // Whether the tools of BokehJS, which begin at the left side of its frame, and the buttons have room on one line.
  isWide() {
    const {model, bbox, frame} = this.root
    return bbox.width - frame.bbox.left > TOOL * model.toolbar.tools.filter(({visible}) => visible).length + BUTTONS
  }

  get root() { return [...this.shown?.roots ?? []][0] }

  // The views of the plots: one, or one for each panel.
  get views() {
    if (!this.root) return []
    return this.root.model.renderers ? [this.root] : [...this.root.child_views].flatMap((view) => (view.model.renderers ? [view] : [...view.child_views ?? []].filter((inner) => inner.model.renderers)))
  }

  get parts() { return this.views.flatMap((view) => view.model.renderers) }

  get renderers() { return this.parts.filter((renderer) => isMark(renderer, this.columns)) }

  // --- selection

  listen() {
    this.muted = new Set()
    if (this.adds) for (const tool of this.views.flatMap((view) => view.model.toolbar.tools)) if (/^(Box|Lasso)Select/.test(tool.type)) tool.mode = "append"
    for (const {data_source: source} of this.renderers) source.selected.properties.indices.change.connect(() => this.changed())
    this.linkPanels()
    this.hideMuted()
    if (this.marks.length) this.select(this.marks)
  }

  // The legend of one panel mutes the parts of the same name in all of them.
  linkPanels() {
    const all = this.parts
    if (this.views.length > 1) for (const renderer of all) renderer.properties.muted.change.connect(() => {
      for (const other of all) if (other.name === renderer.name && other.muted !== renderer.muted) other.muted = renderer.muted
    })
  }

  // A click on an entry of the legend mutes a part; with Shift, it hides the part.
  hideMuted() {
    for (const renderer of this.parts) renderer.properties.muted.change.connect(() => { renderer.visible = !(renderer.muted && this.hides && !this.selecting) })
  }

  // Several sources change one after another; together they are one selection.
  changed() {
    if (this.selecting) return
    clearTimeout(this.soon)
    this.soon = setTimeout(() => {
      const marks = marksOf(this.renderers, this.columns)
      const same = JSON.stringify(marks) === JSON.stringify(this.marks)
      this.select(marks) // in all panels
      if (same) return
      this.onmarks?.(marks)
      if (this.onselect) this.onselect(marks)
      else this.offer(marks)
    })
  }

  // Marks these, and makes parts without a marked one pale.
  select(marks) {
    this.marks = marks
    const wanted = new Set(marks.map(String))
    this.selecting = true
    for (const renderer of this.renderers) {
      const {data_source: source} = renderer
      const indices = wanted.size ? [...source.data[this.columns[0]]].flatMap((_, at) => (wanted.has(keyOf(source, this.columns, at)) ? [at] : [])) : []
      if (String(indices) !== String(source.selected.indices)) source.selected.indices = indices
      const pale = wanted.size > 0 && !indices.length
      if (pale && !renderer.muted) { renderer.muted = true; this.muted.add(renderer) }
      if (!pale && this.muted.delete(renderer)) renderer.muted = false
    }
    this.selecting = false
  }

  // How many images the marks stand for, and a link that selects them in Explore.
  async offer(marks) {
    if (!marks.length) return this.chosen.replaceChildren()
    try {
      const answer = await ask(address(`${this.name}/images`, this.query), {method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify({marks})})
      if (marks !== this.marks && String(marks) !== String(this.marks)) return // another selection by now
      this.chosen.replaceChildren(...selectionWords(answer.count, answer.explore, () => { this.select([]); this.onmarks?.([]); this.offer([]) }))
    } catch (error) {
      this.chosen.replaceChildren(error.message)
    }
  }

  // --- pointer and keyboard

  click(event) {
    const [x, y] = this.pressed ?? [event.clientX, event.clientY]
    if (!(this.onpick || this.onplace) || !this.root || Math.hypot(event.clientX - x, event.clientY - y) > CLICK || event.composedPath().some((one) => one.classList?.contains("bk-Toolbar") || one.classList?.contains("bk-ToolbarPanel"))) return
    const view = this.views.find((each) => inside(each, event))
    if (view && this.onplace) this.onplace(this.placeAt(view, event))
    const mark = this.onpick && this.under(event)
    if (mark) this.onpick(mark, event)
  }

  // Bokeh's hover tool follows the pointer in its own listener, which may come later.
  hover(event) {
    setTimeout(() => {
      const mark = event && this.root ? this.under(event) : null, key = mark ? this.columns.map((column) => mark[column]).join() : null
      if (key !== this.hovered) this.onhover(mark)
      this.hovered = key
    })
  }

  // The values of the mark under the pointer: Bokeh's hover tool keeps which one it is. Otherwise of the image nearest to
  // the pointer along the x axis, where images follow each other.
  under(event) {
    for (const {data_source: source} of this.parts) {
      const [index] = source?.inspected.indices ?? []
      if (index !== undefined) return valuesAt(source, index)
    }
    if (this.name !== "profile" && this.name !== "prediction") return null
    const view = this.views.find((each) => inside(each, event))
    const at = view && nearestMark(marksWithPlaces([view], this.columns), this.placeAt(view, event).x)
    return at ? valuesAt(at.source, at.index) : null
  }

  placeAt(view, event) {
    const box = view.el.getBoundingClientRect()
    return {x: view.frame.x_scale.invert(event.clientX - box.left), y: view.frame.y_scale.invert(event.clientY - box.top)}
  }

  key(event) {
    if (event.target !== this.stage || event.ctrlKey || event.metaKey || event.altKey || !this.columns.length) return
    const marks = marksWithPlaces(this.views, this.columns)
    if (STEPS[event.key]) this.walk(marks, STEPS[event.key])
    else if (event.key === "Enter" && this.at) this.enter(event)
    else if (event.key === "Escape" && this.marks.length) { this.select([]); this.onselect ? this.onselect([]) : this.offer([]) }
    else return
    event.preventDefault()
    event.stopPropagation()
  }

  // The arrow keys lead from mark to mark; the values are read aloud.
  walk(marks, direction) {
    const next = nextMark(marks, this.at && sameMark(marks, this.at), direction)
    if (!next) return
    this.at = next
    this.note.textContent = textOf(next.view.model, next.source, next.index)
    this.showRing()
  }

  // A ring around the mark that the keys have reached, while the plot has the focus.
  showRing() {
    this.ring.hidden = !this.at || !this.stage.matches(":focus")
    if (this.ring.hidden) return
    const {view, x, y} = this.at, box = view.el.getBoundingClientRect(), stage = this.stage.getBoundingClientRect()
    this.ring.style.translate = `${box.left - stage.left + view.frame.x_scale.compute(x)}px ${box.top - stage.top + view.frame.y_scale.compute(y)}px`
  }

  enter(event) {
    const values = valuesAt(this.at.source, this.at.index), mark = this.columns.map((column) => Number(values[column]))
    const selectable = !this.onpick || !this.columns.includes("image")
    if (this.onpick) this.onpick(values, event)
    if (!selectable) return
    const others = event.shiftKey ? this.marks.filter((one) => String(one) !== String(mark)) : []
    this.select([...others, mark])
    this.onselect ? this.onselect(this.marks) : this.offer(this.marks)
  }

  // --- files

  async save(kind) {
    if (!this.root) return
    saveFile(await this.root.export(kind).to_blob(), `${this.name}.${kind}`)
  }

  async copy() {
    const [path, options] = this.request({format: "csv"})
    const answer = await fetch(path, {credentials: "same-origin", ...options})
    const text = await answer.text()
    if (!answer.ok) this.note.textContent = "No data"
    else if (copyText(text)) this.note.textContent = "Copied"
    else saveText(text, `${this.name}.csv`)
  }

  end() {
    this.over = true
    this.watch.disconnect()
    clearInterval(this.timer)
    clearTimeout(this.soon)
    this.discard()
    clear(this.shown)
    this.shown = null
  }
}

// When BokehJS has drawn a plot. Before that its axes have no size, and keys and clicks would find no marks.
function drawn(shown) {
  const {document} = [...shown.roots][0].model
  return document.is_idle ? null : new Promise((resolve) => document.idle.connect(resolve))
}

// Removes a plot of BokehJS, which would remember its document otherwise.
function clear(shown) {
  if (!shown) return
  const documents = window.Bokeh.documents
  const own = [...shown.roots][0]?.model.document
  shown.clear?.()
  if (documents.includes(own)) documents.splice(documents.indexOf(own), 1)
}

// "12 images selected", with a link to Explore and a button that ends the selection.
export function selectionWords(images, href, clear) {
  return [`${count(images)} ${images === 1 ? "image" : "images"} selected`, images ? h("a", {href}, "Open in Explore") : null,
    h("button", {class: "plain", type: "button", onclick: clear}, "Clear")].filter(Boolean)
}

const valuesAt = (source, index) => Object.fromEntries(Object.entries(source.data).map(([column, values]) => [column, values[index]]))

function inside(view, {clientX: x, clientY: y}) {
  const box = view.el.getBoundingClientRect()
  return x >= box.left && x <= box.right && y >= box.top && y <= box.bottom
}
