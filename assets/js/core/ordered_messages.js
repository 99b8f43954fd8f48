// Numbered messages of a board: the server returns the number of the last one it has processed.

import {countUnconfirmed} from "./unconfirmed.js"

export function inOrder(model) {
  let sent = model.heard
  let turning = sent // number of the last command after which other images are shown
  let waiting = []
  countUnconfirmed(model, () => sent - model.heard)
  const tell = (act, more = {}) => model.send_msg({act, ...more, nth: ++sent})
  const away = () => model.heard < turning
  model.on("change:heard", () => { while (waiting.length && !away()) waiting.shift()() })
  return {
    tell,
    // A command after which other images are shown.
    turn: (act, more = {}) => { tell(act, more); turning = sent },
    // A command about the shown images. It is ignored while other images are loading, because it was not meant for them.
    seen: (act) => () => { if (!away()) act() },
    // A command that does not depend on the shown images. It runs as soon as the new images are shown.
    after: (act) => () => (away() ? waiting.push(act) : act()),
  }
}
