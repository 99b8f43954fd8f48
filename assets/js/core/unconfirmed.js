// Number of messages that the server has not confirmed yet, counted by every board with numbered messages.

const counters = new Set()

export function countUnconfirmed(model, counter) {
  counters.add(counter)
  model.on("remove", () => counters.delete(counter))
}

export const unconfirmed = () => [...counters].reduce((sum, counter) => sum + counter(), 0)
