/** The design document whose functions the sandbox runs, and its functions by kind and name. */
import { compile } from './compiling.ts';
import { Failure } from './failures.ts';
import { type DocumentFunction, freezeDeep, hasOwn, isObject, type Members, parse } from './values.ts';

export let designDocument: Members = {};
let designId = '';

/** By kind and name, each compiled once. */
const compiledFunctions = new Map<string, DocumentFunction>();

/** To be called once, before any function is requested. Takes the document's JSON text. */
export function setDesignDocument(id: string, text: string): void {
  const parsed = parse(text);
  designId = id;
  designDocument = isObject(parsed) ? parsed : {};
  freezeDeep(designDocument);
}

/** Returns the function that `create` compiles on first use. */
export function compiledOnce(key: string, create: () => DocumentFunction): DocumentFunction {
  let found = compiledFunctions.get(key);
  if (found === undefined) {
    found = create();
    compiledFunctions.set(key, found);
  }
  return found;
}

/** Returns the function of that name in `filters`, `shows` and the like. Fails with `not_found`. */
export function functionNamed(kind: string, name: string): DocumentFunction {
  return compiledOnce(`${kind}/${name}`, () => {
    const group = hasOwn(designDocument, kind) ? designDocument[kind] : undefined;
    if (isObject(group) && hasOwn(group, name)) return compile(`${kind}.${name}`, group[name]);
    throw new Failure('not_found', '', `missing ${kind} function ${name} on design doc ${designId}`);
  });
}
