// Measures how long each image of a check was in view. Time is given to one tile at a time: the first one that is at
// least half visible in a focused window and not seen yet. So no second counts twice.

const TICK = 50 // milliseconds
const LONGEST_TICK = 250 // longer pauses do not count: the computer was asleep
const REPORT = 1000 // milliseconds between two reports to the server
export const TURN_PAUSE = 400 // milliseconds after a page turn in which Enter is ignored

// `report(seconds)` gets [image, seconds] pairs; `changed()` is called when another tile counts as seen.
export function attention(model, grid, report, changed) {
  let page = null, minimum = 0, shownAt = 0, last = 0, reported = 0
  let seconds = new Map(), visible = new Set()
  const observer = new IntersectionObserver((entries) => {
    for (const {target, isIntersecting, intersectionRatio} of entries) isIntersecting && intersectionRatio >= 0.5 ? visible.add(target) : visible.delete(target)
  }, {threshold: [0, 0.5, 1]})

  const idOf = (tile) => Number(tile.dataset.id)
  const isSeen = (id) => (seconds.get(id) ?? 0) >= minimum
  const looking = () => page !== null && document.visibilityState === "visible" && document.hasFocus()

  function tick() {
    const now = performance.now(), passed = Math.min(now - last, LONGEST_TICK) / 1000
    last = now
    if (!looking() || !visible.size) return
    const tiles = [...grid.children].filter((tile) => visible.has(tile))
    const open = tiles.find((tile) => !isSeen(idOf(tile)))
    for (const tile of open ? [open] : tiles) seconds.set(idOf(tile), (seconds.get(idOf(tile)) ?? 0) + passed / (open ? 1 : tiles.length))
    if (open && isSeen(idOf(open))) { open.classList.add("seen"); changed() }
    if (now - reported >= REPORT) { reported = now; report(pairs()) }
  }

  const pairs = () => [...seconds].map(([id, time]) => [id, Math.round(1000 * time) / 1000])
  const timer = setInterval(tick, TICK)
  model.on("remove", () => { clearInterval(timer); observer.disconnect() })

  return {
    pairs,
    get seen() { return [...seconds.keys()].filter(isSeen).length },
    get ready() { return performance.now() - shownAt >= TURN_PAUSE },
    // Call this after the tiles were drawn. `check` is null without a check.
    show(check) {
      observer.disconnect()
      visible = new Set()
      const next = check?.page ?? null
      if (next !== page) {
        page = next
        seconds = new Map()
        shownAt = last = reported = performance.now()
      }
      if (!check) return
      minimum = check.min_seconds
      for (const tile of grid.children) {
        observer.observe(tile)
        tile.classList.toggle("seen", isSeen(idOf(tile)))
      }
    },
  }
}
