// Stores answers until the server has acknowledged them, so that none is lost with a connection or a closed tab.
export class Outbox {
  constructor(name, storage) { this.name = `crowd-outbox:${name}`; this.storage = storage; }

  get waiting() {
    try { return JSON.parse(this.storage.getItem(this.name)) ?? []; } catch { return []; }
  }

  put(answer) { this.keep([...this.waiting.filter((other) => other.task !== answer.task), answer]); }

  drop(submission) { this.keep(this.waiting.filter((answer) => answer.submission !== submission)); }

  keep(answers) { this.storage.setItem(this.name, JSON.stringify(answers)); }
}

// A random id that works without a secure context, as on a ship's network with plain http.
export function word() {
  const bytes = crypto.getRandomValues(new Uint8Array(18));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
}
