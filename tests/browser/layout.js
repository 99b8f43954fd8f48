// Run in a page by test_all_pages.py: words that are values of a program, and elements that nobody can see whole.

({
  // Text, names and titles on the page that contain null, undefined, NaN or [object.
  values() {
    const wrong = /\b(null|undefined|NaN)\b|\[object/
    const found = []
    for (const node of this.all(document)) {
      if (["SCRIPT", "STYLE"].includes(node.tagName)) continue
      const own = [...node.childNodes].filter((child) => child.nodeType === Node.TEXT_NODE).map((child) => child.textContent)
      const names = ["title", "aria-label", "placeholder", "alt", "href"].map((name) => node.getAttribute(name) ?? "")
      for (const text of [...own, ...names, ["INPUT", "TEXTAREA"].includes(node.tagName) ? node.value : ""])
        if (wrong.test(text)) found.push(`${node.tagName.toLowerCase()}.${node.className?.baseVal ?? node.className}: ${text.trim().slice(0, 80)}`)
    }
    return found
  },

  // Elements with text, controls and pictures that lie outside the window or are cut off by a box that cannot be scrolled.
  overflows() {
    const found = []
    for (const node of this.all(document)) {
      if (!this.counts(node)) continue
      const box = node.getBoundingClientRect()
      const cut = this.cutBy(node, box)
      if (cut) found.push(`${this.name(node)} [${Math.round(box.left)}-${Math.round(box.right)}] is cut off by ${cut}`)
    }
    return found
  },

  // Elements that people read or use: text, controls, images. Drawings and hidden elements do not count.
  counts(node) {
    if (node.closest("svg") && node.tagName.toLowerCase() !== "svg") return false
    if (node.closest("[aria-hidden=true]")) return false
    const style = getComputedStyle(node)
    if (style.visibility === "hidden" || style.display === "none" || Number(style.opacity) === 0) return false
    const box = node.getBoundingClientRect()
    if (box.width < 2 || box.height < 2) return false
    const text = [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.textContent.trim())
    return text || ["BUTTON", "INPUT", "SELECT", "TEXTAREA", "A", "IMG"].includes(node.tagName)
  },

  cutBy(node, box) {
    const slack = 2
    let fixed = getComputedStyle(node).position === "fixed"
    for (let at = this.above(node); at; at = this.above(at)) {
      const style = getComputedStyle(at)
      if (fixed) { if (at.matches?.("dialog, [popover]")) break; continue }
      const way = style.overflowX
      const frame = at.getBoundingClientRect()
      const outside = box.right > frame.right + slack || box.left < frame.left - slack
      if (way === "auto" || way === "scroll") {
        if (!outside || at.matches?.("[tabindex='0'], pre, .scroll, .chips")) return null // made to be scrolled sideways
        return `${this.name(at)}, which scrolls sideways`
      }
      const clips = way === "hidden" || way === "clip" || /paint|strict|content/.test(style.contain) || style.contentVisibility === "auto"
      if (clips && style.textOverflow !== "ellipsis" && at !== document.documentElement && at !== document.body && outside) return this.name(at)
      if (style.position === "fixed") fixed = true
    }
    return box.right > window.innerWidth + slack || box.left < -slack ? "the window" : null
  },

  name: (node) => `${node.tagName.toLowerCase()}${node.className && typeof node.className === "string" ? `.${node.className.trim().replace(/\s+/g, ".")}` : ""}` +
    ` "${(node.getAttribute("aria-label") || node.textContent || "").trim().slice(0, 40)}"`,

  above: (node) => node.assignedSlot ?? node.parentElement ?? node.getRootNode().host ?? null,

  all(root) {
    return [...root.querySelectorAll("*")].flatMap((node) => [node, ...(node.shadowRoot ? this.all(node.shadowRoot) : [])])
  },
})
