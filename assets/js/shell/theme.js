// Light or dark theme: applied immediately, stored in this browser and sent to the server for the next page.

import {h, icon} from "../core/element.js"

const YEAR = 365 * 86400

export function themeButton(model) {
  const button = h("button", {class: "plain", onclick: () => { model.theme = model.theme === "dark" ? "light" : "dark" }})
  const apply = () => {
    const dark = model.theme === "dark"
    document.documentElement.dataset.look = model.theme
    document.cookie = `bentho-theme=${model.theme}; path=/; max-age=${YEAR}; samesite=lax`
    localStorage.setItem("bentho-theme", model.theme)
    button.replaceChildren(icon(dark ? "light_mode" : "dark_mode"))
    button.title = dark ? "Light theme" : "Dark theme"
    button.setAttribute("aria-label", button.title)
  }
  const stored = localStorage.getItem("bentho-theme") // a backup for deleted cookies
  if (!document.cookie.includes("bentho-theme=") && stored && stored !== model.theme) model.theme = stored
  model.on("theme", apply)
  apply()
  return button
}
