// The pages, as plain links: they can be opened in another tab and read by whoever does not see them.

import {h, icon} from "./dom.js"

export function render({model}) {
  const links = model.pages.map((page) => h("a", {href: page.href, "aria-current": page.current ? "page" : null},
    icon(page.icon), h("span", {}, page.title)))
  return h("nav", {"aria-label": "Pages"}, ...links)
}
