// The bar on top of every page: where am I, search, jobs, person, theme, help; and what belongs to every page.

import {h, icon, whileShown} from "./dom.js"
import {keepAddress} from "./shell/address.js"
import {jobTray} from "./shell/job_tray.js"
import {keyboard} from "./shell/keyboard.js"
import {personChooser} from "./shell/person.js"
import {searchBox} from "./shell/search.js"
import {snackbar} from "./shell/snackbar.js"
import {themeButton} from "./shell/theme.js"

const MARK = `<svg width="26" height="26" viewBox="0 0 26 26" aria-hidden="true"><g fill="none" stroke="currentColor"
stroke-width="1.6" stroke-linecap="round"><path d="M2 8c3-3 5-3 7.3 0s4.700 3 7.300 0 4.700-3 7.400 0"/><circle cx="13"
cy="17" r="5.500"/><circle cx="13" cy="17" r="1.700"/></g></svg>`

export function render({model}) {
  const brand = h("a", {class: "brand", href: "/", title: "Home"})
  brand.innerHTML = MARK
  brand.append(h("b", {}, "Benthoscope"), h("span", {}, model.workspace))
  const help = h("a", {class: "plain", href: `/help?topic=${model.page || "home"}`, title: "Help on this page",
    "aria-label": "Help on this page"}, icon("help_outline"))
  const keys = keyboard(model)
  const show = h("button", {class: "plain", title: "Keyboard (?)", "aria-label": "Keyboard map", onclick: keys.open},
    icon("keyboard"))
  const tray = jobTray(model)
  const right = h("div", {class: "right"}, tray.element, personChooser(model), themeButton(model), show, help)
  const top = h("div", {class: "top", role: "banner"}, brand, searchBox(model), right)
  whileShown(model, document, "keydown", keys.pressed, {capture: true})
  keepAddress(model)
  return h("div", {}, top, snackbar(model), keys.element, keys.hint, tray.log)
}
