// Watches the connection to the server. When it is lost, a banner appears, keys and clicks are blocked visibly, and the
// page is reloaded at the same address as soon as the server answers.

import {h, icon, whileShown} from "../core/element.js"
import {unconfirmed} from "../core/unconfirmed.js"

const CHECK = 1000    // milliseconds between two checks while connected
const RETRY = 500     // milliseconds between two checks while the connection is lost
const PATIENCE = 1500 // milliseconds after which the server counts as not answering, so that the banner appears within 3 s
const STORE = "bentho-reconnected"
const MOST_RELOADS = 5, A_MINUTE = 60_000 // limits reloads of a page that keeps losing its connection

const OK = "ok", SLOW = "slow", LOST = "lost", STUCK = "stuck"
const actions = (count) => (count === 1 ? "1 action" : `${count} actions`)
const lastActions = (count) => (count === 1 ? "The last action" : `The last ${count} actions`)

export function connection(model, view) {
  const title = h("b", {}), text = h("span", {}), refusedText = h("span", {class: "refused"})
  const again = h("button", {class: "button", hidden: true, onclick: () => window.location.reload()}, "Reload page")
  const element = h("div", {class: "connection", role: "alert", hidden: true}, icon("cloud_off"),
    h("div", {}, title, " ", text, " ", refusedText), again)
  let state = OK
  let refused = 0
  let open = 0 // unconfirmed messages when the connection was lost
  let timer = null
  let gone = false

  function become(next) {
    if (state === next) return
    if (next === LOST) open = unconfirmed()
    if (next === OK) refused = 0
    state = next
    draw()
  }

  function draw() {
    element.hidden = state === OK
    element.dataset.state = state
    again.hidden = state !== STUCK
    title.textContent = {[SLOW]: "The server does not answer.", [LOST]: "Connection lost.",
      [STUCK]: "The connection keeps failing."}[state] ?? ""
    const waiting = open ? ` ${lastActions(open)} may not be saved.` : ""
    text.textContent = {[SLOW]: "It may be busy. Your actions are stored and carried out when it answers.",
      [LOST]: `Keys and clicks have no effect until the server is back.${waiting} Reconnecting…`,
      [STUCK]: "See the terminal of the server, then reload the page."}[state] ?? ""
    refusedText.textContent = refused ? `${actions(refused)} ignored.` : ""
  }

  // Runs before all other listeners of the page. Shortcuts of the browser still work.
  function refuse(event) {
    if (state !== LOST && state !== STUCK) return
    if (event.composedPath().includes(element)) return
    if (event.type === "keydown" && (event.ctrlKey || event.metaKey || event.altKey || /^F\d+$/.test(event.key))) return
    event.preventDefault()
    event.stopImmediatePropagation()
    if (event.type !== "keydown" && event.type !== "pointerdown") return
    refused += 1
    draw()
    element.classList.remove("flash")
    void element.offsetWidth // restarts the animation
    element.classList.add("flash")
  }

  async function answers() {
    const control = new AbortController()
    const limit = setTimeout(() => control.abort(), PATIENCE)
    try { return (await fetch("/health", {cache: "no-store", signal: control.signal})).ok }
    catch { return false }
    finally { clearTimeout(limit) }
  }

  async function check() {
    clearTimeout(timer)
    if (gone) return
    if (!document.hidden || state !== OK) {
      const well = await answers()
      if (gone) return
      if (well && state === LOST) { reload(); return }
      if (state === OK || state === SLOW) become(well ? OK : SLOW)
    }
    timer = setTimeout(check, state === OK ? CHECK : RETRY)
  }

  function reload() {
    const before = JSON.parse(sessionStorage.getItem(STORE) ?? "{}")
    const recent = (before.reloads ?? []).filter((at) => Date.now() - at < A_MINUTE)
    if (recent.length >= MOST_RELOADS) { become(STUCK); return }
    sessionStorage.setItem(STORE, JSON.stringify({reloads: [...recent, Date.now()], open, fresh: true}))
    window.location.reload()
  }

  // After such a reload: says that the page reconnected and what to check.
  function report() {
    const before = JSON.parse(sessionStorage.getItem(STORE) ?? "{}")
    if (!before.fresh) return
    sessionStorage.setItem(STORE, JSON.stringify({...before, fresh: false}))
    const text = before.open ? `Reconnected. ${lastActions(before.open)} may not be saved: please check.` : "Reconnected"
    model.message = {text, kind: before.open ? "error" : "success", undo: false}
  }

  const lost = () => { become(LOST); check() }
  for (const type of ["keydown", "keyup", "pointerdown", "pointerup", "click", "dblclick", "beforeinput"]) {
    whileShown(model, window, type, refuse, {capture: true})
  }
  whileShown(model, document, "visibilitychange", () => { if (!document.hidden) check() })
  model.on("remove", () => { gone = true; clearTimeout(timer) })
  queueMicrotask(() => (view?.model?.document ?? window.Bokeh?.documents?.[0])?.on_event("connection_lost", lost))
  check()
  setTimeout(report, 0)
  return element
}
