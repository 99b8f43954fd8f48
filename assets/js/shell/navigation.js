// The pages as plain links, which can be opened in another tab and read by screen readers.

import {h, icon} from "../core/element.js"

const SAME_RUN = new Set(["/explore", "/review", "/objects"]) // pages that show one run; the chosen level is passed between them

export function render({model}) {
  const links = model.pages.map((page) => h("a", {href: page.href, "aria-current": page.current ? "page" : null},
    icon(page.icon), h("span", {}, page.title)))
  const carryRun = (event) => {
    const link = event.composedPath().find((element) => element.tagName === "A")
    const path = link && new URL(link.href).pathname
    const run = SAME_RUN.has(window.location.pathname) ? new URLSearchParams(window.location.search).get("run") : null
    if (SAME_RUN.has(path)) link.setAttribute("href", run ? `${path}?run=${encodeURIComponent(run)}` : path)
  }
  return h("nav", {"aria-label": "Pages", onpointerdown: carryRun, onclick: carryRun, onfocusin: carryRun}, ...links)
}
