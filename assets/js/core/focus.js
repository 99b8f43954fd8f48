// Keeps the focus when elements are replaced. An element that comes back has the same data-key.

export const byKey = (root, key) => root.querySelector(`[data-key="${CSS.escape(key)}"]`)

// Remembers which element has the focus. The returned function gives it back to that element, or to the one that has
// replaced it.
export function rememberFocus() {
  const element = focusedElement(), root = element?.getRootNode(), key = element?.dataset?.key
  return () => {
    const next = element?.isConnected ? element : key ? byKey(root, key) : null
    next?.focus({preventScroll: true})
  }
}

// Also inside of shadow roots.
function focusedElement() {
  let element = document.activeElement
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement
  return element
}
