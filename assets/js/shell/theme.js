// Light or dark: at once on this page, remembered by this browser and told to the server for the next page.

import {h, icon} from "../dom.js"

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
  const kept = localStorage.getItem("bentho-theme") // cookies are the first thing people clear
  if (!document.cookie.includes("bentho-theme=") && kept && kept !== model.theme) model.theme = kept
  model.on("theme", apply)
  apply()
  return button
}
