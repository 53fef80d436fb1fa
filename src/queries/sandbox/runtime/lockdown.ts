/** QuickJS's own kind of error, for what goes wrong inside of it. */
declare const InternalError: ErrorConstructor;

/**
 * Makes the language's built-ins and all globals unchangeable, so that no function of a document can fool the next one, the
 * next document or the code around them. To be called before any of them runs.
 *
 * Names that user code may well give to its own objects (`toString`, `constructor`, `message`, …) could not be assigned
 * any more if the prototype has them frozen; those become accessors whose setter defines the name on the object itself.
 */
export function lockDown(global: object): void {
  const seen = new Set<unknown>();
  const waiting: object[] = [];
  /** Queues objects and functions to be frozen, each once. */
  const visit: Visit = (value) => {
    const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function';
    if (!isObject || seen.has(value)) return;
    seen.add(value);
    waiting.push(value);
  };
  for (const name of Reflect.ownKeys(global)) {
    const descriptor = Reflect.getOwnPropertyDescriptor(global, name);
    if (descriptor?.configurable === true) {
      Reflect.defineProperty(global, name, { writable: false, configurable: false });
    }
    const value: unknown = Reflect.get(global, name);
    if (value !== global) visit(value);
  }
  for (const { prototype } of [Object, Function, ...errors()]) allowOverride(prototype, visit);
  for (const value of hiddenKinds()) visit(Reflect.getPrototypeOf(value));
  for (let object = waiting.pop(); object !== undefined; object = waiting.pop()) freeze(object, visit);
}

type Visit = (value: unknown) => void;

function freeze(object: object, visit: Visit): void {
  visit(Reflect.getPrototypeOf(object));
  for (const name of Reflect.ownKeys(object)) {
    const descriptor = Reflect.getOwnPropertyDescriptor(object, name);
    if (descriptor === undefined) continue;
    visit(descriptor.value);
    visit(descriptor.get);
    visit(descriptor.set);
  }
  if (!ArrayBuffer.isView(object)) Object.freeze(object);
}

function allowOverride(prototype: object, visit: Visit): void {
  for (const name of Reflect.ownKeys(prototype)) {
    const descriptor = Reflect.getOwnPropertyDescriptor(prototype, name);
    if (descriptor === undefined || !('value' in descriptor) || descriptor.configurable !== true) continue;
    const value: unknown = descriptor.value;
    visit(value);
    Reflect.defineProperty(prototype, name, {
      get() {
        return value;
      },
      set(this: object, own: unknown) {
        if (this === prototype) throw new TypeError('What the language brings cannot be changed');
        Reflect.defineProperty(this, name, { value: own, writable: true, enumerable: true, configurable: true });
      },
      enumerable: descriptor.enumerable === true,
      configurable: false,
    });
  }
}

function errors(): readonly { readonly prototype: object }[] {
  return [
    Error,
    EvalError,
    RangeError,
    ReferenceError,
    SyntaxError,
    TypeError,
    URIError,
    InternalError,
    AggregateError,
  ];
}

/** Returns objects whose prototypes can't be reached from any global. */
function hiddenKinds(): readonly object[] {
  return [
    function* () {},
    async () => {},
    async function* () {},
    [][Symbol.iterator](),
    ''[Symbol.iterator](),
    new Map()[Symbol.iterator](),
    new Set()[Symbol.iterator](),
    'a'.matchAll(/a/g),
    (function* () {})(),
    (async function* () {})(),
  ];
}
