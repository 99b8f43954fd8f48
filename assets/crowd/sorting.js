// Groups of images with undo; independent of the page and the network.
export class Sorting {
  constructor(count, mostGroups, groups = null) {
    this.mostGroups = mostGroups;
    this.groups = groups ?? Array(count).fill(null);
    this.shown = Math.max(2, 1 + Math.max(-1, ...this.groups.filter((group) => group !== null)));
    this.current = 0;
    this.before = [];
  }

  // Puts an image into a group, or removes it from the group it is in.
  put(place, group) {
    if (group < 0 || group >= this.mostGroups) return;
    this.before.push([place, this.groups[place]]);
    this.groups[place] = this.groups[place] === group ? null : group;
    this.shown = Math.max(this.shown, group + 1);
  }

  add() {
    if (this.shown < this.mostGroups) this.shown += 1;
    this.current = this.shown - 1;
  }

  undo() {
    const step = this.before.pop();
    if (!step) return null;
    this.groups[step[0]] = step[1];
    return step[0];
  }

  get left() { return this.groups.filter((group) => group === null).length; }
}
