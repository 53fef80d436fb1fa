/** What PouchDB uses of Node's module `events`, which bundlers for browsers have to bring. */
export class EventEmitter {
  on(name, listener) {
    listenersOf(this).set(name, [...this.listeners(name), listener]);
    return this;
  }

  addListener(name, listener) {
    return this.on(name, listener);
  }

  once(name, listener) {
    const once = (...values) => {
      this.removeListener(name, once);
      listener.apply(this, values);
    };
    once.listener = listener;
    return this.on(name, once);
  }

  removeListener(name, listener) {
    const left = this.listeners(name).filter((each) => each !== listener && each.listener !== listener);
    listenersOf(this).set(name, left);
    return this;
  }

  removeAllListeners(name) {
    if (name === undefined) listenersOf(this).clear();
    else listenersOf(this).delete(name);
    return this;
  }

  emit(name, ...values) {
    const listeners = this.listeners(name);
    for (const listener of listeners) listener.apply(this, values);
    return listeners.length > 0;
  }

  listeners(name) {
    return listenersOf(this).get(name) ?? [];
  }

  listenerCount(name) {
    return this.listeners(name).length;
  }

  setMaxListeners() {
    return this;
  }
}

/** Made at first use: PouchDB's own classes don't call the constructor. */
function listenersOf(emitter) {
  emitter.listenersByName ??= new Map();
  return emitter.listenersByName;
}

// PouchDB copies the methods by their names, as those of a function's prototype are listed.
for (const name of Object.getOwnPropertyNames(EventEmitter.prototype)) {
  Object.defineProperty(EventEmitter.prototype, name, { enumerable: name !== 'constructor' });
}

export default EventEmitter;
