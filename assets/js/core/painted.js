// Plots and tables come after the first paint of a page. Until then the browser only does what the page needs to answer
// keys.

const PAUSE = 150 // milliseconds
const LATEST = 500 // milliseconds; on a busy computer, Chromium may never call a page idle
const nextFrame = () => new Promise(requestAnimationFrame)

export const idle = window.requestIdleCallback ? (act) => window.requestIdleCallback(act, {timeout: LATEST}) : (act) => setTimeout(act, 50)
export const painted = nextFrame().then(nextFrame).then(() => new Promise((resolve) => { setTimeout(() => idle(resolve), PAUSE) }))
