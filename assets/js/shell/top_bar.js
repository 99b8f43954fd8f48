// The top bar of every page: home, search, jobs, person, theme and help; and parts that every page has.

import {h, icon, whileShown} from "../core/element.js"
import {setGroupWords} from "../core/group_words.js"
import {keepAddress} from "./address.js"
import {connection} from "./connection.js"
import {jobTray} from "./job_tray.js"
import {keyboard} from "./keyboard.js"
import {nameDialog, personChooser} from "./person.js"
import {searchBox} from "./search.js"
import {snackbar} from "./snackbar.js"
import {themeButton} from "./theme.js"
import {undoButton} from "./undo.js"

const MARK = `<svg width="26" height="26" viewBox="0 0 26 26" aria-hidden="true"><g fill="none" stroke="currentColor"
stroke-width="1.6" stroke-linecap="round"><path d="M2 8c3-3 5-3 7.3 0s4.700 3 7.300 0 4.700-3 7.400 0"/><circle cx="13"
cy="17" r="5.500"/><circle cx="13" cy="17" r="1.700"/></g></svg>`

const DRAWN = 600 // milliseconds after which a page without scripts is drawn

export function render({model, view}) {
  const brand = h("a", {class: "brand", href: "/", title: "Home"})
  brand.innerHTML = MARK
  brand.append(h("b", {}, "Benthoscope"), h("span", {}, model.workspace))
  const help = h("a", {class: "plain", href: `/help?topic=${model.page || "home"}`, title: "Help on this page",
    "aria-label": "Help on this page"}, icon("help_outline"))
  const keys = keyboard(model)
  const show = h("button", {class: "plain", title: "Keyboard shortcuts (?)", "aria-label": "Keyboard shortcuts", onclick: keys.open},
    icon("keyboard"))
  const tray = jobTray(model)
  const right = h("div", {class: "right"}, undoButton(model), tray.element, personChooser(model), themeButton(model), show, help)
  const top = h("div", {class: "top"}, brand, searchBox(model), right)
  whileShown(model, document, "keydown", keys.pressed, {capture: true})
  keepAddress(model)
  model.on("groups", () => setGroupWords(model.groups))
  if (!model.has_parts) setTimeout(() => { document.documentElement.dataset.drawn = "" }, DRAWN) // no script of the page says so
  return h("div", {}, connection(model, view), top, snackbar(model), keys.element, keys.hint, tray.log, nameDialog(model))
}
