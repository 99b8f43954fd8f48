// Gives text and files to a person: as a download or through the clipboard.

import {h} from "./element.js"

export function saveFile(blob, name) {
  const link = h("a", {href: URL.createObjectURL(blob), download: name})
  link.click()
  URL.revokeObjectURL(link.href)
}

export const saveText = (text, name) => saveFile(new Blob([text], {type: "text/csv"}), name)

// navigator.clipboard exists on encrypted pages only, and a ship's network has none. Returns whether the text was copied.
export function copyText(text) {
  const put = (event) => { event.clipboardData.setData("text/plain", text); event.preventDefault(); event.stopImmediatePropagation() }
  document.addEventListener("copy", put, {capture: true, once: true})
  const copied = document.execCommand("copy")
  document.removeEventListener("copy", put, {capture: true})
  return copied
}
