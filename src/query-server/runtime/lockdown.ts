/**
 * Runs first inside an engine, before any function of a document: makes what the language brings unchangeable, so that
 * no function can fool the next one, the next document or the code around them.
 *
 * Names that user code may well give to its own objects (`toString`, `constructor`, `message`, …) could not be assigned
 * any more where the prototype has them frozen; those become accessors whose setter defines the name on the object itself.
 */
export const LOCKDOWN = `
function lockDown(global) {
  const seen = new Set();
  const waiting = [];
  const visit = (value) => {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function') || seen.has(value)) return;
    seen.add(value);
    waiting.push(value);
  };
  const isData = (descriptor) => descriptor !== undefined && 'value' in descriptor && descriptor.configurable;

  function allowOverride(prototype) {
    for (const name of Reflect.ownKeys(prototype)) {
      const descriptor = Reflect.getOwnPropertyDescriptor(prototype, name);
      if (!isData(descriptor)) continue;
      const { value, enumerable } = descriptor;
      visit(value);
      Reflect.defineProperty(prototype, name, {
        get() { return value; },
        set(own) {
          if (this === prototype) throw new TypeError('What the language brings cannot be changed');
          Reflect.defineProperty(this, name, { value: own, writable: true, enumerable: true, configurable: true });
        },
        enumerable,
        configurable: false,
      });
    }
  }

  for (const name of Reflect.ownKeys(global)) {
    const descriptor = Reflect.getOwnPropertyDescriptor(global, name);
    if (descriptor.configurable) Reflect.defineProperty(global, name, { writable: false, configurable: false });
    if (global[name] !== global) visit(global[name]);
  }
  const errors = [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, InternalError, AggregateError];
  for (const owner of [Object, Function, ...errors]) allowOverride(owner.prototype);
  for (const value of [
    function* () {}, async function () {}, async function* () {}, [][Symbol.iterator](), ''[Symbol.iterator](),
    new Map()[Symbol.iterator](), new Set()[Symbol.iterator](), 'a'.matchAll(/a/g), (function* () {})(), (async function* () {})(),
  ]) visit(Reflect.getPrototypeOf(value));
  while (waiting.length > 0) {
    const value = waiting.pop();
    visit(Reflect.getPrototypeOf(value));
    for (const name of Reflect.ownKeys(value)) {
      const descriptor = Reflect.getOwnPropertyDescriptor(value, name);
      if (descriptor === undefined) continue;
      visit(descriptor.value);
      visit(descriptor.get);
      visit(descriptor.set);
    }
    if (!ArrayBuffer.isView(value)) Object.freeze(value);
  }
}
`;
