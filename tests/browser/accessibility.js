// Run in a page by test_screens.py: what a person with weak eyes or without a pointer would miss.

({
  contrast() {
    const parse = (text) => (text.match(/[0-9.]+/g) ?? []).map(Number)
    const channel = (value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4)
    const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b)
    const above = (node) => node.assignedSlot ?? node.parentElement ?? node.getRootNode().host ?? null
    const ground = (node) => { // null where a picture or a veil lies beneath
      for (let at = node; at; at = above(at)) {
        const style = getComputedStyle(at)
        if (style.backgroundImage !== "none") return null
        const colour = parse(style.backgroundColor)
        if (colour.length === 3 || colour[3] === 1) return colour
        if (colour[3] > 0) return null
      }
      return parse(getComputedStyle(document.body).backgroundColor)
    }
    return this.all("*").flatMap((node) => {
      const style = getComputedStyle(node)
      const says = [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.textContent.trim())
      if (!says || !this.shown(node) || Number(style.opacity) < 1 || node.closest("[disabled], svg")) return []
      const under = ground(node)
      if (!under) return []
      const [high, low] = [light(parse(style.color)), light(under)].sort((a, b) => b - a)
      const ratio = (high + 0.05) / (low + 0.05)
      return ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5) ? [`${node.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}`] : []
    })
  },

  unnamed() {
    const controls = "button, a[href], input, select, textarea, [role=button], [role=dialog], [role=img]"
    const words = (node) => [...node.childNodes].filter((child) => child.getAttribute?.("aria-hidden") !== "true")
      .map((child) => child.textContent).join("").trim()
    return this.all(controls).filter((node) => this.shown(node) && !words(node) && !node.labels?.length &&
      !["aria-label", "aria-labelledby", "title"].some((name) => node.getAttribute(name)))
      .map((node) => node.outerHTML.slice(0, 120))
  },

  focused() {
    let at = document.activeElement
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
    return at?.getAttribute("aria-label") || at?.textContent || ""
  },

  all(selector, root = document) {
    return [...root.querySelectorAll("*")].flatMap((node) =>
      [...(node.matches(selector) ? [node] : []), ...(node.shadowRoot ? this.all(selector, node.shadowRoot) : [])])
  },

  shown(node) {
    const box = node.getBoundingClientRect()
    return box.width > 0 && box.height > 0 && getComputedStyle(node).visibility !== "hidden"
  },
})
