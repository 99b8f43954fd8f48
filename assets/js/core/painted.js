// Plots and tables come after the first paint of a page. Until then the browser only does what the page needs to answer
// keys.

const PAUSE = 150 // milliseconds
const nextFrame = () => new Promise(requestAnimationFrame)

export const idle = window.requestIdleCallback ?? ((act) => setTimeout(act, 50))
export const painted = nextFrame().then(nextFrame).then(() => new Promise((resolve) => { setTimeout(() => idle(resolve, {timeout: 1000}), PAUSE) }))
