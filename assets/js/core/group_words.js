// The word for a group of images: "dive", "album", or "dive or album" if the workspace has both. The page's style
// sheet carries the words (see app/pages/shell.py), so that they are there before the first component is drawn.

const SHEET = () => getComputedStyle(document.documentElement)
const word = (name, usual) => SHEET().getPropertyValue(`--${name}`).trim().replace(/^"|"$/g, "") || usual

export const group = () => word("group-one", "dive or album")
export const groups = () => word("group-many", "dives and albums")
export const Group = () => capital(group())
export const Groups = () => capital(groups())
export const isAlbums = () => group() === "album"

const capital = (text) => text[0].toUpperCase() + text.slice(1)

// Sets other words, after the content of the workspace changed.
export function setGroupWords({singular, plural}) {
  if (!singular) return
  document.documentElement.style.setProperty("--group-one", `"${singular}"`)
  document.documentElement.style.setProperty("--group-many", `"${plural}"`)
}
